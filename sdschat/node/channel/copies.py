"""Messages of other makes that came in two forms under one id. Nothing in them says which form is the author's: the
first one stands, and the difference is kept with it."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Protocol

from sdschat.identity.place import is_placed
from sdschat.sds.events import DuplicateReceived, Event, Rejected
from sdschat.sds.values import Message, Reason

if TYPE_CHECKING:
    from sdschat.sds.state import ChannelState

_COPY: Final = "copy/"  # names of the values begin so; the channel and the id of the message follow
_KNOWN: Final = 4096


class Values(Protocol):
    def value(self, name: str) -> bytes | None: ...


def difference_to_copy(values: Values, channel: str, message_id: str) -> str:
    """Return the difference between a message and another copy of it, in words; empty if there was no such copy."""
    return (values.value(f"{_COPY}{channel}/{message_id}") or b"").decode()


class OtherCopies:
    """The differences that were found. They wait in `take` for the transaction of the turn."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, None] = OrderedDict()
        self._unsaved: dict[str, bytes] = {}

    def compare(self, state: ChannelState, other: Message) -> None:
        """Compare a message that the engine has just taken for one that is here with that one."""
        if state.events and _is_known(state.events[-1], other.message_id):
            self.note(state, other)

    def note(self, state: ChannelState, other: Message) -> None:
        """Compare a message with the one that is here under its id."""
        if is_placed(other):
            return
        name = f"{_COPY}{state.channel_id}/{other.message_id}"
        found = None if name in self._known else state.packet_of(other.message_id)
        ours = None if found is None else state.codec.decode(found[0])
        if isinstance(ours, Message) and (words := _difference(ours, other)):
            self._known[name] = None
            if len(self._known) > _KNOWN:
                self._known.popitem(last=False)
            self._unsaved[name] = words.encode()

    def take(self) -> dict[str, bytes]:
        """Hand over the values to save."""
        unsaved, self._unsaved = self._unsaved, {}
        return unsaved


def _is_known(event: Event, message_id: str) -> bool:
    if isinstance(event, Rejected):
        return event.reason is Reason.ID_CONFLICT and event.message_id == message_id
    return isinstance(event, DuplicateReceived) and event.message_id == message_id


def _difference(ours: Message, other: Message) -> str:
    """Return what differs of the fields that have a meaning in the log. Hints may be added by whoever passes it on."""
    found = []
    if ours.content != other.content:
        found.append("another text")
    if ours.sender_id != other.sender_id:
        found.append(f"another sender ({other.sender_id})")
    if ours.lamport_timestamp != other.lamport_timestamp:
        found.append(f"another Lamport time ({other.lamport_timestamp})")
    if [each.message_id for each in ours.causal_history] != [each.message_id for each in other.causal_history]:
        found.append("another causal history")
    return ", ".join(found)
