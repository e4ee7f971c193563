"""Old messages from others into the log: each is looked at like any other before it is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sdschat.catchup.exchange import TakenIn
from sdschat.catchup.values import LogKey
from sdschat.identity.content import misnamed
from sdschat.sds.channel import Channel
from sdschat.sds.values import Message, MessageKind, Now


class EngineIntake:
    """Gives packets to the engine of a channel. Their signatures are judged where they are shown, as always; here it
    is only seen to that nobody puts another content, or another author, under the id of a message that we lack."""

    def __init__(self, channel: Channel, wanted: Callable[[LogKey], bool]) -> None:
        self._channel = channel
        self._wanted = wanted

    def take_in(self, packets: Sequence[bytes], via: str, now: Now) -> TakenIn:
        state = self._channel.state
        found: list[LogKey] = []
        absent: set[str] = set()
        new = 0
        for raw in packets:
            message = state.codec.decode(raw)
            if not isinstance(message, Message) or message.kind is not MessageKind.CONTENT:
                continue
            key = LogKey(message.lamport_timestamp or 0, message.message_id)
            if not self._wanted(key):
                if via == "store":  # its ranges are of whole dates, and its pages were judged by who asked for them
                    continue
                return TakenIn(found, new, True)
            here = state.holds(message.message_id)
            genuine = not misnamed(message.content or b"", message.sender_id, message.message_id)
            if here or (genuine and self._channel.receive_history(now, message, raw, via)):
                found.append(key)
                new += not here
                absent.update(one.message_id for one in message.causal_history if not state.holds(one.message_id))
        return TakenIn(found, new, False, len(absent.difference(key.message_id for key in found)))
