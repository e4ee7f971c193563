"""A peer that is the specification and no more, written from its text and from no line of our engine.

It has a filter of the waku format, or none, and asks for one missing message a packet. It pushes nothing, compares no
ranges, bounds no buffer and has no join horizon. Where the specification leaves a choice, the simplest one is taken:

- filters of two participants acknowledge a message ("MAY mark it as acknowledged on probabilistic grounds");
- what waits for a lost message is delivered without it after `lost_after`;
- nothing is kept over a stop, so the scenarios never stop it.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from sdschat.sds.bloom import waku
from sdschat.sds.config import Config
from sdschat.sds.values import Codec, HistoryEntry, Message, Now


def spec_hash(*strings: str) -> int:
    return int.from_bytes(sha256("".join(strings).encode()).digest()[:8], "big")


class Unacknowledged:
    """A message in the buffer of unacknowledged outgoing messages."""

    __slots__ = ("due", "filters", "raw", "sends")

    def __init__(self, raw: bytes, due: int) -> None:
        self.raw = raw
        self.due = due
        self.sends = 1
        self.filters: set[str] = set()  # participants whose filters hold it: possibly acknowledged where there is one


class LiteralPeer:
    """One participant. Every verb returns the packets to broadcast."""

    def __init__(self, channel_id: str, participant_id: str, config: Config, codec: Codec, now: Now, filters: str):
        self.channel_id = channel_id
        self.participant_id = participant_id
        self.config = config
        self.codec = codec
        self.clock = now.wall  # "initialized to current epoch time in millisecond resolution"
        self.filter = bytearray(waku.BYTES) if filters == "waku" else None
        self.log: dict[str, int] = {}  # message id to Lamport timestamp
        self.senders: dict[str, str] = {}
        self.bodies: dict[str, bytes] = {}
        self.incoming: dict[str, Message] = {}
        self.outgoing: dict[str, Unacknowledged] = {}
        self.missing: dict[str, tuple[HistoryEntry, int, int]] = {}  # with T_req, and when to give it up
        self.lost: set[str] = set()
        self.responses: dict[str, int] = {}  # T_resp by message id
        self.sync_due = now.mono + self._backoff(0)
        self.syncs = 0
        self.asked = 0
        self.answered = 0  # after we had asked for something

    def _backoff(self, count: int) -> int:
        return self.config.sync_interval // 2 + spec_hash(self.participant_id, str(count)) % self.config.sync_interval

    # Send Message.

    def send(self, now: Now, content: bytes) -> Message:
        named = f"{self.participant_id} {len(self.log)} ".encode() + content
        message = self._message(now, sha256(named).hexdigest(), content)
        raw = self.codec.encode(message)
        self.outgoing[message.message_id] = Unacknowledged(raw, now.mono + self.config.resend_unacked)
        self._deliver(message, raw)
        return message

    def _message(self, now: Now, message_id: str, content: bytes | None) -> Message:
        self.clock = max(now.wall, self.clock + 1)
        preceding = sorted((lamport, key) for key, lamport in self.log.items())[-2:]
        history = tuple(HistoryEntry(key, None, self.senders[key]) for _, key in preceding)
        packed = None if self.filter is None else bytes(self.filter)
        request = self._eligible_request(now)
        return Message(self.participant_id, message_id, self.channel_id, self.clock, history, packed, request, content)

    def _eligible_request(self, now: Now) -> tuple[HistoryEntry, ...]:
        due = [(t_req, key) for key, (_, t_req, _) in self.missing.items() if t_req <= now.mono]
        if not due or not self.config.repair_enabled:
            return ()
        _, key = min(due)
        entry, _, lost_at = self.missing[key]
        self.missing[key] = (entry, self._t_req(now, key) + self.config.t_max, lost_at)
        return (entry,)

    # Receive Message.

    def receive(self, now: Now, message: Message, raw: bytes) -> None:
        if message.sender_id == self.participant_id or message.channel_id != self.channel_id:
            return
        message_id = message.message_id
        known = self.missing.pop(message_id, None)
        self.answered += known is not None and self.asked > 0
        self.responses.pop(message_id, None)
        if message.lamport_timestamp is None:
            return  # ephemeral: delivered at once, and kept nowhere
        self._review_ack_status(message)
        self._review_repair_request(now, message)
        if message.content and message_id not in self.log and message_id not in self.incoming:
            if self.filter is not None:
                waku.add(self.filter, message_id)
            self.incoming[message_id] = message
            self.bodies[message_id] = raw
        self._note_missing(now, message)
        self._incoming_buffer_sweep()

    def _review_ack_status(self, message: Message) -> None:
        for entry in message.causal_history:
            self.outgoing.pop(entry.message_id, None)
        packed = message.bloom_filter
        if packed is None or len(packed) != waku.BYTES:
            return
        theirs = waku.WakuFilter(packed)
        for message_id in [key for key in self.outgoing if theirs.holds(key)]:
            known = self.outgoing[message_id]
            known.filters.add(message.sender_id)
            if len(known.filters) >= 2:
                del self.outgoing[message_id]

    def _review_repair_request(self, now: Now, message: Message) -> None:
        for entry in message.repair_request:
            message_id = entry.message_id
            if message_id in self.missing:  # another asks: ours waits for what comes of that
                known, _, lost_at = self.missing[message_id]
                self.missing[message_id] = (known, self._t_req(now, message_id) + self.config.t_max, lost_at)
            if message_id in self.log and self.config.repair_enabled and self._in_response_group(message_id):
                self.responses.setdefault(message_id, self._t_resp(now, message_id))

    def _note_missing(self, now: Now, message: Message) -> None:
        for entry in message.causal_history:
            key = entry.message_id
            if key not in self.log and key not in self.incoming and key not in self.lost and key not in self.missing:
                self.missing[key] = (entry, self._t_req(now, key), now.mono + self.config.lost_after)

    def _incoming_buffer_sweep(self) -> None:
        """Do the Periodic Incoming Buffer Sweep, without its clock."""
        met = True
        while met:
            met = False
            for message_id, message in list(self.incoming.items()):
                if all(
                    entry.message_id in self.log or entry.message_id in self.lost for entry in message.causal_history
                ):
                    del self.incoming[message_id]
                    self._deliver(message, self.bodies[message_id])
                    met = True

    def _deliver(self, message: Message, raw: bytes) -> None:
        assert message.lamport_timestamp is not None
        self.clock = max(self.clock, message.lamport_timestamp)
        self.log[message.message_id] = message.lamport_timestamp
        self.senders[message.message_id] = message.sender_id
        self.bodies[message.message_id] = raw
        if self.filter is not None:
            waku.add(self.filter, message.message_id)

    # SDS-R: T_req, T_resp and response groups, each as the specification has it.

    def _t_req(self, now: Now, message_id: str) -> int:
        config = self.config
        return now.mono + spec_hash(self.participant_id, message_id) % (config.t_max - config.t_min) + config.t_min

    def _t_resp(self, now: Now, message_id: str) -> int:
        distance = spec_hash(self.participant_id) ^ spec_hash(self.senders[message_id])
        return now.mono + distance * spec_hash(message_id) % self.config.t_max

    def _in_response_group(self, message_id: str) -> bool:
        groups = self.config.num_response_groups
        theirs = spec_hash(self.senders[message_id], message_id) % groups
        return spec_hash(self.participant_id, message_id) % groups == theirs

    # Time.

    def advance(self, now: Now) -> Iterator[bytes]:
        """Do everything that is due, and yield the packets of it: what is lost, resends, repair responses and the sync
        message."""
        for key, (_, _, lost_at) in list(self.missing.items()):
            if lost_at <= now.mono:
                del self.missing[key]
                self.lost.add(key)
        self._incoming_buffer_sweep()
        for known in self.outgoing.values():
            if known.due <= now.mono:
                known.sends += 1
                period = self.config.resend_possibly_acked if known.filters else self.config.resend_unacked
                known.due = now.mono + min(period << min(known.sends, 16), self.config.resend_max)
                yield known.raw
        for key in [key for key, due in self.responses.items() if due <= now.mono]:
            del self.responses[key]
            yield self.bodies[key]
        if self.sync_due <= now.mono:
            self.syncs += 1
            self.sync_due = now.mono + self._backoff(self.syncs)
            yield self.codec.encode(self._message(now, f"sync {self.participant_id} {self.syncs}", None))

    def next_wake(self) -> int:
        times = [self.sync_due, *self.responses.values()]
        times += [known.due for known in self.outgoing.values()]
        times += [lost_at for _, _, lost_at in self.missing.values()]
        return min(times)
