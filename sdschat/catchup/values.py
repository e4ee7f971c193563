"""The values of a comparison: keys, sums over stretches of a log, questions about them and answers.

A stretch is all keys from `low` to `high`, the latter excluded.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from hashlib import blake2b
from typing import Final, NamedTuple, Protocol

from sdschat.catchup.limits import FINGERPRINT_BYTES, MAX_LAMPORT

_SUM_BYTES: Final = 32
_SUM_MODULUS: Final = 1 << (8 * _SUM_BYTES)


class Key(NamedTuple):
    """Where a message stands in the log. Also a bound between two messages, with a part of an id or none."""

    lamport: int
    message_id: str


LOWEST: Final = Key(0, "")
HIGHEST: Final = Key(MAX_LAMPORT, "")


class Summary(NamedTuple):
    """A stretch: how many messages, and the sum of their digests, from which the fingerprint follows.

    Sums modulo 2^256: with so many bits nobody can make a set of messages whose sum equals that of another.
    """

    messages: int = 0
    total: int = 0

    def with_key(self, key: tuple[int, str]) -> Summary:
        return Summary(self.messages + 1, (self.total + digest(key)) % _SUM_MODULUS)

    def without_key(self, key: tuple[int, str]) -> Summary:
        return Summary(self.messages - 1, (self.total - digest(key)) % _SUM_MODULUS)

    def plus(self, other: Summary) -> Summary:
        return Summary(self.messages + other.messages, (self.total + other.total) % _SUM_MODULUS)

    def fingerprint(self, salt: int) -> bytes:
        """What is shown to others in place of the sum. Short, because nobody knows the salt before the comparison."""
        text = self.total.to_bytes(_SUM_BYTES, "big") + self.messages.to_bytes(8, "big")
        return blake2b(text, digest_size=FINGERPRINT_BYTES, key=salt.to_bytes(8, "big")).digest()


def digest(key: tuple[int, str]) -> int:
    """Of one message: BLAKE2b-256 over the Lamport time in 8 bytes, big-endian, and the id."""
    lamport, message_id = key
    place = lamport.to_bytes(8, "big") + message_id.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(place, digest_size=_SUM_BYTES).digest(), "big")


def summarise(keys: Sequence[tuple[int, str]]) -> Summary:
    return Summary(len(keys), sum(map(digest, keys)) % _SUM_MODULUS)


def behind(key: tuple[int, str]) -> Key:
    """The bound right behind a key."""
    return Key(key[0], key[1] + "\0")


def bound_between(before: tuple[int, str], key: tuple[int, str]) -> Key:
    """The shortest bound above one key and not above the next: nearly always a date alone."""
    if before[0] < key[0]:
        return Key(key[0], "")
    length = next((at for at, (a, b) in enumerate(zip(before[1], key[1], strict=False)) if a != b), len(before[1]))
    return Key(key[0], key[1][: length + 1])


class Log(Protocol):
    """What a comparison asks of a log. Each is a search in an index, and as much reading as the answer is long."""

    def summary(self, low: Key, high: Key) -> Summary: ...

    def keys(self, low: Key, high: Key, limit: int) -> Sequence[tuple[int, str]]:
        """The first keys of a stretch, in order."""

    def cut(self, low: Key, high: Key, parts: int) -> list[Key]:
        """Bounds within a stretch that cut it into at most so many parts, of about as many messages each."""


class Kind(IntEnum):
    """What is asked about a stretch."""

    PARTS = 1  # its parts with their fingerprints, or nothing where its own is the one given
    CELLS = 2  # sums of short ids (see `sketch`)
    KEYS = 3  # its keys, which are few


class Question(NamedTuple):
    kind: Kind
    low: Key
    high: Key
    number: int  # of parts or of cells, at most
    fingerprint: bytes = b""


class Ask(NamedTuple):
    salt: int  # what fingerprints and short ids are made with: new in each comparison
    questions: tuple[Question, ...]


class Part(NamedTuple):
    """A part ends at `high`, where the next one begins."""

    high: Key
    messages: int
    fingerprint: bytes


class Reply(NamedTuple):
    """To one question, in the kind that was asked for."""

    parts: tuple[Part, ...] = ()
    cells: tuple[int, ...] = ()
    listed: bool = False  # the cells are short ids, one by one
    keys: tuple[Key, ...] = ()
    equal: bool = False


class Answer(NamedTuple):
    """Replies in the order of the questions; fewer where answering all would have been too much at once."""

    replies: tuple[Reply, ...]


class Need(NamedTuple):
    """What is lacking: all of a stretch, or of a stretch what these short ids are of."""

    low: Key
    high: Key
    messages: int
    shorts: tuple[int, ...] = ()


class BadAnswer(ValueError):
    """An answer that does not fit its question: whoever gave it is not to be asked again."""


# Between two nodes.


class Stretch(NamedTuple):
    """What is wanted of a stretch: all of it, or those messages that these short ids are of."""

    low: Key
    high: Key
    shorts: tuple[int, ...] = ()


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
    what: Ask | Answer | Want | Declined | Nudge


class Page(NamedTuple):
    """Messages that were wanted, as they were broadcast."""

    session: int
    want: int
    number: int
    packets: tuple[bytes, ...]
    last: bool = False


class Refused(NamedTuple):
    """Bytes that are no frame or page, and why."""

    why: str
