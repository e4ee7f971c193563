"""The application line by line: for screen readers, simple terminals and logs. It has the same commands.

A line of the program begins with `*`, a message with its time, and every further line of a message with four spaces:
nothing that somebody writes can look like a line of the program.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, TextIO

from sdschat.node.events import (
    CatchingUp,
    CheckpointPassed,
    ConnectionChanged,
    DirectSaid,
    MessageDelivered,
    NickChanged,
    NodeEvent,
    PresenceChanged,
    StrangersChanged,
    ev,
)
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.values import conversation_id, shown_of
from sdschat.tui.commands.loader import load
from sdschat.tui.host import Host
from sdschat.tui.input_handler import InputHandler
from sdschat.tui.model import history
from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.items import MessageItem, NoteItem, Phase, gap_words
from sdschat.tui.model.results import CommandError, Page
from sdschat.tui.model.words import ASCII, apart, count, day, day_number, nick_text, short
from sdschat.tui.model.workspace import UserStateWriter
from sdschat.tui.notifier import LineAlerts
from sdschat.tui.plain.lens import SHOWN_AT_START, PlainLens, PlainLog
from sdschat.tui.plain.lines import INDENT, ConnectionLines, StateLines, beginning, below, entry_line, folded, width_of
from sdschat.tui.plain.posts import PostLines
from sdschat.tui.preferences import Preferences

_SILENT: Final = 6.0  # seconds after which it is told that nobody is known to have a message
_MUCH: Final = 200  # messages of before: fetching fewer takes a moment


class PlainHost(Host):
    """The host of commands on two streams."""

    glyphs = ASCII
    has_keys = False

    def __init__(
        self,
        view: Conversations,
        channels: Sequence[str],
        preferences: Preferences,
        out: TextIO,
        write: Callable[[str], object] | None = None,
    ) -> None:
        """`write`: writes lines, above what is half typed; without it they go to `out`."""
        super().__init__(view, preferences, load())
        self.log_view = PlainLog(self, self.say_entries)
        self.lens = PlainLens(self)
        self.input_handler = InputHandler(self)
        self.ended = asyncio.Event()
        self._out = out
        self._write = write or out.write
        self._wanted = list(channels)
        self._day = 0
        self._told: dict[str, int] = {}
        self._connection = ConnectionLines()
        self._renamed: set[tuple[str, str]] = set()  # those whose new nick was told, by channel and sender id
        self._here: dict[tuple[str, str], str] = {}  # names that were written, by channel and sender id
        self._states = StateLines()
        self._history: dict[str, str] = {}
        self._much: set[str] = set()  # channels of which so much history comes in that its messages are not written
        self._to_user: Counter[str] = Counter()  # messages to the user in the history that came, by channel
        self._answers: set[str] = set()  # conversations of two of which it was told how to answer
        self._waiting: set[str] = set()  # channels of which it was told that a message waits for somebody
        self._alerts = LineAlerts(self, out, self._write)
        self._posts = PostLines(
            lambda model, entry: self._say_entry(entry, model.name),
            lambda model, text: self._tell_of(model.name, text),
            lambda model, message_id: self._say_state(model.name, model, message_id),
        )

    # The rest of `Host`.

    def show_notice(self, text: str) -> None:
        for line in filter(str.strip, text.split("\n")):  # an empty line would be read out as a star
            self.say(f"* {line}")

    def answer(self, text: str, title: str, renew: Callable[[], str] | None = None, *, stays: bool = False) -> None:
        self.show_notice(text)

    def show_pages(self, pages: Sequence[Page], title: str) -> None:
        self.show_notice("\n".join(next(page.lines for page in pages if page.title == title)))

    def warn(self, text: str) -> None:
        self.show_notice(text)

    def open_channel(self, name: str) -> str:
        opened = super().open_channel(name)
        for each in self.order:
            if not self.workspace.models[each].loaded:
                self.workspace.models[each].open_at_end()
        self._posts.take_queued(self.workspace.models[opened])
        return opened

    async def close_channel(self, name: str) -> None:
        self.save()
        self.workspace.remove(name)
        if self.workspace.shown == name:
            self.show_channel(self.workspace.order[0])
        await self.view.part(name)

    def show_channel(self, name: str) -> None:
        model = self.workspace.show(name)
        if not model.loaded:
            model.open_at_end()
        unread = f", {model.unread_line.counted} unread" if model.unread else ""
        peer = model.conversation.peer
        kind = "conversation" if peer else "channel"
        self.show_notice(f"{kind} {self.label(name)}: {count(model.conversation.count(), 'message')}{unread}")
        if peer:
            back = self.label(self.workspace.out_of_talk() or model.conversation.channel)
            self.show_notice(f"Only {self.label(name)[1:]} reads what you write now. /go {back} shows {back} again.")
        elif len(self.order) > 1:
            self.show_notice(f"You write in {self.label(name)} now.")
        self.say_entries(list(model.timeline.messages())[-SHOWN_AT_START:])
        if model.unread:
            left = f"{model.unread_line.counted} unread above these"
            self.show_notice(f"{left}: /unread lists them from the first, /end counts all as read.")

    def send(self, text: str, *, action: bool = False, reply_to: str = "") -> None:
        shown = self.conversation.message(reply_to) if reply_to else None
        super().send(text, action=action, reply_to=reply_to)
        self.model.seen()
        self.save()  # whoever writes has read: a killed program remembers it too
        self.model.selected = None  # no mark on the screen would say that later commands still mean it
        if shown is not None:
            entry = self.model.entry_for(shown)
            who = self.model.name_of(entry.sender_id, entry.nick)
            self.show_notice(f"this answers message {short(reply_to)} by {who}: {beginning(entry.text)}")

    def copy(self, text: str, what: str) -> None:
        self.show_notice(f"{what}:")
        self.show_notice(text)

    def show_secret(self, text: str, title: str, words: str, picture: Sequence[str]) -> None:
        self.show_notice(words)  # no picture, which would be read out sign by sign
        self._write(f"{INDENT}{text}\n")

    def leave(self) -> None:
        self.ended.set()

    def save(self) -> None:
        """Save how far each channel was read, and the nicks of silent participants."""
        UserStateWriter(self.view, self.workspace).save()

    # A screen, which this host has not.

    def split(self, name: str | None) -> None:
        raise CommandError("There is no screen to split. Lines of all open channels come in here anyway.")

    async def edit_draft(self, text: str) -> None:
        raise CommandError("An editor needs the screen. Alt+Enter begins a new line here.")

    def mark(self, words: str) -> None:
        """Do nothing: words are not marked here."""

    def show_bare(self, argument: str) -> None:
        raise CommandError("This is as bare as it gets.")

    def restyle(self) -> None:
        """Do nothing: there are no colours."""

    def apply_keys(self) -> None:
        """Do nothing: there are no keys."""

    def key_table(self) -> list[tuple[str, str, str]]:
        return []

    # Lines out.

    def say(self, line: str) -> None:
        self._write(folded(line, width_of(self._out)) + "\n")

    def say_entries(self, entries: Sequence[MessageItem]) -> None:
        """Write messages that were asked for, with the beginnings of their ids."""
        for entry in entries:
            self._say_entry(entry, "", with_id=True)
        self.model.see({entry.message_id for entry in entries})

    def _say_entry(self, entry: MessageItem, channel: str, *, with_id: bool = False) -> None:
        if day_number(entry.at) != self._day:
            self._day = day_number(entry.at)
            self.say(f"* {day(entry.at)}")
        named = self._named(channel) or (bool(channel) and entry.own and len(self.order) > 1)
        model = self.workspace.models[channel or self.shown]
        self.say(entry_line(entry, model, self.label(channel) if named else "", with_id=with_id))

    def _named(self, channel: str) -> bool:
        return bool(channel) and channel != self.workspace.shown

    # Events in.

    def start(self, problems: Sequence[str] = ()) -> None:
        for problem in problems:
            self.show_notice(problem)
        self.node.listen(self.hear)
        for name in self._wanted:
            self.open_channel(name)
        self.show_channel(self.workspace.order[0])
        if self.node.settings.timing != "spec":
            self.show_notice(f"timing: {self.node.settings.timing}")
        for name in self.workspace.order:
            faults = self.view.faults(self.models[name].conversation.channel)
            if faults:
                self.show_notice(f"{self.label(name)}: FAULTS ON: {faults}")
        name = nick_text(self.node.nick)
        self.show_notice(f"You are {name}. What you write goes to the channel named last. /help lists the commands.")
        self.show_notice("/who lists who is here, /why tells if your last message arrived, /quit leaves.")
        self.workspace.watch_sleep(self.show_notice)

    def hear(self, event: NodeEvent) -> None:
        """Take an event of the node, and write what it tells."""
        body = event.body
        written = not (isinstance(body, MessageDelivered) and body.via != "live" and event.channel in self._much)
        self.workspace.hear(event, lambda name: written and name == self.workspace.shown, is_there=False)
        if self.workspace.shown:  # none is, while the first channel is opened: our joining by a link is told there
            self.model.unread_line.see_drawn()
        self.text_log.hear(event)
        model = next(iter(self.workspace.concerned(event)), None) if event.channel else None
        name = event.channel if model is None else model.name
        if isinstance(body, MessageDelivered) and model is not None:
            shown = shown_of(body.said, event.time, body.via)
            entry = model.entry_for(shown)
            if written:
                self._say_entry(entry, name)
            self._to_user[name] += entry.mention and body.via != "live"
            if entry.own:
                self._watch(model, entry)
        elif isinstance(body, StrangersChanged) and model is not None:
            self.say_entries([entry for entry in model.timeline.messages() if entry.sender_id in body.opened])
        elif isinstance(body, DirectSaid) and model is not None:
            self._say_direct(model, body.message_id)
        elif isinstance(body, CatchingUp) and body.state in ("loading", "paused", "done"):
            self._say_history(name, body)
        elif isinstance(body, PresenceChanged):
            self._say_presence(name, body)
            if model is not None and not body.online:
                self.view.channel(model.conversation.channel).keep_nicks()
        elif isinstance(body, ConnectionChanged) and model is not None:
            self._say_connection(name, model, event.time)
        elif isinstance(body, ev.StateChanged) and model is not None:
            self._say_state(name, model, body.message_id)
        elif isinstance(body, ev.RepairWanted | ev.DependenciesLost) and model is not None:
            self._say_gaps(name, model)
        elif model is not None:
            self._posts.hear(model, body)
        if isinstance(body, CheckpointPassed) and model is not None:
            self._skip_notes(model)  # the line that moves with the checkpoint would be written at each move
        elif isinstance(body, NickChanged) and model is not None and (name, body.sender_id) in self._renamed:
            self._renamed.remove((name, body.sender_id))
            self._skip_notes(model)  # it was told when their presence said so
        for each in self.workspace.models.values():
            self._say_notes(each)
        self._alerts.tell()

    def _say_presence(self, name: str, told: PresenceChanged) -> None:
        """Write who comes and goes, and the nick of somebody who came without one, once each."""
        nick, model = nick_text(told.nick), self.models.get(name)
        who = model.name_of(told.sender_id, nick) if nick and model is not None else nick
        who = apart(who) or f"<{short(told.sender_id, 8)}>"
        key = (name, told.sender_id)
        self._waiting -= {name, conversation_id(told.sender_id)}
        before = self._here.pop(key, "")
        session = self.node.sessions.get(name)
        if not before and session is not None and session.is_outsider(told.sender_id):
            return  # most of them are members a moment later, with a nick
        if told.online:
            self._here[key] = who
        if not told.online or not before:
            self._tell_of(name, f"{who} is {'here' if told.online else 'gone'}")
        elif who != before and before.startswith("<"):
            self._tell_of(name, f"{before} is {who}")
        elif who != before:
            self._renamed.add(key)
            self._tell_of(name, f"{before} is now known as {who}")

    def _say_direct(self, model: ChannelModel, message_id: str) -> None:
        if not model.loaded:
            model.open_at_end()
        entry = model.timeline.entries.get(message_id)
        if entry is not None:
            self._say_entry(entry, model.name)
            if entry.own:
                self._watch(model, entry)
            elif model.name not in self._answers and model.name != self.workspace.shown:
                self._answers.add(model.name)
                nick = self.label(model.name)[1:]
                self.say(f"* Only you and {nick} read that. /msg {nick} TEXT answers.")

    def _say_history(self, name: str, what: CatchingUp) -> None:
        """Write when history has come, or is not fetched any further; that it is being fetched if there is much."""
        before = self._history.get(name, "done")
        self._history[name] = what.state
        if what.state == "loading" and what.total >= _MUCH:
            self._much.add(name)
        if before == what.state or (what.state == "loading" and what.total < _MUCH):
            return
        if what.state != "done":
            self._tell_of(name, history.sentence(what, what.since).replace(" | ", "; "))
        elif what.total:
            to_user = self._to_user.pop(name, 0)
            those = f", {to_user} to you: /mentions lists them" if to_user else ""
            last = "; /end lists the last ones" if name in self._much else ""
            self._tell_of(name, f"what was said before is here: {count(what.total, 'message')}{those}{last}")
            self._much.discard(name)

    def _tell_of(self, channel: str, text: str) -> None:
        """Write a line of the program about a channel. Further lines of a text that it quotes are not like one."""
        place = f"{self.label(channel)}: " if self._named(channel) else ""
        self.say(f"* {place}{below(text)}")

    def _say_connection(self, name: str, model: ChannelModel, at: int) -> None:
        """Write a change of the connection, once for all channels; the line says what the note of each would."""
        self._skip_notes(model)
        line = self._connection.line(model.connection, at)
        if line and any(
            each.connection.state == "connected" for each in self.workspace.models.values() if each != model
        ):
            self._tell_of(name, line)
        elif line:
            self.say(f"* {line}")

    def _say_state(self, name: str, model: ChannelModel, message_id: str) -> None:
        entry = model.timeline.entries.get(message_id)
        fate = None if entry is None else entry.fate
        words = "" if fate is None else self._states.words(message_id, fate, model.present)
        if entry is not None and words:
            self._waiting.discard(name)
            self._tell_of(name, f"{words}: your message {short(message_id)}, {beginning(entry.text)}")

    def _watch(self, model: ChannelModel, entry: MessageItem) -> None:
        """Look after some seconds if anybody is known to have an own message."""
        asyncio.get_running_loop().call_later(_SILENT, self._say_waiting, model, entry)

    def _say_waiting(self, model: ChannelModel, entry: MessageItem) -> None:
        """Write that nobody is known to have a message: silence looks like success. It is told once, until somebody is
        known to have one of ours, or comes or goes."""
        fate = model.fates.of(entry.message_id)
        if fate is None or fate.word or model is not self.models.get(model.name):
            return
        if fate.phase is Phase.QUEUED:
            self._watch(model, entry)
        elif fate.phase is Phase.UNACKED and model.name not in self._waiting:
            self._waiting.add(model.name)
            peer = self.label(model.name)[1:] if model.conversation.peer else ""
            why = f"{peer or 'nobody'} is {'not ' if peer else ''}known to have it yet"
            if not model.present:
                why = f"{f'{peer} is not' if peer else 'nobody else is'} here, so it waits"
            self._tell_of(model.name, f"{why}: your message {short(entry.message_id)}, {beginning(entry.text)}")

    def _say_gaps(self, name: str, model: ChannelModel) -> None:
        known = set(model.timeline.gaps)
        model.refresh_gaps(always=True)
        for message_id, gap in model.timeline.gaps.items():
            if message_id not in known or gap.lost:
                self._tell_of(name, f"{short(message_id)}: {gap_words(gap, self.view.now().wall)}")

    def _say_notes(self, model: ChannelModel) -> None:
        """Write the notes of the program that were not written yet."""
        for item in model.timeline.items:
            if isinstance(item, NoteItem) and item.number > self._told.get(model.name, 0):
                self._told[model.name] = item.number
                self._tell_of(model.name, item.text)

    def _skip_notes(self, model: ChannelModel) -> None:
        """Leave out the notes that were not written yet."""
        numbers = (item.number for item in model.timeline.items if isinstance(item, NoteItem))
        self._told[model.name] = max(numbers, default=self._told.get(model.name, 0))
