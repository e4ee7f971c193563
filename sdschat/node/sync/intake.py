"""Old messages from others into the log: each is looked at like any other before it is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sdschat.catchup.exchange import TakenIn
from sdschat.catchup.values import LogKey
from sdschat.catchup.wanted_bodies import WantedBodies
from sdschat.sds.channel import Channel
from sdschat.sds.limits import IDS_KEPT
from sdschat.sds.values import TOLD, Message, MessageKind, Now

if TYPE_CHECKING:
    from sdschat.node.channel.content import ContentGate
    from sdschat.node.channel.reception import PacketReception


class EngineIntake:
    """Gives packets to the engine of a channel, after the same checks as those that come live."""

    def __init__(
        self,
        channel: Channel,
        gate: ContentGate,
        reception: PacketReception,
        wanted: Callable[[LogKey], bool],
        bodies: WantedBodies,
        *,
        is_open: bool,
    ) -> None:
        """`is_open`: not a private channel, where all is kept of everybody."""
        self._channel = channel
        self._gate = gate
        self._reception = reception
        self._wanted = wanted
        self._bodies = bodies
        self._is_open = is_open

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
            known = state.delivered(message.message_id)
            if key in self._bodies or (known is not None and known.generation == TOLD):
                if self._take_body(message, raw, via, now):
                    found.append(key)
                    new += 1
                continue
            here = known is not None or state.holds(message.message_id)
            claim = self._gate.claim_of(message, here)
            refusal = self._gate.refusal_of(message, here, claim)
            if refusal is None and not here and self._keeps_id_alone(message, now):
                self._channel.receive_id(now, message)
                taken = state.holds(message.message_id)
            elif refusal is None:
                unproven = self._reception.is_unproven(message)
                taken = self._channel.receive_history(now, message, raw, via, unproven=unproven)
            else:
                taken = claim is not None and self._channel.refuse_claim(now, message, refusal.reason, refusal.detail)
            if here:
                self._gate.copies.note(state, message)
            if taken:
                self._reception.last_heard.note(message, now)
            if here or taken:
                found.append(key)
                new += not here
                absent.update(one.message_id for one in message.causal_history if not state.holds(one.message_id))
        return TakenIn(found, new, False, len(absent.difference(key.message_id for key in found)))

    def _keeps_id_alone(self, message: Message, now: Now) -> bool:
        """True for what somebody says whom the user ignores. An id that is too old is deleted, and would be fetched
        again and again: such a message is kept in full."""
        dated = (
            now.wall - IDS_KEPT <= (message.lamport_timestamp or 0) <= now.wall + self._channel.state.config.max_skew
        )
        return self._is_open and dated and self._gate.is_ignored(message.sender_id)

    def _take_body(self, message: Message, raw: bytes, via: str, now: Now) -> bool:
        """Put the body of a message that is here by its id alone, after the same checks."""
        if self._gate.refusal_of(message, False, self._gate.claim_of(message, False)) is not None:
            return False
        if not self._channel.receive_body(now, message, raw, via):
            return False
        self._bodies.found((message.lamport_timestamp or 0, message.message_id))
        return True
