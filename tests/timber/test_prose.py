"""Claims of the prose that are seen in what members send and tell."""

from __future__ import annotations

from sdschat.timber.events import MemberChanged, Placed
from sdschat.timber.values import PostId, Submit, Sync, distance, event_id, member_id
from sdschat.timber.views import MemberView
from tests.timber.group import Group, Node

THREE = ("alice", "bob", "carol")


def _told(node: Node, about: Node, status: str) -> int:
    return sum((one.member, one.status) == (about.id, status) for one in node.heard(MemberChanged))


def _view(node: Node, about: Node) -> MemberView | None:
    return next((one for one in node.engine.members() if one.member == about.id), None)


def _talk(group: Group, number: int) -> None:
    group["alice"].engine.say(f"post {number}", group.now)
    group.carry(group["alice"])
    group.settle(200)


def test_t_031_a_round_is_as_many_operations_as_there_are_members() -> None:
    """T-031: "Operations are divided into "rounds", defined by the number of contributors." """
    group = Group("alice", "bob", "carol", "dora", rounds=4)
    alice, carol = group["alice"], group["carol"]
    carol.up = group["dora"].up = False  # two of four do not decide: she stays a member
    before = 0
    for number in range(60):
        view = _view(alice, carol)
        assert view is not None
        assert view.limit == 4 * 4
        if _told(alice, carol, "silent"):
            assert before < view.limit <= view.missed
            break
        before = max(before, view.missed) if view.missed < view.limit else before
        assert view.missed < view.limit + 16, "a heartbeat later it is told"
        _talk(group, number)
    else:
        raise AssertionError("carol is not silent")


def test_t_039_whoever_is_heard_before_the_others_agree_stays() -> None:
    """bob alone hears carol, who is silent for alice, and hands it on. What she says has its effect at once.

    T-036: "The silent contributor is placed on probation and requires an endorsement before their permissions are
    reinstated." differs: operations count until a decision.

    T-037: "Everyone still accepts their updates, but without an endorsement, they have no effect" differs: operations
    count until a decision, so that nothing has to be counted again.

    T-046: "any pending updates that were ignored by those who acknowledged silence become validated" differs: they
    counted all the time.

    T-039: "At least one person received an update from the silent contributor and endorsed it, nullifying the
    eviction." holding a newer operation is the endorsement; the clock proves it.

    T-042: "They point to another operation ID proving that the peer in question has actually been active." the clock of
    each operation names the newest one of every member.

    T-045: "The best you can do is quickly forward it to someone else who hasn't voted yet." each operation that is
    taken in is handed on by synchronization.
    """
    group = Group("alice", "bob", "carol", "dora", rounds=4)
    alice, bob, carol, dora = group.nodes.values()
    carol.up = dora.up = False  # two of four do not decide
    for number in range(60):
        if not _told(alice, carol, "silent"):
            _talk(group, number)
    silent = _view(alice, carol)
    assert silent is not None
    carol.up, group.sides = True, {"alice": 0, "bob": 1, "carol": 1, "dora": 1}
    group.say("carol", "not gone")
    group.settle(30_000)
    carol.up, group.sides = False, {}
    group.settle(6_000)
    heard = _view(alice, carol)
    assert heard is not None
    assert heard.seq > silent.seq, "bob handed it on"
    assert "not gone" in alice.texts(), "it counts, though nobody has decided that she stays"
    carol.up = True
    group.settle(30_000)
    for node in (alice, bob, carol):
        assert _told(node, carol, "removed") == 0
        assert _view(node, carol) is not None
    assert _told(alice, carol, "reinstated") == 1


def test_t_052_t_053_t_055_an_event_goes_to_the_members_nearest_to_its_id() -> None:
    """T-053: "if you take the XOR value between the operation ID and a member ID, you get a numeric distance." of the
    event's id, which is there before its operation is.

    T-075: "It's symmetric and deterministic, and it can be checked by other participants."

    T-055: "Decide on a predetermined redundancy value, and instead of sending the operation to just one member, send it
    up to n closest members." two by default; further members wait a little longer each.
    """
    names = ("alice", "bob", "carol", "dora", "erin")
    group = Group(*names, redundancy=2)
    alice = group["alice"]
    start = len(alice.reports)
    group.say("alice", *[f"post {number}" for number in range(30)])
    given: dict[PostId, set[bytes]] = {}
    ids: dict[PostId, bytes] = {}
    for packet in alice.sent:
        for event in packet.message.events if isinstance(packet.message, Submit) else ():
            given.setdefault(event.name, set()).add(packet.peer)
            ids[event.name] = event_id(group.data_set, event.raw)
    members = [member_id(node.key) for node in group.nodes.values()]
    writers = {
        PostId(one.body.author, one.body.number): alice.engine.person(one.writer)
        for one in alice.reports[start:]
        if isinstance(one, Placed) and one.body is not None and one.first
    }
    given = {name: peers for name, peers in given.items() if name in writers}
    assert len(given) > 20
    for name, peers in given.items():
        nearest = sorted(members, key=lambda member: distance(ids[name], member))
        assert peers == set(nearest[:2]) - {alice.id}
        assert writers[name] in nearest[:2]
    assert sum(writers[name] == min(members, key=lambda one: distance(ids[name], one)) for name in given) > 20


def test_t_059_operations_are_sent_oldest_first() -> None:
    """T-059: "during sync we always get your old updates before your new ones." oldest first; what comes early waits,
    within bounds.
    """
    group = Group(*THREE, rounds=8)
    group["carol"].up = False
    for number in range(8):
        group.say(("alice", "bob")[number % 2], f"post {number}")
    group["carol"].up = True
    group.settle()
    longest = 0
    for node in group.nodes.values():
        for packet in node.sent:
            if not isinstance(packet.message, Sync):
                continue
            operations = packet.message.operations
            places = {(one.body.slot, one.body.seq): at for at, one in enumerate(operations)}
            longest = max(longest, len(operations))
            for at, one in enumerate(operations):
                named = [*one.body.delta, (one.body.slot, one.body.seq - 1)]
                assert all(places.get(name, -1) < at for name in named)
    assert longest > 8
