"""A peer with another implementation beside a node of ours, connected by bytes: it offers all its messages at once, or
sends them unrequested.

It behaves as the published Go implementations do where they differ from ours: no limits, back-off that grows by two
epochs with each sending, offers that go on until the message is acknowledged, and no acknowledgement for offers of
messages that it holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import NamedTuple

from sdschat.mvds import Message, Mode, Payload, message_id
from sdschat.mvds.packing import Packer, message_cost
from sdschat.wire.mvds_codec import Dialect, MvdsCodec
from tests.mvds.world import Node, at, id_of, message

EPOCH = 1000


def chain(length: int, body: int = 200, stamp: int | None = None) -> list[Message]:
    """A chain of messages, each with the one before as its parent; dated one after the other, or all alike."""
    made: list[Message] = []
    for number in range(length):
        parents = id_of(*made[-1:])
        dated = number if stamp is None else stamp
        made.append(message(b"%d" % number + bytes(max(0, body - 6)), *parents, stamp=dated))
    return made


class _Sending(NamedTuple):
    sent: int
    epoch: int


class Foreign:
    """The other peer: `step` returns the payloads of an epoch, `hear` processes one."""

    def __init__(self, mode: Mode, held: Iterable[Message] = (), largest: int = 2**20) -> None:
        self.held = {message_id(one): one for one in held}
        self._largest = largest
        begin = dict.fromkeys(self.held, _Sending(0, 0))
        self._offers: dict[bytes, _Sending] = begin if mode is Mode.INTERACTIVE else {}
        self._messages: dict[bytes, _Sending] = {} if mode is Mode.INTERACTIVE else begin
        self._requests: dict[bytes, _Sending] = {}
        self._acks: list[bytes] = []
        self.bodies: list[bytes] = []  # ids of the messages that it sent, as often as it sent them
        self.given: list[bytes] = []  # ids of the messages that it was sent

    def step(self, epoch: int) -> list[Payload]:
        packer = Packer(self._largest)
        for mid in self._acks:
            packer.add_ack(mid)
        self._acks.clear()
        for mid in self._due(self._offers, epoch):
            packer.add_offer(mid)
        for mid in self._due(self._requests, epoch):
            packer.add_request(mid)
        for mid in self._due(self._messages, epoch):
            packer.add_message(self.held[mid], message_cost(self.held[mid]))
            self.bodies.append(mid)
        return packer.packets()

    def _due(self, records: dict[bytes, _Sending], epoch: int) -> list[bytes]:
        due = [mid for mid, one in records.items() if one.epoch <= epoch]
        for mid in due:
            count = records[mid].sent + 1
            records[mid] = _Sending(count, epoch + 2 * count)
        return due

    def hear(self, payload: Payload, epoch: int) -> None:
        for mid in payload.acks:
            self._offers.pop(mid, None)
            self._messages.pop(mid, None)
        for mid in payload.requests:
            if mid in self.held:
                self._messages[mid] = _Sending(0, epoch + 1)
        for mid in payload.offers:
            if mid not in self.held:
                self._requests.setdefault(mid, _Sending(0, epoch + 1))
        for one in payload.messages:
            mid = message_id(one)
            self.given.append(mid)
            self._requests.pop(mid, None)
            self.held[mid] = one
            self._acks.append(mid)


class Link:
    """Both peers, epoch by epoch, with a network between them that may lose and double packets."""

    def __init__(self, node: Node, foreign: Foreign, loss: float = 0.0, dialect: Dialect = Dialect.SPEC) -> None:
        self.node, self.foreign = node, foreign
        self.bytes = 0
        self.epoch = 0
        self._loss = loss
        self._random = Random(7)
        self._codec = MvdsCodec(dialect)

    def run(self, epochs: int, until: int | None = None) -> None:
        """Run `epochs` epochs, or fewer: until `until` messages are delivered."""
        for _ in range(epochs):
            ms = self.epoch * EPOCH
            for packet in self.node.step(ms):
                if packet.peer == "bob":
                    for payload in self._carried(packet.payload):
                        self.foreign.hear(payload, self.epoch)
            for sent in self.foreign.step(self.epoch):
                for payload in self._carried(sent):
                    self.node.engine.receive("bob", payload, at(ms + EPOCH // 2))
            self.node.take()
            self.epoch += 1
            if until is not None and len(self.node.delivered()) >= until:
                return

    def _carried(self, payload: Payload) -> list[Payload]:
        raw = self._codec.encode(payload)
        self.bytes += len(raw)
        copies = sum(self._random.random() >= self._loss for _ in range(1 + (self._random.random() < self._loss)))
        decoded = self._codec.decode(raw)
        assert isinstance(decoded, Payload), decoded
        return [decoded] * copies


def least_bytes(messages: Iterable[Message]) -> int:
    """Bytes of an offer, a request, the message and an acknowledgement for each message, sent once."""
    packer = Packer(2**20)
    for one in messages:
        packer.add_message(one, message_cost(one) + 3 * 36)
    return packer.total
