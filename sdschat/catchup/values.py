"""The values of a comparison: keys, sums over stretches of a log, questions about them and answers.

A stretch is all keys from `low` to `high`, the latter excluded.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, StrEnum
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple, Protocol

MAX_LAMPORT: Final = 2**63 - 1
MAX_ID_BYTES: Final = 128
FINGERPRINT_BYTES: Final = 8
SHORT_BYTES: Final = 8

QUESTIONS: Final = 64  # in one packet
PARTS: Final = 64  # that one stretch is cut into
PARTS_IN_ALL: Final = 1024  # in one packet
LEAF: Final = 1024  # messages of a stretch that is looked at one by one
CELLS_IN_ALL: Final = 16_384  # sums of short ids in one packet
KEYS: Final = 64  # messages of a stretch that are told in full
STRETCHES: Final = 1024  # in one request for messages
SHORTS: Final = 8192  # in one request for messages
WANTED_MOST: Final = 4_000_000  # messages given for one request

# The index. A bucket is split when it holds more than it may; the parts are half as large.
BUCKET: Final = 512
BUCKET_PART: Final = 256


class CatchUpState(StrEnum):
    """State of catching up."""

    WAITING = "waiting"  # for somebody to ask
    COMPARING = "comparing"
    LOADING = "loading"
    PAUSED = "paused"
    DONE = "done"


class CatchUpProgress(NamedTuple):
    """`done` of `total` messages are here; `source` is who is asked now, or was asked last."""

    state: CatchUpState
    done: int
    total: int
    source: str


_SUM_BYTES: Final = 32
_SUM_MODULUS: Final = 1 << (8 * _SUM_BYTES)
_SHOWN: Final = 8 * (_SUM_BYTES - FINGERPRINT_BYTES)  # bits of a sum that are not shown


class LogKey(NamedTuple):
    """Position of a message in the log. Also a bound between two messages, with a part of an id or none."""

    lamport: int
    message_id: str


LOWEST: Final = LogKey(0, "")
HIGHEST: Final = LogKey(MAX_LAMPORT, "")


class RangeSummary(NamedTuple):
    """A stretch: how many messages, and the sum of their digests, from which the fingerprint follows.

    Sums modulo 2^256: with so many bits nobody can make a set of messages whose sum equals that of another.
    """

    messages: int = 0
    total: int = 0

    def with_key(self, key: tuple[int, str]) -> RangeSummary:
        return RangeSummary(self.messages + 1, (self.total + digest(key)) % _SUM_MODULUS)

    def without_key(self, key: tuple[int, str]) -> RangeSummary:
        return RangeSummary(self.messages - 1, (self.total - digest(key)) % _SUM_MODULUS)

    def plus(self, other: RangeSummary) -> RangeSummary:
        return RangeSummary(self.messages + other.messages, (self.total + other.total) % _SUM_MODULUS)

    def fingerprint(self, salt: int) -> bytes:
        """Return the fingerprint shown to others in place of the sum. It is short, because nobody knows the salt before
        the comparison: the highest bits of the sum times a number drawn from the salt. Any two sums have the same
        fingerprint once in 2^62. Fingerprints add up as sums do, so if one log has a message more, the difference
        identifies that message (see `makes_up`)."""
        return (self.total * _factor(salt) % _SUM_MODULUS >> _SHOWN).to_bytes(FINGERPRINT_BYTES, "big")


@lru_cache(maxsize=64)
def _factor(salt: int) -> int:
    return int.from_bytes(blake2b(salt.to_bytes(8, "big"), digest_size=_SUM_BYTES).digest(), "big") | 1


def difference(one: bytes, other: bytes) -> int:
    """Return the difference of two fingerprints with the same salt."""
    return (int.from_bytes(one, "big") - int.from_bytes(other, "big")) % (1 << 8 * FINGERPRINT_BYTES)


def makes_up(keys: Sequence[tuple[int, str]], differing: int, salt: int) -> list[tuple[int, str]]:
    """Return the keys of those messages that, each alone, explain the difference of two fingerprints. A fingerprint
    shows only the highest bits; the bits below may have caused a carry of one, so that is allowed for."""
    factor, either = _factor(salt), {differing, (differing - 1) % (1 << 8 * FINGERPRINT_BYTES)}
    return [key for key in keys if digest(key) * factor % _SUM_MODULUS >> _SHOWN in either]


def digest(key: tuple[int, str]) -> int:
    """Return the digest of one message: BLAKE2b-256 over the Lamport time in 8 bytes, big-endian, and the id."""
    lamport, message_id = key
    place = lamport.to_bytes(8, "big") + message_id.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(place, digest_size=_SUM_BYTES).digest(), "big")


def summarise(keys: Sequence[tuple[int, str]]) -> RangeSummary:
    return RangeSummary(len(keys), sum(map(digest, keys)) % _SUM_MODULUS)


def behind(key: tuple[int, str]) -> LogKey:
    """Return the bound right behind a key."""
    return LogKey(key[0], key[1] + "\0")


def bound_between(before: tuple[int, str], key: tuple[int, str]) -> LogKey:
    """Return the shortest bound above one key and not above the next: nearly always a date alone."""
    if before[0] < key[0]:
        return LogKey(key[0], "")
    length = next((at for at, (a, b) in enumerate(zip(before[1], key[1], strict=False)) if a != b), len(before[1]))
    return LogKey(key[0], key[1][: length + 1])


class ComparedLog(Protocol):
    """Queries of a comparison to a log. Each is a search in an index, and as much reading as the answer is long."""

    def summary(self, low: LogKey, high: LogKey) -> RangeSummary: ...

    def keys(self, low: LogKey, high: LogKey, limit: int) -> Sequence[tuple[int, str]]:
        """Return the first keys of a stretch, in order; all of them for a negative limit."""

    def cut(self, low: LogKey, high: LogKey, parts: int) -> list[LogKey]:
        """Return bounds within a stretch that cut it into at most so many parts, of about as many messages each."""


class QuestionKind(IntEnum):
    """Kind of a question about a stretch."""

    PARTS = 1  # its parts with their fingerprints, or nothing where its own is the one given
    CELLS = 2  # sums of short ids (see `sketch`)
    KEYS = 3  # its keys, which are few


class Question(NamedTuple):
    kind: QuestionKind
    low: LogKey
    high: LogKey
    number: int  # of parts or of cells, at most
    fingerprint: bytes = b""


class Ask(NamedTuple):
    salt: int  # what fingerprints and short ids are made with: new in each comparison
    questions: tuple[Question, ...]
    messages: int = 0  # of who asks, in all that is compared


class RangePart(NamedTuple):
    """A part ends at `high`, where the next one begins."""

    high: LogKey
    messages: int
    fingerprint: bytes


class RangeReply(NamedTuple):
    """To one question, in the kind that was asked for."""

    parts: tuple[RangePart, ...] = ()
    cells: tuple[int, ...] = ()
    listed: bool = False  # the cells are short ids, one by one
    keys: tuple[LogKey, ...] = ()
    equal: bool = False


class AnswerFrame(NamedTuple):
    """Replies in the order of the questions; fewer where answering all would have been too much at once."""

    replies: tuple[RangeReply, ...]


class Need(NamedTuple):
    """Lacking messages: all of a stretch, or the messages of a stretch that have these short ids. `sole`: a single
    message makes up the difference of the fingerprints, and that difference stands in the place of a short id."""

    low: LogKey
    high: LogKey
    messages: int
    shorts: tuple[int, ...] = ()
    sole: bool = False


class BadAnswer(ValueError):
    """An answer that does not fit its question: whoever gave it is not to be asked again."""


# Between two nodes.


class Stretch(NamedTuple):
    """Wanted messages of a stretch, as in a `Need`."""

    low: LogKey
    high: LogKey
    shorts: tuple[int, ...] = ()
    sole: bool = False


class Want(NamedTuple):
    """A request for messages, stretch after stretch. With a limit of 0: nothing more is wanted."""

    stretches: tuple[Stretch, ...]
    limit: int  # messages
    newest_first: bool = False  # within each stretch


class Declined(NamedTuple):
    """No answer, or no pages, for now."""

    why: str


class Nudge(NamedTuple):
    """We have so many messages that you lack."""

    lacking: int


class Frame(NamedTuple):
    """`session` is drawn by who asks, and is the salt of that comparison; an answer bears its question's number."""

    session: int
    number: int
    what: Ask | AnswerFrame | Want | Declined | Nudge


class IdOnly(NamedTuple):
    """A message of which no more is kept: its place and its sender, as somebody says. The id is a SHA-256."""

    key: LogKey
    sender_id: str


class HistoryPage(NamedTuple):
    """Messages that were wanted, as they were broadcast."""

    session: int
    want: int
    number: int
    packets: tuple[bytes, ...]
    last: bool = False
    ids: tuple[IdOnly, ...] = ()


class RefusedFrame(NamedTuple):
    """Bytes that are no frame or page, and why."""

    why: str
