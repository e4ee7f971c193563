"""I18: what others have is acknowledged in bounded time. I14: after that, a quiet group sends sync messages alone.

Both are promised to the participants that are present when the faults are over and everybody has everything (I1, I5).
For every message M of one of them, A:

- **Acknowledged**, and out of the outgoing buffer, where M has a witness: another participant that is present and in
  whose log M is, whatever its join horizon. Both compare ranges: they speak the compact format, and neither has heard
  a filter of the waku format for ten minutes.
- **Possibly acknowledged** where M has no witness, and yet the filter of somebody present says that it holds M. One
  filter proves nothing, so in a group of two M stays in the buffer, and is sent again after `resend_possibly_acked`,
  twice as long each time, up to `resend_max`. So it is with a peer that is the specification and no more.
- Nothing is promised where A is alone, or only peers that are the specification without a filter have M: it is sent
  again after `resend_unacked`, twice as long each time, up to `resend_max`.

Then nobody misses anything, asks, owes an answer or means to push, also for the sake of one who has left, and this
stays so. A packet that is no sync message is then sent for one reason only: M is sent again, and was not promised to
be acknowledged.

Who is **torn** (back from an older backup, or with one key in two places) refuses its own messages that another time or
place wrote. Its log differs for ever, so it is no witness and has none. What it asks for in vain it gives up after
`lost_after`, to learn later of the next such message; and of two places with one key each calls off what the other is
sent. A peer that is the specification without a filter learns only from causal histories what it misses, and asks for
one message a packet, back to the beginning. For the sake of these, one message may be sent again, though never more
than twice in a sync interval or in `t_max`. While somebody torn is there, comparing what differs for ever takes turns
with comparing what is to be acknowledged, and all takes `TORN` times as long.

The time is counted in sync intervals from when everybody has everything. Everybody speaks at least every 2.5 intervals
and compares one range of `RANGE_IDS` messages with each sync message; one in four asks for what is older than a joiner,
and one in four answers. That makes `FIRST_RANGE` intervals for a log of one range and `EACH_RANGE` for every
other one. Where somebody misses something when the time begins, it is given up first, which takes `lost_after`; and
what is owed then waits for the budgets of bytes, and what nobody else has yet, being from before the others joined, to
be sent again by its author (`resend_max`), where buffers are small one by one.
Where a clock is ahead by more than `max_skew`, join horizons lie as far apart, and its owner has only some of what is
older than its own: each run of own messages in between is asked for by itself, and all takes `WRONG_CLOCK` times as
long.
Strangers that write what no honest participant writes make the promise void: they never answer (`Scenario.hostile`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sdschat.sds import limits
from sdschat.sds.bloom.compact import MAX_FILL, read_filter
from sdschat.sds.outgoing import Outgoing
from sdschat.sds.state import ChannelState, Packet
from sdschat.sds.values import AckState, Message
from sdschat.sim.oracle import NodeRecord
from sdschat.sim.scenario import Violation
from sdschat.sim.world import World

FIRST_RANGE = 20  # sync intervals
EACH_RANGE = 10
TORN = 4  # times as long
WRONG_CLOCK = 3  # times as long
SHORT_QUIET = 3  # sync intervals over which a group is listened to
LONG_QUIET = 6  # where it was not quiet at first: longer than any back-off of pushes
_LONG_MESSAGE = 3_000  # bytes, without its filter


def longest_interval_of(world: World) -> int:
    """Return the longest sync interval of anybody present."""
    return max((node.config.sync_interval for node in world.nodes if not node.gone), default=1)


def bound(world: World) -> int:
    """Return the milliseconds from convergence to rest, at most."""
    longest = max((len(record.log) for record in world.oracle.records), default=0)
    others = longest // limits.RANGE_IDS
    wait = max((record.node.config.lost_after for record in world.oracle.records if _waits(record)), default=0)
    wait += max(
        (_owed_for(record.node.channel.state) for record in world.oracle.records if record.node.channel), default=0
    )
    alone = max((_with_literals_alone(world, record) for record in world.oracle.records), default=0)
    if alone or any(_not_sent_yet(world, record) for record in world.oracle.records):
        # Through a small buffer, one of them comes with each time that they are sent again.
        times = 2 + (alone if world.scenario.limits else 0)
        wait += max(times * node.config.resend_max for node in world.nodes)
    intervals = (FIRST_RANGE + EACH_RANGE * others) * (TORN if world.scenario.torn else 1)
    if any(record.wrong_clock for record in world.oracle.records):
        intervals *= WRONG_CLOCK
    return intervals * longest_interval_of(world) + wait


def _not_sent_yet(world: World, record: NodeRecord) -> bool:
    """True for an author of something that no other has: it is from before the others joined, and owed to nobody."""
    channel = record.node.channel
    if channel is None or record.node.gone:
        return False
    others = [other for other in world.oracle.records if other is not record and not other.node.gone]
    return any(not any(key in other.log for other in others) for key in channel.state.outgoing.open)


def _with_literals_alone(world: World, record: NodeRecord) -> int:
    """Return how many messages a peer that is the specification and no more has with such peers alone: they come to the
    others when it sends them again."""
    literal = record.node.literal
    if literal is None or record.node.gone:
        return 0
    logs = [other.log for other in world.oracle.records if other.node.channel is not None and not other.node.gone]
    return sum(not any(key in log for log in logs) for key in literal.outgoing)


def _owed_for(s: ChannelState) -> int:
    """Return how long the budgets of bytes take for what is owed now."""
    size = _LONG_MESSAGE + s.filter.size
    pushes, answers = len(s.pushes.timers) * size, len(s.answers.timers) * size
    return (pushes * 60_000 // limits.PUSH_BYTES_PER_MINUTE) + (answers * 60_000 // limits.ANSWER_BYTES_PER_MINUTE)


def _waits(record: NodeRecord) -> bool:
    """True for a participant that misses something, which it may have to give up first, or will."""
    node = record.node
    if node.literal is not None:
        return bool(node.literal.missing)
    return record.torn or (node.channel is not None and bool(node.channel.state.requests.missing))


def check_liveness(world: World) -> None:
    """Check I18 and I14: everybody comes to rest within the bound, and the group is quiet from then on."""
    until = world.time + bound(world)
    intervals = SHORT_QUIET
    while True:
        _settle(world, until)
        noise = _noise(world, intervals)
        if not noise:
            return
        if world.time >= until:
            raise Violation("I14", noise)
        intervals = LONG_QUIET  # somebody learnt only now what it misses, or what it waited for is given up only now


def _settle(world: World, until: int) -> None:
    """Run until nobody has anything to do; raise where that is not so in time."""
    step = max(1, longest_interval_of(world) // 2)
    while (unrest := next(_restless(world), "")) and world.time < until:
        world.run(min(world.time + step, until))
    if unrest:
        raise Violation("I18", f"{unrest}, long after everybody had everything")


def _noise(world: World, intervals: int) -> str:
    """Run on, with nothing to say: about one sync message an interval from each, here two, and nothing else. Return
    what else there was, if anything."""
    sent: Counter[tuple[str, int, str]] = Counter()

    def heard(record: NodeRecord, packet: Packet, message: Message) -> None:
        for entry in message.repair_request if packet.kind == "sync" else ():
            sent["asks for", record.index, entry.message_id] += 1
        if packet.kind == "resend" and _promised(world, record, packet.message_id):
            sent["sends again", record.index, packet.message_id] += 1
        elif packet.kind not in ("sync", "resend"):
            sent[f"sends ({packet.kind})", record.index, packet.message_id] += 1

    before = [record.syncs for record in world.oracle.records]
    world.listener = heard
    quiet = intervals * longest_interval_of(world)
    world.run(world.time + quiet)
    world.listener = None
    lenient = bool(world.scenario.torn) or _somebody_walks_back(world)
    for (what, index, message_id), count in sent.items():
        config = world.nodes[index].config
        if not lenient or count > 1 + 2 * quiet // min(config.t_max, config.sync_interval):
            return f"{world.oracle.records[index].name} is not quiet: it {what} {message_id[:8]}"
    for record, syncs in zip(world.oracle.records, before, strict=True):
        own_intervals = quiet // record.node.config.sync_interval
        asked = sum(count for (what, index, _), count in sent.items() if what == "asks for" and index == record.index)
        if record.syncs - syncs > 2 * own_intervals + 2 + asked:
            return f"{record.name} sent {record.syncs - syncs} sync messages in {own_intervals} quiet intervals"
    return ""


def _restless(world: World) -> Iterator[str]:
    """Yield the work that anybody still has to do, in words."""
    if world.oracle.convergence.outstanding:
        yield "somebody lacks something again"
    asks = any(record.node.channel and record.node.channel.unacknowledged for record in world.oracle.records)
    for record in world.oracle.records:
        node, name = record.node, record.name
        if node.gone:
            continue
        if node.literal is not None and node.literal.filter is not None and node.literal.missing:
            yield f"{name} still asks for {len(node.literal.missing)} messages"
        if node.channel is None:
            continue
        s = node.channel.state
        if not (world.scenario.twins or _somebody_walks_back(world)):
            yield from _owing(name, s)
            if _compares(record) and not asks and not world.scenario.torn:
                yield from _owing_ranges(name, s)
        for message_id, known in s.outgoing.open.items():
            if _promised(world, record, message_id):
                yield f"{name} has {known.state.name.lower()} {message_id[:8]}, which others have"
            elif known.state is AckState.UNACKED and _seems_held(world, record, known):
                yield f"{name} has unacked {message_id[:8]}, which the filters of others have"


def _somebody_walks_back(world: World) -> bool:
    """True while a peer that is the specification without a filter misses something."""
    peers = (node.literal for node in world.nodes if not node.gone)
    return any(peer is not None and peer.filter is None and peer.missing for peer in peers)


def _owing(name: str, s: ChannelState) -> Iterator[str]:
    for what, number in (
        ("misses", len(s.requests.missing)),
        ("means to answer for", len(s.answers.timers)),
        ("means to push", len(s.pushes.timers)),
    ):
        if number:
            yield f"{name} still {what} {number} messages"


def _owing_ranges(name: str, s: ChannelState) -> Iterator[str]:
    """Yield the sections that the next sync messages carry for others, where nobody waits for an acknowledgement."""
    if s.ranges.wanted is not None:
        yield f"{name} still owes a filter over a range"
    if s.ranges.asked is not None:
        yield f"{name} still means to answer, and nobody asks"


def _promised(world: World, author: NodeRecord, message_id: str) -> bool:
    """True if the message has a witness."""
    if author.torn or not _compares(author):
        return False
    return any(
        message_id in other.log and other is not author and not other.torn and _compares(other)
        for other in world.oracle.records
        if not _differ_for_good(world, author, other)
    )


def _differ_for_good(world: World, one: NodeRecord, other: NodeRecord) -> bool:
    """True if one of two has what the other cannot get any more, so that no range of theirs with it is equal."""
    return any((key in one.log) != (key in other.log) for key in world.oracle.convergence.beyond_reach)


def _compares(record: NodeRecord) -> bool:
    channel = record.node.channel
    if channel is None or record.node.gone:
        return False
    return channel.state.filter.filter_format == "compact" and channel.state.waku_heard_at < 0


def _seems_held(world: World, author: NodeRecord, known: Outgoing) -> bool:
    """True if a filter that somebody present sends holds the message."""
    for other in world.oracle.records:
        channel = other.node.channel
        if channel is None or other.node.gone or other.participant == author.participant:
            continue
        packed = channel.state.filter.to_bytes()
        theirs = read_filter(packed)
        if isinstance(theirs, str) or theirs.fill > MAX_FILL or known.lamport < theirs.floor:
            continue
        if theirs.holds(known.message_id):
            return True
    return False
