"""Messages of other makes that came in two forms under one id. Nothing in them says which form is the author's: the
first one stands, and the difference is kept with it.

A message of our make may be one of the two. Whoever has the other one instead is taken to have it, and is sent it no
more; so it is asked for once signed packets tell whose it is.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Protocol

from sdschat.identity.content import Keys
from sdschat.identity.place import is_placed
from sdschat.sds.events import DuplicateReceived, Event, Rejected
from sdschat.sds.ids import is_digest, recipe_of
from sdschat.sds.values import TOLD, Entry, Message, MessageKind, Now, Reason

if TYPE_CHECKING:
    from sdschat.sds.channel import Channel
    from sdschat.sds.state import ChannelState

COPY: Final = "copy/"  # names of the values begin so; the channel and the id of the message follow
_KNOWN: Final = 4096
_OF_A_PACKET: Final = 8  # messages that one packet can have us look at closely


class Values(Protocol):
    def value(self, name: str) -> bytes | None: ...


def difference_to_copy(values: Values, channel: str, message_id: str) -> str:
    """Return the difference between a message and another copy of it, in words; empty if there was no such copy."""
    return (values.value(f"{COPY}{channel}/{message_id}") or b"").decode()


class OtherCopies:
    """The differences that were found. They wait in `take` for the transaction of the turn."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._unsigned: OrderedDict[str, None] = OrderedDict()  # that came lately, and whose content gives another id
        self._judged: OrderedDict[str, None] = OrderedDict()
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
        name = f"{COPY}{state.channel_id}/{other.message_id}"
        found = None if name in self._known else state.packet_of(other.message_id)
        ours = None if found is None else state.codec.decode(found[0])
        if isinstance(ours, Message) and (words := _difference(ours, other)):
            _add(self._known, name)
            self._unsaved[name] = words.encode()

    def remember(self, message: Message) -> None:
        """Remember what nobody signed, if its id may be that of another message."""
        if message.kind is not MessageKind.CONTENT or is_placed(message) or not is_digest(message.message_id):
            return
        if recipe_of(message) == "foreign":
            _add(self._unsigned, message.message_id)

    def review(self, channel: Channel, signed: Message, now: Now) -> None:
        """Look at the messages that a signed packet names. If it names another sender for one than is here, or one who
        signs, that message is looked at closely (`sds/steps/bodies.py`)."""
        near = channel.state.window.entries
        doubted = [
            entry.message_id
            for entry in signed.causal_history
            if entry.message_id in near and self._is_doubtful(near[entry.message_id], entry.sender_id)
        ]
        for message_id in doubted[:_OF_A_PACKET]:
            if channel.doubt(now, message_id):
                _add(self._judged, message_id)

    def _is_doubtful(self, ours: Entry, sender_id: str | None) -> bool:
        if not sender_id or ours.message_id in self._judged:
            return False
        unproven = ours.message_id in self._unsigned or ours.generation == TOLD
        return ours.sender_id != sender_id or (unproven and self._keys.signs(sender_id))

    def take(self) -> dict[str, bytes]:
        """Return the values to save, and forget them."""
        unsaved, self._unsaved = self._unsaved, {}
        return unsaved


def _add(known: OrderedDict[str, None], name: str) -> None:
    known[name] = None
    if len(known) > _KNOWN:
        known.popitem(last=False)


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
