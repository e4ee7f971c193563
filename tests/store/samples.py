"""Messages, rows and steps to put into a store, all from a seed."""

from __future__ import annotations

import hashlib
from random import Random
from typing import TypeVar, cast, get_type_hints

from sdschat.sds.values import (
    AckState,
    AnswerRow,
    Append,
    ChannelRow,
    Drop,
    Entry,
    Evidence,
    GapRow,
    HintRow,
    HistoryEntry,
    IncomingRow,
    LogRow,
    Message,
    MissingRow,
    OutgoingRow,
    PeerRow,
    PushRow,
    Put,
    Row,
    Table,
    Write,
)
from sdschat.store.journal import JournalRow
from sdschat.store.transaction import IndexedText
from sdschat.wire.sds_codec import SdsCodec

RowType = TypeVar("RowType", bound=Row)

CODEC = SdsCodec()
START = 1_700_000_000_000
WORDS = [
    "river",
    "stone",
    "lantern",
    "copper",
    "window",
    "harbour",
    "paper",
    "engine",
    "forest",
    "signal",
    "kettle",
    "bridge",
    "winter",
    "garden",
    "mirror",
    "thunder",
    "velvet",
    "pocket",
    "market",
    "feather",
    "candle",
    "orbit",
    "saddle",
    "ribbon",
]


def packet_of(channel: str, sender: str, lamport: int, text: str, deps: tuple[str, ...] = ()) -> Message:
    content = text.encode()
    message_id = hashlib.sha256(content + lamport.to_bytes(8, "big") + sender.encode()).hexdigest()
    history = tuple(HistoryEntry(name, None, sender) for name in deps)
    return Message(sender, message_id, channel, lamport, history, None, (), content)


def log_row(message: Message, own: bool = False, generation: int = 0, raw: bytes | None = None) -> LogRow:
    assert message.lamport_timestamp is not None
    deps = tuple(entry.message_id for entry in message.causal_history)
    entry = Entry(message.lamport_timestamp, message.message_id, message.sender_id, deps, generation)
    return LogRow(entry, CODEC.encode(message) if raw is None else raw, own, "live", message.lamport_timestamp + 40)


def row_of(kind: type[RowType], **given: object) -> RowType:
    """A row with these values, and default values for all others, so that rows may grow without a change here."""
    values: list[object] = []
    for number, (name, hint) in enumerate(get_type_hints(kind).items()):
        plain: dict[object, object] = {int: START + number, bytes: name.encode()}
        values.append(given.get(name, plain.get(hint, f"some {name}")))
    return cast(RowType, kind._make(values))


def state_row(lamport: int) -> ChannelRow:
    return row_of(ChannelRow, lamport=lamport, layout="compact", sync_spoke_at=-5)


_KEPT = 20  # messages that have rows in buffers


class Talk:
    """A channel that grows: message after message, each with the writes, rows and text that a node saves with it."""

    def __init__(self, channel: str = "lobby", seed: int = 1, me: str = "me") -> None:
        self.channel = channel
        self.me = me
        self.messages: list[Message] = []
        self.texts: dict[str, str] = {}
        self._random = Random(f"{channel} {seed}")
        self._lamport = START

    def text(self) -> str:
        return " ".join(self._random.choices(WORDS, k=6)) + f" {len(self.messages)}"

    def step(self, with_buffers: bool = True) -> tuple[list[Write], list[JournalRow], list[IndexedText]]:
        """The writes that one message leads to."""
        random = self._random
        self._lamport += random.randint(1, 900)
        sender = random.choice((self.me, "anna", "bert", "carl"))
        deps = tuple(message.message_id for message in self.messages[-2:])
        message = packet_of(self.channel, sender, self._lamport, self.text(), deps)
        self.messages.append(message)
        text = (message.content or b"").decode()
        self.texts[message.message_id] = text
        own = sender == self.me
        row = log_row(message, own)
        writes: list[Write] = [Append(row)]
        if own:
            writes.append(Put(Table.OUTGOING, message.message_id, self._outgoing(message)))
        if with_buffers:
            writes += self._buffers(message)
        writes.append(Put(Table.CHANNEL, "", state_row(self._lamport)))
        told = [
            JournalRow(
                "delivered",
                self.channel,
                self._lamport,
                1000 * self._lamport,
                message.message_id,
                sender,
                self._lamport,
                bytes=len(row.raw),
                payload_bytes=len(text),
                overhead_bytes=len(row.raw) - len(text),
                deps=deps,
                cause="live",
            )
        ]
        said = [IndexedText(self.channel, message.message_id, sender.title(), text, "known", self._lamport)]
        return writes, told, said

    def _outgoing(self, message: Message) -> OutgoingRow:
        proof = Evidence("anna", "filter", "p1", self._lamport, 1e-5)
        state = AckState(self._random.randint(0, 2))
        evidence = (proof,) if state is not AckState.UNACKED else ()
        return OutgoingRow(message.message_id, self._lamport, state, 1, self._lamport + 30_000, evidence)

    def _buffers(self, message: Message) -> list[Write]:
        """Add, change and drop rows; there are never many of them."""
        sender = message.sender_id
        peer = row_of(PeerRow, sender_id=sender, last_lamport=self._lamport, behind=b"\x01\x02", layout="compact")
        waiting = packet_of(self.channel, sender, self._lamport + 1, "waits " + self.text(), ("f" * 64,))
        held = IncomingRow(waiting, CODEC.encode(waiting), "live", 1, self._lamport, 0, ("f" * 64, "é"))
        rows: list[tuple[Table, str, Row]] = [
            (Table.PEER, sender, peer),
            (Table.INCOMING, waiting.message_id, held),
            (Table.MISSING, f"m{len(self.messages) % 7}", _missing(f"m{len(self.messages) % 7}", self._lamport)),
            (Table.GAP, f"g{len(self.messages) % 5}", GapRow(f"g{len(self.messages) % 5}", "lost", None, 7)),
            (Table.ANSWER, message.message_id, AnswerRow(message.message_id, "bert", 1, 2, 3)),
            (Table.PUSH, message.message_id, PushRow(message.message_id, self._lamport, ("anna", "carl"), 5, 1, 9)),
            (Table.HINT, message.message_id, HintRow(message.message_id, b"\x00hint\xff")),
        ]
        chosen = self._random.sample(rows, 3)
        writes: list[Write] = [Put(table, key, row) for table, key, row in chosen]
        if len(self.messages) > _KEPT:
            old = self.messages[-_KEPT].message_id
            writes += [Drop(table, old) for table in (Table.ANSWER, Table.PUSH, Table.HINT)]
        return writes


def _missing(message_id: str, at: int) -> MissingRow:
    return row_of(MissingRow, message_id=message_id, sender_id=None, hint=b"\x01", since=at, attempts=2)
