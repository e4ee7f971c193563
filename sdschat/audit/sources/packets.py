"""The content of message packets, and a memory of what was decoded: most nodes hold the same packets and lists."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from sdschat.sds.values import Refusal
from sdschat.store.columns import body_sum, dump_ids, load_ids
from sdschat.store.journal import fingerprint_step
from sdschat.wire.chat_codec import OPERATION, Envelope, decode_envelope
from sdschat.wire.packet_parts import parts
from sdschat.wire.sds_codec import SdsCodec

DIGEST_DIGITS: Final = 16
LARGEST: Final = 16 * 1024 * 1024  # above the limit of any node: every packet that a node accepted can be read
CODEC: Final = SdsCodec(LARGEST)
_LISTS: Final = 100_000

Sizes = tuple[int | None, int | None, int | None, int | None, int | None]  # bytes of a packet and of its parts
NO_SIZES: Final[Sizes] = (None, None, None, None, None)


class Version(NamedTuple):
    """The content of a message on which nodes must agree. If all else is equal, a smaller version is preferred."""

    lamport: int
    sender: str
    deps: tuple[str, ...]
    digest: str  # of the content; empty if nobody has the content


class Known(NamedTuple):
    """All values that follow from a packet alone. Those of bytes that are no packet are empty."""

    message_id: str
    lamport: int | None
    sender: str
    dependencies: str  # JSON
    version: Version
    text: str | None  # see `common_text`
    sum: int | None  # the expected checksum of the packet
    fingerprint: int
    sizes: Sizes
    problem: str = ""  # why it cannot be read

    def contradicts(self, message_id: str, lamport: int, sender: str, deps: tuple[str, ...]) -> str:
        """Return the differences between the packet and its row, in words; empty if there are none."""
        if self.problem:
            return f"its packet cannot be read: {self.problem}"
        differing = [
            name
            for name, ours, theirs in (
                ("id", message_id, self.message_id),
                ("Lamport time", lamport, self.lamport),
                ("sender", sender, self.sender),
                ("dependencies", deps, self.version.deps),
            )
            if ours != theirs
        ]
        return f"its packet has another {' and '.join(differing)}" if differing else ""


class Memory:
    """Decoded packets and lists of ids, so that each is decoded once.

    A full memory keeps what it has: with replacement, the next database would never find its packets again.
    """

    def __init__(self, most: int | None = None, *, sized: bool = False) -> None:
        """Begin. With `sized` the sizes of packets are known too."""
        self.packets: dict[bytes | None, Known] = {}
        self.lists = IdLists()
        self._most = most
        self._sized = sized

    @property
    def full(self) -> bool:
        return self._most is not None and len(self.packets) >= self._most

    def packet(self, raw: bytes) -> Known:
        known = self.packets.get(raw)
        if known is None:
            known = _decoded(raw, (len(raw), *parts(raw)) if self._sized else NO_SIZES)
            if not self.full:
                self.packets[raw] = known
        return known


def _decoded(raw: bytes, sizes: Sizes) -> Known:
    """Decode a packet. Never raises."""
    message = CODEC.decode(raw)
    if isinstance(message, Refusal):
        nothing = Version(0, "", (), digest_of(b""))
        return Known("", None, "", "", nothing, None, None, 0, sizes, message.detail or str(message.reason))
    content = message.content or b""
    deps = tuple([entry.message_id for entry in message.causal_history])
    name, lamport, sender = message.message_id, message.lamport_timestamp, message.sender_id
    version = Version(lamport or 0, sender, deps, digest_of(content))
    sums = (body_sum(name, raw), fingerprint_step(0, lamport or 0, name))
    return Known(name, lamport, sender, dump_ids(deps), version, common_text(decode_envelope(content)), *sums, sizes)


class IdLists(dict[str | None, tuple[str, ...] | None]):
    """Lists of ids as stored in a database. Raises ValueError, or JSON's errors, for any other text."""

    def __init__(self) -> None:
        super().__init__({None: None})

    def __missing__(self, listed: str) -> tuple[str, ...]:
        found = load_ids(listed)
        if not are_ids(found):
            raise ValueError("no list of ids")
        if len(self) < _LISTS:
            self[listed] = found
        return found


def encodable(text: str) -> bool:
    """True if the text can be encoded. JSON can escape half of a surrogate pair, and no table accepts that."""
    return text.isascii() or text == text.encode("utf-8", "replace").decode()


def are_ids(values: Sequence[object]) -> bool:
    return all(isinstance(each, str) and encodable(each) for each in values)


def common_text(envelope: Envelope | None) -> str | None:
    """Return the text that every node has of a content. None for other makes, and for operations on the members of a
    private channel: their lines are in words, and may read differently at nodes that know less."""
    return None if envelope is None or envelope.kind == OPERATION else envelope.text


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGEST_DIGITS]
