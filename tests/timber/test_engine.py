"""The verbs of the engine, one behaviour each."""

from __future__ import annotations

import pytest

from sdschat.timber.events import Compacted, Placed
from sdschat.timber.rows import OperationRow
from sdschat.timber.values import (
    EventBody,
    Kind,
    PostId,
    Statements,
    Submit,
)
from sdschat.timber.views import Delivery
from tests.timber.group import Group
from tests.timber.world import key_of, signed_event

THREE = ("alice", "bob", "carol")


def deleted_bytes(group: Group, text: str) -> list[str]:
    """Return the nodes on whose disks a text stands."""
    return [name for name, node in group.nodes.items() if text in repr(node.store.rows) or text.encode() in _raw(node)]


def _raw(node: object) -> bytes:
    rows = node.store.rows.values()  # type: ignore[attr-defined]
    return b"".join(row.raw for row in rows if isinstance(row, OperationRow))


def test_t_021_the_creator_is_alone_at_first() -> None:
    """T-021: "When you create a new dataset you are the only one in the committee" """
    group = Group("alice")
    engine = group["alice"].engine
    assert [one.slot for one in engine.members()] == [0]
    group.say("alice", "hello")
    assert engine.checkpoint.number == 2
    assert [view.settled for view in engine.posts()] == [True]


def test_t_026_t_027_invitations_pass_the_checkpoint() -> None:
    """The first one at once, since only the creator is there; the next one needs the word of both.

    T-023: "Invites are processed by appending an Invite operation to the causal tree"

    T-025: "Invites are only valid after they pass the checkpoint"

    T-026: "The first invite happens almost instantaneously"

    T-027: "The next invite requires acknowledgement from both peers."
    """
    group = Group(*THREE, members=False)
    alice = group["alice"].engine
    alice.invite(key_of(1), group.now)
    group.carry(group["alice"])
    placed = [one for one in group["alice"].heard(Placed) if one.body is not None]
    assert [(one.body.kind, one.body.key, one.last) for one in placed] == [(Kind.INVITE, key_of(1), True)]
    assert len(alice.members()) == 2
    alice.invite(key_of(2), group.now)
    group.carry(group["alice"])
    assert len(alice.members()) == 2
    group.settle()
    assert len(alice.members()) == 3
    assert {len(node.engine.members()) for node in group.nodes.values()} == {3}


def test_posts_edits_and_deletions_reach_everybody() -> None:
    group = Group(*THREE)
    group.say("alice", "one", "two")
    group.say("bob", "three")
    bob = group["bob"].engine
    three = next(view.post.name for view in bob.posts() if view.post.text == "three")
    bob.edit(three, "three, changed", group.now)
    group.carry(group["bob"])
    group.settle()
    two = next(view.post.name for view in bob.posts() if view.post.text == "two")
    group["alice"].engine.delete(two, group.now)
    group.carry(group["alice"])
    assert group["alice"].texts() == ["one", "three, changed"], "gone from the screen at once"
    group.settle()
    for node in group.nodes.values():
        assert node.texts() == ["one", "three, changed"]
        assert all(view.settled for view in node.engine.posts())
        assert node.engine.checkpoint == group["alice"].engine.checkpoint


def test_a_post_that_answers_another_names_it_also_when_that_is_gone() -> None:
    group = Group("alice", "bob")
    group.say("alice", "shall we?")
    asked = group["bob"].engine.posts()[0].post.name
    said = group["bob"].engine.say("yes", group.now, asked)
    assert said is not None
    group["bob"].engine.edit(said, "yes, gladly", group.now)
    group.carry(group["bob"])
    group.settle(20_000)
    group["alice"].engine.delete(asked, group.now)
    group.carry(group["alice"])
    group.settle(20_000)
    for node in group.nodes.values():
        (view,) = node.engine.posts()
        assert (view.post.text, view.post.answers, view.settled) == ("yes, gladly", asked, True)
    with pytest.raises(ValueError, match="no such post"):
        group["bob"].engine.say("to nobody", group.now, PostId(0, 99))


def test_t_001_deleted_text_is_on_no_disk_after_the_checkpoint() -> None:
    """T-001: "Timber is an attempt at a general-purpose CRDT built on an operation log supporting true delete." """
    group = Group(*THREE)
    group.say("bob", "a word that nobody should keep")
    assert deleted_bytes(group, "nobody should keep") == list(THREE)
    name = group["bob"].engine.posts()[0].post.name
    group["bob"].engine.delete(name, group.now)
    group.carry(group["bob"])
    group.settle()
    assert deleted_bytes(group, "nobody should keep") == []
    assert group["carol"].heard(Compacted)[-1].alive == 0


def test_t_003_nothing_but_the_state_is_left_behind_the_checkpoint() -> None:
    """T-003: "effectively removing all CRDT metadata past the lower bound." nothing but the state is behind a
    compaction.

    T-012: "We need a way to snapshot state at a point in time and prune out the old operations"
    """
    group = Group(*THREE)
    for number in range(12):
        group.say(THREE[number % 3], f"post {number}")
    group.settle()
    for node in group.nodes.values():
        snapshot = node.store.snapshot()
        assert len(snapshot.posts) == 12
        assert len(snapshot.operations) <= 3 * len(THREE), "words of members without an event"
        assert snapshot.outbox == ()


def test_only_the_author_or_the_creator_may_change_a_post() -> None:
    group = Group(*THREE)
    group.say("bob", "mine")
    name = group["bob"].engine.posts()[0].post.name
    with pytest.raises(ValueError, match="only its author"):
        group["carol"].engine.edit(name, "yours", group.now)
    with pytest.raises(ValueError, match="only its author"):
        group["carol"].engine.delete(name, group.now)
    with pytest.raises(ValueError, match="no such post"):
        group["carol"].engine.delete(PostId(0, 99), group.now)
    group["alice"].engine.delete(name, group.now)
    group.carry(group["alice"])
    group.settle()
    assert group["carol"].texts() == []


def test_a_forged_edit_has_no_effect() -> None:
    """Somebody else's edit, signed by its own author, enters the tree and changes nothing."""
    group = Group(*THREE)
    group.say("bob", "mine")
    target = group["bob"].engine.posts()[0].post.name
    carol = group["carol"]
    body = EventBody(Kind.EDIT, carol.engine.me or 0, 1, 0, "yours", target)
    event = signed_event(group.data_set, carol.key, body)
    for name in ("alice", "bob"):
        group.deliver(name, Submit((event,)), "carol")
    group.settle()
    assert {tuple(node.texts()) for node in group.nodes.values()} == {("mine",)}


def test_what_is_said_without_a_slot_waits_and_is_not_lost() -> None:
    """T-024: "They're marked pending and the new collaborators still can't write." operations of a slot that the
    checkpoint has not given yet wait.
    """
    group = Group(*THREE, members=False)
    assert group["bob"].engine.say("before I am let in", group.now) is None
    group.carry(group["bob"])
    group["bob"].boot(group.now)
    group["bob"].engine.join(group.data_set, [group["alice"].id], group.now)
    group["alice"].engine.invite(key_of(1), group.now)
    group.carry(group["alice"])
    group.settle()
    assert group["alice"].texts() == ["before I am let in"]


def test_leaving() -> None:
    group = Group(*THREE)
    group["bob"].engine.leave(group.now)
    group.carry(group["bob"])
    with pytest.raises(ValueError, match="left"):
        group["bob"].engine.say("one more thing", group.now)
    with pytest.raises(ValueError, match="try again once all members know of it"):
        group["alice"].engine.invite(group["bob"].key, group.now)
    group.settle()
    assert group["bob"].engine.me is None
    assert [one.slot for one in group["alice"].engine.members()] == [0, 2]
    group.say("carol", "still here")
    group.settle()
    assert all(view.settled for view in group["alice"].engine.posts())


def test_delivery_is_told_in_steps() -> None:
    group = Group(*THREE, rounds=8)
    engine = group["alice"].engine
    group["bob"].up = group["carol"].up = False
    name = engine.say("hello", group.now)
    assert name is not None
    words = [engine.delivery(name).word]
    group.carry(group["alice"])
    group.settle(15_000)
    words.append(engine.delivery(name).word)
    assert (engine.delivery(name).writer, engine.delivery(name).lacking) == (0, (1, 2))
    group["bob"].up = group["carol"].up = True
    group.settle()
    words.append(engine.delivery(name).word)
    assert words[0] in ("sent", "queued", "written")
    assert words[1:] == ["written", "settled"]
    assert engine.delivery(name) == Delivery("settled", 3, 3)


def _post_by(name: str, group: Group) -> PostId:
    said = group[name].engine.say("the meeting is on Monday", group.now)
    assert said is not None
    group.carry(group[name])
    group.settle()
    assert group[name].engine.delivery(said).word == "settled"
    return said


def test_a_settled_post_is_not_settled_any_more_once_it_is_changed() -> None:
    group = Group(*THREE, rounds=1000)
    alice = group["alice"]
    said = _post_by("alice", group)
    group["bob"].up = group["carol"].up = False
    alice.engine.edit(said, "the meeting is on Tuesday", group.now)
    assert alice.engine.delivery(said).word != "settled"
    group.carry(alice)
    group.settle(15_000)
    found = alice.engine.delivery(said)
    assert (found.word, found.writer, found.lacking) == ("written", 0, (1, 2))
    alice.boot(group.now)
    assert alice.engine.delivery(said) == found
    group["bob"].up = True
    group.settle(15_000)
    assert alice.engine.delivery(said)[:3] == ("known", 2, 3)
    group["carol"].up = True
    group.settle()
    assert alice.engine.delivery(said) == Delivery("settled", 3, 3)


def test_the_deletion_of_a_settled_post_is_not_settled_at_once() -> None:
    group = Group(*THREE, rounds=1000)
    bob = group["bob"]
    said = _post_by("bob", group)
    group["carol"].up = False
    group["alice"].engine.delete(said, group.now)
    group.carry(group["alice"])
    group.settle(15_000)
    assert bob.engine.delivery(said)[:3] == ("known", 2, 3)
    group["carol"].up = True
    group.settle()
    assert bob.engine.delivery(said).word == "settled"


def test_a_post_whose_newest_change_waits_is_not_settled_though_an_older_one_came_twice() -> None:
    group = Group(*THREE, rounds=1000)
    bob, carol = group["bob"], group["carol"]
    said = _post_by("bob", group)
    changed = bob.engine.edit(said, "changed", group.now)
    assert changed is not None
    twice = bob.engine._core.own[changed].event
    group.carry(bob)
    group.settle()
    group["alice"].up = False
    carol.engine._core.write(twice, Statements())
    carol.engine.advance(group.now)
    group.carry(carol)
    group.settle(1000)
    assert bob.engine.delivery(said).word == "settled"
    bob.engine.edit(said, "changed again", group.now)
    group.carry(bob)
    group.settle(5000)
    assert bob.engine.delivery(said)[:3] == ("known", 2, 3)


def test_the_edit_of_another_does_not_change_the_state_of_a_post() -> None:
    group = Group(*THREE, rounds=1000)
    said = _post_by("alice", group)
    forged = EventBody(Kind.EDIT, group["bob"].engine.me or 0, 1000, 0, "changed", said)
    group["carol"].up = False
    group["bob"].engine._core.write(signed_event(group.data_set, group["bob"].key, forged), Statements())
    group["bob"].engine.advance(group.now)
    group.carry(group["bob"])
    group.settle(15_000)
    carried = [one.operation.body.event for one in group["alice"].engine.operations()]
    assert forged in [event.body for event in carried if event is not None]
    assert group["alice"].engine.delivery(said).word == "settled"


def test_a_restarted_engine_goes_on_where_it_was() -> None:
    group = Group(*THREE)
    for number in range(15):
        group.say(THREE[number % 3], f"post {number}")
        node = group[THREE[(number + 1) % 3]]
        before = node.engine.snapshot()
        assert node.boot(group.now).snapshot() == before
    group.settle()
    assert {tuple(node.texts()) for node in group.nodes.values()} == {tuple(group["alice"].texts())}
    assert len(group["alice"].texts()) == 15


def test_a_quiet_room_is_quiet() -> None:
    """T-072: "The cycle repeats until all checksums match." """
    group = Group(*THREE)
    group.say("alice", "hello")
    group.settle()
    written = group["alice"].engine.members()
    before = group.packets
    group.settle(60_000)
    assert group["alice"].engine.members() == written, "no operation"
    assert group.packets - before <= 3 * 2 * 60_000 // 2000 + 6, "a Sync and its answer every other second for each"


def test_t_052_work_is_spread_over_all_members() -> None:
    """All posts are of one author; the writers are those nearest to their ids.

    T-029: "You may consider allowing committee members to act in a client/server relationship, accepting writes on
    behalf of others." members write the events of other members; not of strangers.

    T-052: "Transactions are processed by the committee member who's ID most closely matches the operation." except what
    somebody says before its event in front is written: its author writes it, so that its lines stand in order.

    T-054: "This ensures an equal distribution of work that scales dynamically with the committee"
    """
    group = Group("alice", "bob", "carol", "dora", redundancy=1)
    group.say("alice", *[f"post {number}" for number in range(60)])
    wrote = [one.seq for one in group["alice"].engine.members()]
    assert min(wrote) > 15


def test_sync_of_ten_among_thousands_costs_little() -> None:
    """Statement 6: the cost follows what differs, not the history.

    T-061: "It interactively exchanges missing transactions, starting from the oldest, until both members share a causal
    history."
    """
    group = Group("alice", "bob")
    for _ in range(400):
        group["alice"].engine.say("a post", group.now)
        group.carry(group["alice"])
    group.settle()
    group["bob"].up = False
    group.say("alice", *[f"post {number}" for number in range(10)])
    group.settle()
    before = group.bytes
    group["bob"].up = True
    group.settle(10_000)
    assert len(group["bob"].texts()) == 410
    assert group.bytes - before < 20_000


def test_a_program_that_runs_for_less_than_a_heartbeat_answers_all_the_same() -> None:
    group = Group("ann", "bob", heartbeat=20_000, sync_interval=2000)
    group.settle(30_000)
    bob = group["bob"]
    bob.up = False
    name = group["ann"].engine.say("settled before long", group.now)
    assert name is not None
    group.carry(group["ann"])
    group.settle(8000)
    assert group["ann"].engine.delivery(name).word == "written"
    bob.up, bob.engine = True, bob.boot(group.now)
    group.settle(5000)
    bob.up = False
    assert group["ann"].engine.delivery(name).word == "settled"
    written = bob.engine.members()[1].seq
    bob.up, bob.engine = True, bob.boot(group.now)
    group.settle(5000)
    assert bob.engine.members()[1].seq == written, "nothing is answered twice"
