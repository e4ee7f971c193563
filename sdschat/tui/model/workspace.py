"""All open channels and conversations: the one that is shown, those that need attention, and what is saved of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sdschat.node import events
from sdschat.node.events import DirectSaid, HostingChanged, MessageDelivered, NickClaimed, NodeEvent, ev
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.private import privacy
from sdschat.node.view.values import AckState, conversation_id, peer_of
from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.items import Fate, Phase
from sdschat.tui.model.status import Health, cut_words, health, unconfirmed_words, unsent_words
from sdschat.tui.model.timeline import ModelChange

_STOOD_STILL: Final = 15_000  # milliseconds: no work of this program takes as long
_CALLS: Final = 5  # messages to the user that are told of at once, at most
EVERYTHING = ModelChange.ROWS | ModelChange.BADGES | ModelChange.PEOPLE | ModelChange.CONNECTION


class Workspace:
    """The open channels. Takes events of the node, and passes each to the models that it concerns."""

    def __init__(self, view: Conversations, level: Callable[[str], str], words: Sequence[str] = ()) -> None:
        """`level` returns, for a channel, which messages are news: all, mentions or none. `words` count as the nick
        does; after they changed, `watch_words` is to be called."""
        self.view = view
        self.models: dict[str, ChannelModel] = {}
        self.order: list[str] = []
        self.shown = ""
        self.beside = ""  # the other channel of a split
        self.shown_last = ""  # the channel that is or was shown last, no conversation of two
        self.hosting = False
        self.ring = False  # a mention came that the user may not have seen since `take_ring` was last called
        self.calls: list[tuple[str, str]] = []  # name and id of what was said to the user; `take_calls` empties it
        self._level = level
        self._words = words
        self._awake: int | None = None  # when `note_sleep` was called last, by the uptime

    def add(self, name: str) -> ChannelModel:
        """Add a channel or conversation at the end, so that the numbers of the others (Alt+1 to Alt+9) do not change
        because a participant begins a conversation."""
        model = self.models[name] = (TalkModel if peer_of(name) else ChannelModel)(self.view, name, self._words)
        channel = self.models.get(model.conversation.channel)
        if channel is not None and channel is not model:
            model.connection = channel.connection  # messages of two go by that channel, also while it is cut
        self.order.append(name)
        return model

    def watch_sleep(self, tell: Callable[[str], object]) -> None:
        """Note once a second if the program stood still, and tell the words. The loop calls this itself: a command that
        waits, as for an editor, holds up the timers of the application."""
        if words := self.note_sleep():
            tell(words)
        asyncio.get_running_loop().call_later(1.0, self.watch_sleep, tell)

    def note_sleep(self) -> str:
        """Say in each log how long the program stood still since the last call, as on a machine that slept. Return the
        words; empty if it did not."""
        before, self._awake = self._awake, self.view.node.clock.uptime()
        slept, now = 0 if before is None else self._awake - before, self.view.now().wall
        if slept < _STOOD_STILL:
            return ""
        words = cut_words("asleep", now - slept, now)
        for model in self.models.values():
            model.note(words, now)
        return words

    def add_talks(self, channel: str) -> None:
        """List the conversations of an earlier run that have unread messages or unacknowledged ones."""
        for peer in self.view.partners(channel):
            self.add_if_new(conversation_id(peer))

    def add_if_new(self, name: str) -> None:
        if name not in self.models:
            self.add(name)

    def remove(self, name: str) -> None:
        del self.models[name]
        self.order.remove(name)
        self.calls = [call for call in self.calls if call[0] != name]

    def show(self, name: str) -> ChannelModel:
        before = self.models.get(self.shown)
        if before is not None and self.shown != name:
            before.leave()
        self.shown = name
        if not peer_of(name):
            self.shown_last = name
        return self.models[name]

    def out_of_talk(self) -> str | None:
        """Return the channel to go back to from the conversation of two that is shown; None from a channel."""
        if not peer_of(self.shown):
            return None
        return self.shown_last if self.shown_last in self.models else self.models[self.shown].conversation.channel

    def hear(self, event: NodeEvent, looking: Callable[[str], bool], *, is_there: bool = True) -> bool:
        """Take an event. Return True if something has to be drawn. `is_there`: the user is at this window for sure."""
        if isinstance(event.body, HostingChanged):
            self.hosting = event.body.hosting
            for model in self.models.values():
                model.changes |= ModelChange.BADGES
        before = {name: model.mentions for name, model in self.models.items()} if _is_news(event) else None
        concerned = self.concerned(event)
        for model in concerned:
            model.hear(event, looking(model.name))
            if before is not None:
                self._attend(model, before.get(model.name, 0), event, is_there)
        return any(model.changes for model in concerned)

    def concerned(self, event: NodeEvent) -> list[ChannelModel]:
        """Return the models that an event concerns. A conversation that a participant begins is added to the list."""
        body = event.body
        if not event.channel:
            return list(self.models.values())
        if event.channel not in self.models:
            return []
        if isinstance(body, DirectSaid):
            name = conversation_id(body.to if body.own else body.sender_id)
            try:
                self.add_if_new(name)
            except ValueError:  # a recording has no direct messages
                return []
            return [self.models[name]]
        talks = [model for model in self.models.values() if isinstance(model, TalkModel)]
        message_id = getattr(body, "message_id", "")
        if message_id:  # the channel does not know the messages of its conversations
            owner = next((talk for talk in talks if talk.owns(message_id)), None)
            return [self.models[event.channel]] if owner is None else [owner]
        return [self.models[event.channel], *(talk for talk in talks if talk.is_about(event))]

    def _attend(self, model: ChannelModel, mentions_before: int, event: NodeEvent, is_there: bool) -> None:
        if self._level(model.name) == "none":
            return
        if model.mentions > mentions_before or (not is_there and _is_to_user(model, event)):
            self.ring = True
            self.calls = [*self.calls[1 - _CALLS :], (model.name, _message_id(event))]

    def counted(self, name: str) -> tuple[int, int]:
        """Return the numbers of unread messages and of mentions that the user wants to be told of."""
        model, level = self.models[name], self._level(name)
        if level == "none":
            return 0, 0
        return (0 if level == "mentions" else model.unread), model.mentions

    def health(self, name: str) -> Health:
        """Return how the state of a channel or conversation is marked."""
        model, secrecy = self.models[name], privacy(self.view.node, name)
        if self.view.node.cannot_save:
            return Health.BAD
        if secrecy is not None and secrecy.shut_out:
            return Health.BAD
        found = health(model.connection, model.conversation.sync(), model.history, model.refused)
        return Health.WAITS if found is Health.GOOD and secrecy is not None and secrecy.unconfirmed else found

    def unsent_words(self) -> str:
        """Return what becomes of messages that are not sent yet, for whoever leaves; empty if there are none."""
        waiting = sum(self.view.conversation(name).sync().queued for name in self.order)
        return unsent_words(self.view.unsaved_texts(), waiting)

    def unconfirmed_words(self) -> str:
        """Return how many own messages went out and nobody is known to have; empty if there are none."""
        if self.view.node.cannot_save:
            return ""  # they did not go out
        states = [self.view.conversation(name).sync() for name in self.order]
        return unconfirmed_words(sum(state.unacked - state.queued for state in states))

    def next_active(self) -> str | None:
        """Return the channel that needs attention most, except the one that is shown."""
        others = [name for name in self.order if name != self.shown]
        for wanted in (1, 0):
            for name in others:
                if self.counted(name)[wanted]:
                    return name
        return None

    def channels(self) -> list[str]:
        """Return the open channels, without conversations of two."""
        return [name for name in self.order if not peer_of(name)]

    def talks_only_of(self, channel: str) -> list[str]:
        """Return the conversations whose messages can go by no other open channel."""
        others = [name for name in self.channels() if name != channel]
        talks = [model for model in self.models.values() if isinstance(model, TalkModel)]
        return [talk.name for talk in talks if not any(map(talk.goes_by, others))]

    def reload(self) -> None:
        """Read the rows of all channels again: whose messages are shown has changed."""
        for model in self.models.values():
            model.reload()

    def watch_words(self) -> None:
        """Follow a change of the words, or of the own nick."""
        for model in self.models.values():
            model.watch_for(self._words)

    def take_calls(self) -> list[tuple[str, str]]:
        """Return conversation and id of the last messages to the user since this was last called."""
        found, self.calls = self.calls, []
        return found

    def take_ring(self) -> bool:
        found, self.ring = self.ring, False
        return found


def _message_id(event: NodeEvent) -> str:
    body = event.body
    found: str = body.said.message.message_id if isinstance(body, MessageDelivered) else getattr(body, "message_id", "")
    return found


def _is_to_user(model: ChannelModel, event: NodeEvent) -> bool:
    entry = model.timeline.entries.get(_message_id(event))
    return entry is not None and not entry.own and (entry.mention or bool(model.conversation.peer))


def _is_news(event: NodeEvent) -> bool:
    body = event.body
    return (isinstance(body, MessageDelivered) and not body.said.own) or (isinstance(body, DirectSaid) and not body.own)


_OF_BOTH: Final = (
    events.ConnectionChanged,
    events.SavingFailed,
    events.SavingResumed,
    events.PresenceChanged,
    NickClaimed,
    events.IdentityUsedElsewhere,
)


class TalkModel(ChannelModel):
    """Takes the events of its two participants, and of the connection of the channel by which their messages go."""

    def __init__(self, view: Conversations, name: str, words: Sequence[str] = ()) -> None:
        super().__init__(view, name, words)
        self._talk = view.direct(name)
        self._counted = self._talk.newest()  # key of the newest message that the first count of unread ones included

    def hear(self, event: NodeEvent, looking: bool) -> None:
        body = event.body
        match body:
            case DirectSaid(message_id):
                self._talk.refresh()
                self._talk.near(event.channel)
                self._gaps_stale = self._gaps_stale or bool(self.timeline.gaps) or bool(body.gap)
                shown = self._talk.message(message_id)
                if shown is not None and shown.key > self._counted:
                    self._take(shown, looking)
                self.changes |= ModelChange.BADGES
            case events.HandedOver(message_id) if self.owns(message_id):
                self._move(message_id, Fate(Phase.UNACKED))
            case ev.StateChanged(message_id, state, by) if state is AckState.ACKED and self.owns(message_id):
                self._talk.acknowledged(message_id)
                self._move(message_id, Fate(Phase.ACKED, frozenset(by)))
            case _ if isinstance(body, _OF_BOTH):
                super().hear(event, looking)
                self.changes |= ModelChange.BADGES

    def goes_by(self, channel: str) -> bool:
        """True if messages go by this channel now, or can because the other one is known there."""
        return channel == self._talk.channel or self._talk.reaches(channel)

    def is_about(self, event: NodeEvent) -> bool:
        """True for an event of the channel by which messages go, and if the other one comes or goes in any."""
        body = event.body
        if isinstance(body, events.PresenceChanged) and body.sender_id == self._talk.peer:
            return True
        return event.channel == self._talk.channel

    def owns(self, message_id: str) -> bool:
        """True if this is an own message of this conversation."""
        shown = self._talk.message(message_id)
        return shown is not None and shown.own

    @property
    def mentions(self) -> int:
        """Return the number of unread messages: every message here is for us alone."""
        return self.unread


_PAST, _HUES = "past", "hues"  # the names under which the store keeps the history of the input, and colours of nicks


class UserStateWriter:
    """Saves changes. If saving fails, it is tried again at the next save; the node reports the failure."""

    def __init__(self, view: Conversations, workspace: Workspace) -> None:
        self._view = view
        self._workspace = workspace
        self._drafts: dict[str, str] = {}
        self._saved: dict[str, str] = {}
        self._saved_hues = self.hues()

    def draft(self, channel: str) -> str:
        """Return the draft of this channel."""
        if channel not in self._drafts:
            self._drafts[channel] = self._saved[channel] = self._view.conversation(channel).draft()
        return self._drafts[channel]

    def set_draft(self, channel: str, text: str) -> None:
        if channel:
            self._drafts[channel] = text

    def save(self) -> None:
        """Save drafts, read marks and the nicks of silent participants that have changed."""
        for name, text in self._drafts.items():
            if text != self._saved.get(name, "") and self._view.conversation(name).set_draft(text):
                self._saved[name] = text
        for model in self._workspace.models.values():
            model.save_mark()
            if not model.conversation.peer:
                self._view.channel(model.name).keep_nicks()

    def input_history(self) -> list[str]:
        """Return the texts sent in earlier runs, newest last."""
        try:
            kept = json.loads(self._view.value(_PAST) or "[]")
        except ValueError:
            return []
        return [text for text in kept if isinstance(text, str)] if isinstance(kept, list) else []

    def hues(self) -> dict[str, int]:
        """Return the places of the colours that participants had in earlier runs, by sender id."""
        try:
            kept = json.loads(self._view.value(_HUES) or "{}")
        except ValueError:
            return {}
        return {one: at for one, at in kept.items() if isinstance(at, int)} if isinstance(kept, dict) else {}

    def save_hues(self, hues: Mapping[str, int]) -> None:
        if hues != self._saved_hues and self._view.set_value(_HUES, json.dumps(hues)):
            self._saved_hues = dict(hues)

    def save_input_history(self, texts: list[str]) -> None:
        if texts != self.input_history():
            self._view.set_value(_PAST, json.dumps(texts, ensure_ascii=False))
