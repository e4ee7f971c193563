"""Anti-entropy beyond the filter's window: comparing the log range by range, and fingerprints that ask.

The filter of a packet covers the newest few hundred messages, and an id can be in it by chance. So every sync message
carries a fingerprint of one range of its sender's log, the next older one each time, down to its join horizon, then
from the top again. Whoever has other messages in that range answers with a filter over just that range, with a seed of
its own; who sees ids in it that he lacks answers with his. From such filters the lacking messages are pushed.

Where the messages are the same, each side has proof that the other one has them. But the range of a sync message may
begin below the horizon of a peer. The peer then lacks some of it, and can say nothing of the rest. So an author whose
messages are not acknowledged also sends, in turn with the walk through the log, the fingerprint of a range that begins
with one of these messages. This makes it a question: a peer with the same fingerprint for that range, wherever its
horizon, sends it back. The answer begins with no message of the peer's own, so there are no answers to answers; and an
answer of another, when it is heard, makes our own needless. Where several wrote something of the date with which the
range begins, each of them could take the answer for a question of another: they answer by chance, and so seldom that
answers to answers soon come to an end.

Questions and answers take the place of other sections in sync messages that are due anyway, and cost no packet.
"""

from __future__ import annotations

from itertools import islice, takewhile
from typing import Final

from sdschat.sds.bloom import compact, waku
from sdschat.sds.bloom.compact import RangePrint
from sdschat.sds.limits import MAX_FILTER_BYTES, ONE_DATE_LIMIT, QUESTIONED, RANGE_IDS, RANGE_LIMIT
from sdschat.sds.outgoing import Outgoing
from sdschat.sds.state import ChannelState, Peer
from sdschat.sds.steps.filters import waku_is_about
from sdschat.sds.values import Entry, Message

# Of four sections in a row, one goes on with the walk whatever there is to ask and to answer.
SECTIONS: Final = (("walk",), ("answer", "question"), ("answer", "walk"), ("question", "answer"))
PATIENCE: Final = 3  # sends of a message after which its author asks in other ways too


def section_kinds(s: ChannelState) -> tuple[str, ...]:
    """Return the choices for the section of the next sync message. Each choice comes once in four packets, and not
    always the same one after the same number of packets, since not all packets have a section."""
    count = s.sync.count
    return SECTIONS[(count + s.jitter.below(len(SECTIONS), "turn", count // len(SECTIONS))) % len(SECTIONS)]


def question(s: ChannelState, top: int) -> tuple[int, int] | None:
    """Return a range dated before `top` that begins with the oldest own message that is not acknowledged, and goes as
    far as one range may. Where that has been of no use for long, others lack something in it: then it begins with one
    such message after the other, and every other time it holds only such messages, which are resent to all who lack
    them."""
    asked = [known for known in islice(s.outgoing.oldest_first(), QUESTIONED) if known.lamport < top]
    if not asked:
        return None
    if asked[0].sends < PATIENCE:
        return _all_from(s, asked[0], top)
    number = s.sync.count // len(SECTIONS)
    first = asked[number // 2 % len(asked)]
    return _open_from(s, first, top) if number % 2 else _all_from(s, first, top)


def _all_from(s: ChannelState, first: Outgoing, top: int) -> tuple[int, int]:
    entries = s.between(first.lamport, top - 1, RANGE_IDS + 1)
    high = entries[-1].lamport - 1 if len(entries) > RANGE_IDS else top - 1
    return first.lamport, max(first.lamport, high)


def _open_from(s: ChannelState, first: Outgoing, top: int) -> tuple[int, int]:
    entries = s.between(first.lamport, top - 1, RANGE_IDS)
    still = takewhile(lambda entry: entry.message_id in s.outgoing.open, entries)
    return first.lamport, max((entry.lamport for entry in still), default=first.lamport)


def note_question(s: ChannelState, peer: Peer, packet_id: str, theirs: RangePrint, entries: list[Entry]) -> None:
    """Note that a peer has just the same as we in this range: if it asks, it is to be told so. Its walk may begin with
    a message of its own by chance; a question begins with one of its oldest, and comes first."""
    ranges, ends = s.ranges, (theirs.low, theirs.high)
    first = {entry.sender_id for entry in entries if entry.lamport == theirs.low}
    if peer.sender_id not in first or (s.participant_id in first and not _by_chance(s, len(first), packet_id)):
        if ranges.asked == ends:
            ranges.asked = None  # another has told it
    elif (ranges.wanted is None or filter_sent_lately(s)) and (ranges.asked is None or ends < ranges.asked):
        ranges.asked, ranges.wanted = ends, None


def _by_chance(s: ChannelState, authors: int, packet_id: str) -> bool:
    """True so seldom that of all authors of a date half of one answers."""
    return authors > 1 and s.jitter.below(2 * (authors - 1), "question", packet_id) == 0


def filter_sent_lately(s: ChannelState) -> bool:
    """True if a question or an answer may go before the next filter over a range. A peer that differs for ever, as one
    key in two places does, is owed one with every packet; and neither it nor who asks shall keep the other waiting."""
    return s.ranges.answered_at >= 0 and s.now.mono - s.ranges.answered_at < s.config.sync_interval * 3 // 2


_AROUND_BODY = 32  # what is not the body of a range filter: its head, and longer lengths around it
_TOO_COARSE = 0.5


def with_range(s: ChannelState, message: Message) -> bytes:
    """Return the filter of a message, and behind it a range of the history, as far as packet and filter may grow."""
    own, lamport = message.bloom_filter or b"", message.lamport_timestamp or 0
    if len(own) == waku.BYTES:
        return own
    room = min(s.config.max_message_bytes - s.codec.size(message), MAX_FILTER_BYTES - len(own))
    return own + range_section(s, lamport, room)


def range_section(s: ChannelState, lamport: int, room: int) -> bytes:
    """Return the section, of `room` bytes at most, that a sync message dated `lamport` carries behind its filter."""
    if not s.config.push_enabled:
        return b""
    kinds = section_kinds(s)
    question_first = kinds[0] == "question" and len(s.outgoing.open) and filter_sent_lately(s)
    if s.ranges.wanted is not None and not question_first:
        low, high = s.ranges.wanted
        s.ranges.wanted = None
        s.ranges.answered_at = s.now.mono
        return _filter_over(s, low, high, lamport, room)
    for kind in kinds:
        ends: tuple[int, int] | None = None
        if kind == "answer":
            ends, s.ranges.asked = s.ranges.asked, None
        elif kind == "question":
            ends = question(s, _settled_top(s))
        if ends is not None:
            return _print_over(s, *ends)
    low, high, entries = _next_range(s, lamport)
    s.ranges.cursor = 0 if low <= s.horizon else low
    if not entries and high <= low:
        return b""  # otherwise it is of use to say that nothing is here
    if waku_is_about(s):
        return _filter_over(s, low, high, lamport, room)  # they could not answer a fingerprint, but can read this
    return _print(low, high, entries)


def _print_over(s: ChannelState, low: int, high: int) -> bytes:
    return _print(low, high, s.between(low, high, most_ids(low, high)))


def _print(low: int, high: int, entries: list[Entry]) -> bytes:
    ids = [entry.message_id for entry in entries]
    return compact.encode_print(RangePrint(low, high, len(ids), compact.fingerprint(ids)))


def _filter_over(s: ChannelState, low: int, high: int, lamport: int, room: int) -> bytes:
    """Return a filter over a range, coarser if there is little room: what it hides by chance, the next one, of another
    seed, shows."""
    ids = held_ids(s, s.between(low, high, most_ids(low, high)), low, high)
    rate = s.config.bloom_error_rate
    while compact.shape_for(max(8, len(ids)), rate).bits // 8 + _AROUND_BODY > room:
        rate *= 2
        if rate > _TOO_COARSE:
            return b""
    return compact.encode_range(ids, low, high, rate, lamport & 0xFFFFFFFF)


def _next_range(s: ChannelState, lamport: int) -> tuple[int, int, list[Entry]]:
    """Return the range below the last one: about `RANGE_IDS` messages, with all that share the date of the oldest."""
    top = s.ranges.cursor or _settled_top(s)
    entries = s.before(top, RANGE_IDS)
    if len(entries) < RANGE_IDS:
        low = s.horizon
    else:
        low = entries[0].lamport
        newer = [entry for entry in entries if entry.lamport > low]
        entries = s.between(low, low, most_ids(low, top - 1) - len(newer)) + newer
        if len(entries) == RANGE_LIMIT and low < top - 1:
            low, entries = low + 1, newer  # a crowd of one date is a range of its own
    if low <= s.horizon:
        low = s.horizon
        entries = [entry for entry in entries if entry.lamport >= low]
    return low, top - 1, entries


def most_ids(low: int, high: int) -> int:
    """Return the largest number of ids of a range that are looked at. One date cannot be cut into smaller ranges."""
    return ONE_DATE_LIMIT if low == high else RANGE_LIMIT


def _settled_top(s: ChannelState) -> int:
    """Return the end of the first range: behind the newest entry that is not still on its way to others; or where the
    filter begins, if that is later: it may hold little but what waits for what lacks in between."""
    s.trim_arrivals()
    newest = next(
        (entry.lamport for entry in reversed(s.window.order) if entry.message_id not in s.recent_arrivals), s.horizon
    )
    return max(newest + 1, s.filter.floor)


def held_ids(s: ChannelState, entries: list[Entry], low: int, high: int) -> list[str]:
    """Return everything here from `low` to `high`: in the log, which has these entries there, or waiting."""
    ids = [entry.message_id for entry in entries]
    ids += [buffered.message.message_id for buffered in s.incoming.in_order() if low <= buffered.lamport <= high]
    return ids
