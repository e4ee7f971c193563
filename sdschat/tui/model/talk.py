"""The model of a direct conversation: shown like a channel; its messages are for one reader alone."""

from __future__ import annotations

from typing import Final

from sdschat.node import events
from sdschat.node.events import NickClaimed, NodeEvent, ev
from sdschat.node.sync.events import DirectSaid
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.values import AckState
from sdschat.tui.model.channel import ChannelModel, ModelChange
from sdschat.tui.model.items import MessageItem, Phase

_OF_BOTH: Final = (
    events.ConnectionChanged,
    events.SavingFailed,
    events.SavingResumed,
    events.PresenceChanged,
    NickClaimed,
    events.IdentityUsedElsewhere,
)


class TalkModel(ChannelModel):
    """Takes the events of its two participants, and of the connection of the channel that it belongs to."""

    def __init__(self, view: Conversations, name: str) -> None:
        super().__init__(view, name)
        self._talk = view.direct(name)
        self.mentions = self.unread
        self._counted = self._talk.newest()  # key of the newest message that the first count of unread ones included
        if self.unread and self.unread_after is None:
            self.unread_after = (0, "")

    def hear(self, event: NodeEvent, looking: bool) -> None:
        body = event.body
        match body:
            case DirectSaid(message_id):
                self._talk.refresh()
                shown = self._talk.message(message_id)
                if shown is not None and shown.key > self._counted:
                    self._take(shown, looking)
                self.changes |= ModelChange.BADGES
            case events.HandedOver(message_id) if self.owns(message_id):
                self._move(message_id, Phase.UNACKED, 0)
            case ev.StateChanged(message_id, state, by) if state is AckState.ACKED and self.owns(message_id):
                self._talk.acknowledged(message_id)
                self._move(message_id, Phase.ACKED, len(by))
            case _ if isinstance(body, _OF_BOTH):
                super().hear(event, looking)
                self.changes |= ModelChange.BADGES

    def owns(self, message_id: str) -> bool:
        """True if this is an own message of this conversation."""
        shown = self._talk.message(message_id)
        return shown is not None and shown.own

    def _count_unread(self, entry: MessageItem) -> None:
        """Count every message here as a mention: it is for us alone."""
        super()._count_unread(entry)
        self.mentions = self.unread
