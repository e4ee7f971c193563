"""Messages of a synchronization: what goes with an operation, what ends it, and when hashes are sent."""

from __future__ import annotations

from typing import Any

from sdschat.timber.events import Forked
from sdschat.timber.values import EventBody, Kind, Operation, Sync, SyncFinished, operation_id
from tests.timber.group import SETTINGS, Group, Node
from tests.timber.test_refused import forged, pushed, sync
from tests.timber.world import signed_event

THREE = ("alice", "bob", "carol")
AGAIN = SETTINGS["retry"] // 4  # milliseconds before the same is answered again
AT_ONCE: dict[str, Any] = {"redundancy": 3, "stagger": 0}  # everybody writes its own events


def sent(group: Group, sender: str, to: str, start: int = 0) -> list[Any]:
    """Return the messages that one member sent to another, without the first ones."""
    return [packet.message for packet in group[sender].sent[start:] if packet.peer == group[to].id]


def clock_of(node: Node) -> tuple[tuple[int, int], ...]:
    return tuple((one.slot, one.seq) for one in node.engine.members())


def names(operations: tuple[Operation, ...]) -> list[tuple[int, int]]:
    return [(one.body.slot, one.body.seq) for one in operations]


def two_stories(group: Group, operation: Operation, *, first: bool = False) -> list[Operation]:
    """Return two operations in place of one of bob's, which stand behind the one that has the same parent; `first`: in
    front of that one and of all that follows it."""
    body = operation.body
    beside = next(node.id for node in group["alice"].engine.operations() if node.operation.body.parent == body.parent)
    number = body.event.name.number if body.event is not None else 1
    found: list[Operation] = []
    for at in range(100):
        said = EventBody(Kind.SAY, body.slot, number, 0, f"story {at}")
        event = signed_event(group.data_set, group["bob"].key, said)
        one = forged(group, "bob", operation, event=event)
        found += [one] if (operation_id(group.data_set, one.raw) < beside) is first else []
    return found[:2]


def test_t_063_t_064_a_new_operation_goes_to_everybody_in_a_sync() -> None:
    """T-063: "Synchronization happens any time you send an operation to another peer." each push is a `Sync`.

    T-064: "It starts by including any new operations along with a list of hashes" differs: along with a clock; hashes
    are sent where equal clocks differ.
    """
    group = Group(*THREE, **AT_ONCE)
    start = len(group["alice"].sent)
    assert group["alice"].engine.say("hello", group.now) is not None
    group.carry(group["alice"])
    newest = dict(clock_of(group["alice"]))[0]
    for other in ("bob", "carol"):
        pushes = [one for one in sent(group, "alice", other, start) if isinstance(one, Sync) and one.operations]
        assert [names(one.operations) for one in pushes] == [[(0, newest)]]
        assert (0, newest) in pushes[0].clock
        assert (pushes[0].interval, pushes[0].hashes) == (0, ())
    group.settle()
    messages = [packet.message for node in group.nodes.values() for packet in node.sent]
    assert not any(one.hashes for one in messages if isinstance(one, Sync)), "nobody's operations differ"


def test_t_070_equal_clocks_end_a_synchronization() -> None:
    """T-070: "If all checksums match, the sync is resolved through a SyncFinished message." differs: where both clocks
    are equal, and the hash of the members' newest operations.

    T-072: "The cycle repeats until all checksums match."
    """
    group = Group(*THREE)
    group.say("alice", "hello")
    group.settle()
    assert len({clock_of(node) for node in group.nodes.values()}) == 1
    finished = {one.digest for one in sent(group, "bob", "alice") if isinstance(one, SyncFinished)}
    question = next(one for one in reversed(sent(group, "alice", "bob")) if isinstance(one, Sync))
    group.time += AGAIN  # bob has just answered the same
    start = len(group["bob"].sent)
    group.deliver("bob", question, "alice")
    assert sent(group, "bob", "alice", start) == [SyncFinished(question.digest)]
    assert question.digest in finished
    group.time += AGAIN
    start = len(group["bob"].sent)
    group.deliver("bob", question._replace(digest=bytes(32)), "alice")
    (answer,) = sent(group, "bob", "alice", start)
    assert isinstance(answer, Sync), "it goes on where the hash differs"


def test_t_069_t_071_hashes_find_operations_of_one_number_that_differ() -> None:
    """bob tells alice and carol two stories. Their clocks are equal; neither is told by him that they differ.

    T-069: "On the receiving side, after integrating the transactions, the client confirms the incremental checksums."
    differs: clocks first, hashes where equal clocks differ.

    T-071: "the client finds the first deviating hash, captures all transactions from the entire interval, and responds
    with a counter-sync." only where equal clocks have different operations.
    """
    group = Group(*THREE, rounds=20, heartbeat=600_000, **AT_ONCE)  # nobody writes what would tell it too
    group["bob"].up = False
    for number in range(6):  # bob does not know them, so they stay in front of the checkpoint
        group.say(("alice", "carol")[number % 2], f"post {number}")
    alice, carol = group["alice"], group["carol"]
    one, other = two_stories(group, pushed(group, "bob", "one story"))
    starts = {node.name: len(node.sent) for node in (alice, carol)}
    for node, operation in ((alice, one), (carol, other)):
        group.deliver(node.name, sync(group, operation), "bob")
    assert clock_of(alice) == clock_of(carol)
    assert not alice.heard(Forked)
    assert not carol.heard(Forked)
    group.settle()
    assert {(found.slot, found.seq) for node in (alice, carol) for found in node.heard(Forked)} == {(1, one.body.seq)}
    said = [
        message
        for to, sender in ((alice, carol), (carol, alice))
        for message in sent(group, sender.name, to.name, starts[sender.name])
        if isinstance(message, Sync)
    ]
    asked = [message for message in said if message.hashes]
    assert {message.interval for message in asked} <= {2, 4}, "the power of two nearest to the root of the length"
    history = [node.operation for node in alice.engine.operations()]
    order = {name: at for at, name in enumerate(names(tuple(history)))}
    interval, place = asked[0].interval, order[(1, one.body.seq)]
    first = min(order[name] for message in said if message.operations for name in names(message.operations))
    assert place >= interval
    assert first // interval == place // interval, "from the interval that differs on"


def test_what_one_has_said_meanwhile_goes_out_in_packets_that_a_transport_takes() -> None:
    """Twelve long posts made one packet of 660 KB, which no transport of ours takes."""
    group = Group("alice", "bob")
    dora = Node("dora", 2)
    dora.boot(group.now)
    group.nodes["dora"] = group.by_id[dora.id] = dora
    dora.engine.join(group.data_set, [group["alice"].id], group.now)
    texts = [f"{number} {'long ' * 12_000}" for number in range(12)]
    for text in texts:
        dora.engine.say(text, group.now)
    group.carry(dora)
    group.settle(3000)
    group["alice"].engine.invite(dora.key, group.now)
    group.carry(group["alice"])
    group.settle()
    assert all(node.texts() == texts for node in group.nodes.values())


def test_two_stories_among_posts_that_exceed_a_packet_are_found() -> None:
    """Between long posts it was never shown what differs: the packet with all of them was too large."""
    group = Group(*THREE, rounds=20, heartbeat=600_000, **AT_ONCE)
    group["bob"].up = False
    alice, carol = group["alice"], group["carol"]
    for number in range(9):
        group.say(("alice", "carol")[number % 2], f"{number} {'long ' * 12_000}")
    one, other = two_stories(group, pushed(group, "bob", "one story"), first=True)
    for node, operation in ((alice, one), (carol, other)):
        group.deliver(node.name, sync(group, operation), "bob")
    group.settle(60_000)
    assert {(found.slot, found.seq) for node in (alice, carol) for found in node.heard(Forked)} == {(1, one.body.seq)}


def test_two_sides_that_refuse_each_other_do_not_send_their_logs_again_and_again() -> None:
    """bob tells alice one story, and carol and dora another one. Neither side is a majority, so neither ever ends."""
    group = Group("alice", "bob", "carol", "dora", rounds=20, **AT_ONCE)
    one = pushed(group, "bob", "one story")
    other = forged(group, "bob", one, event=None)
    for node, operation in (("alice", one), ("carol", other), ("dora", other)):
        group.deliver(node, sync(group, operation), "bob")
    for number in range(30):
        for name in ("alice", "carol"):
            group.say(name, f"post {number}")
    group.settle(300_000)
    first = {node.name: len(node.sent) for node in group.nodes.values()}
    group.settle(60_000)
    again = [
        packet.message.operations
        for node in group.nodes.values()
        for packet in node.sent[first[node.name] :]
        if isinstance(packet.message, Sync) and packet.message.operations
    ]
    assert group["alice"].engine.members()[2].seq < 10, "they still refuse each other"
    assert sum(map(len, again)) < 8 * 4 * 100, "of eight pairs, each sends its hundred operations a few times a minute"
