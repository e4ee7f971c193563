"""Packets that the disk has altered: asked for again from the others, and put back if they are the right ones.

Others' messages that were found altered on opening are out of the log, and come as any message that we lack. What is
left for here are packets whose entry in the log is sound: our own, and those that were found later.
"""

from __future__ import annotations

from sdschat.node.facts import PacketRestored
from sdschat.node.part import Work
from sdschat.node.room import Room
from sdschat.sds.ids import recipe_of
from sdschat.sds.state import Ready
from sdschat.sds.values import Message, Now, Refusal
from sdschat.store.history import SqlHistory
from sdschat.store.restoring import restore_packet
from sdschat.store.store import Store
from sdschat.store.transaction import Transaction


class Restoring:
    """A part of every channel."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._came: dict[str, bytes] = {}

    def attach(self, room: Room) -> None:
        self._room = room
        history = room.channel.state.history
        assert isinstance(history, SqlHistory)
        self._history = history
        for loss in self._store.losses:
            if loss.channel == room.name:
                history.row(loss.message_id)  # which sees whether it is the packet that was lost
        room.watchers.append(self._see)

    def _see(self, _via: str, packet: bytes, message: Message | Refusal | None) -> None:
        again = self._room.channel.state.again
        if again and isinstance(message, Message) and message.message_id in again and self._right(message):
            self._came[message.message_id] = packet

    def _right(self, message: Message) -> bool:
        """Whether it says what the entry says, and its content is what its id stands for."""
        entry = self._room.channel.state.delivered(message.message_id)
        return (
            entry is not None
            and (entry.sender_id, entry.lamport) == (message.sender_id, message.lamport_timestamp)
            and entry.dependencies == tuple(each.message_id for each in message.causal_history)
            and recipe_of(message) != "foreign"
        )

    def connected(self, now: Now) -> None:
        """Asking is the engine's."""

    def disconnected(self, now: Now) -> None:
        """Asking is the engine's."""

    def next_wake(self) -> int | None:
        return None

    def advance(self, now: Now) -> None:
        """Asking is the engine's."""

    def take(self, ready: Ready, now: Now) -> Work:
        channel, lost = self._room.channel, self._history.lost
        while lost:
            channel.fetch(now, lost.popitem()[0])
        if not self._came:
            return Work()
        came, self._came = self._came, {}
        for message_id in came:
            channel.fetched(message_id)

        def save(transaction: Transaction) -> None:
            for message_id, packet in came.items():
                restore_packet(transaction, self._room.name, message_id, packet)

        return Work(save, told=[PacketRestored(message_id) for message_id in came])
