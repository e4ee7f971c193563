"""Fingerprints that ask: how an author learns that others have what nothing else acknowledges.

The range of a sync message may begin below the horizon of a peer. The peer then lacks some of it, and can say nothing
of the rest. So an author whose messages are not acknowledged also sends, in turn with the walk through the log, the
fingerprint of a range that begins with one of these messages. This makes it a question: a peer with the same
fingerprint for that range, wherever its horizon, sends it back. The answer begins with no message of the peer's own,
so there are no answers to answers; and an answer of another, when it is heard, makes our own needless. Where several
wrote something of the date with which the range begins, each of them could take the answer for a question of another:
they answer by chance, and so seldom that answers to answers soon come to an end.

Questions and answers take the place of other sections in sync messages that are due anyway, and cost no packet.
"""

from __future__ import annotations

from itertools import islice, takewhile
from typing import Final

from sdschat.sds.bloom.compact import RangePrint
from sdschat.sds.limits import QUESTIONED, RANGE_IDS
from sdschat.sds.outgoing import Outgoing
from sdschat.sds.peers import Peer
from sdschat.sds.state import ChannelState
from sdschat.sds.values import Entry

# Of four sections in a row, one goes on with the walk whatever there is to ask and to answer.
TURNS: Final = (("walk",), ("answer", "question"), ("answer", "walk"), ("question", "answer"))
PATIENCE: Final = 3  # sends of a message after which its author asks in other ways too


def turn(s: ChannelState) -> tuple[str, ...]:
    """Return the choices for the section of the next sync message. Each turn comes once in four packets, and not
    always the same one after the same number of packets, since not all packets have a section."""
    count = s.sync.count
    return TURNS[(count + s.jitter.below(len(TURNS), "turn", count // len(TURNS))) % len(TURNS)]


def question(s: ChannelState, top: int) -> tuple[int, int] | None:
    """A range dated before `top` that begins with the oldest own message that is not acknowledged, and goes as far as
    one range may. Where that has been of no use for long, others lack something in it: then it begins with one such
    message after the other, and every other time it holds only such messages, which are resent to all who lack them."""
    asked = [known for known in islice(s.outgoing.oldest_first(), QUESTIONED) if known.lamport < top]
    if not asked:
        return None
    if asked[0].sends < PATIENCE:
        return _all_from(s, asked[0], top)
    number = s.sync.count // len(TURNS)
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
    """A peer has just the same as we in this range: if it asks, it is to be told so. Its walk may begin with a message
    of its own by chance; a question begins with one of its oldest, and comes first."""
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
