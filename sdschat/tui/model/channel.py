"""The model of one channel: rows in memory, unread messages, states of own messages, gaps.

`hear` takes the events of the node; the widgets read rows and counts. `changes` collects the parts that changed since
`take_changes` was last called.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from sdschat.node import events
from sdschat.node.events import CatchingUp, KeyMet, NickChanged, NickClaimed, NodeEvent, ev
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.private import is_only_member, members_of_these
from sdschat.node.view.tags import are_alike
from sdschat.node.view.values import AckState, Key, Shown, shown_of
from sdschat.tui.model import history
from sdschat.tui.model.event_notes import DETAIL, kept_note, left_over, note_of
from sdschat.tui.model.from_events import phase_of
from sdschat.tui.model.items import Fate, MessageItem, NoteItem, Phase, Tone, gap_items
from sdschat.tui.model.late import LateMessages
from sdschat.tui.model.members import HEARD, MembersLines, journey_of
from sdschat.tui.model.message_rows import MessageRows
from sdschat.tui.model.namesakes import Namesakes
from sdschat.tui.model.own_fates import OwnFates
from sdschat.tui.model.status import cut_words, fate_sentence
from sdschat.tui.model.timeline import ModelChange, ProgramLines, Timeline
from sdschat.tui.model.unread_line import UnreadLine
from sdschat.tui.model.words import clean, clean_name

PAGE: Final = 200  # messages read from the database at a time
_REFUSED: Final = frozenset({"too_large", "refused", "queue_full"})
_BLINK: Final = 3_000  # milliseconds; of a shorter cut nothing stays in the log


class ChannelModel:
    """The model of a channel. Its size is bounded, however long the log is."""

    def __init__(self, view: Conversations, name: str, words: Sequence[str] = ()) -> None:
        self.view = view
        self.name = name
        self.conversation = conversation = view.conversation(name)
        self.timeline = Timeline()
        self.loaded = False
        self.changes = ModelChange.NOTHING
        connected = view.connected(conversation.channel)
        self.connection = events.ConnectionChanged("connected" if connected else "connecting", "")
        self.live_since = view.now().wall
        self._cut_at: int | None = None  # when the connection was lost; None: it is there, or never was
        self.unread_line = UnreadLine(conversation.read_mark(), self.live_since)
        self.late = LateMessages()
        self.selected: str | None = None
        self.refused = ""  # the reason for which the broker took nothing from us last; empty: it takes what we send
        self.history: CatchingUp | None = None  # progress of fetching the history; None: none was fetched
        self.hits: list[Key] = []  # keys of the messages that the last search found, oldest first
        self.total = self.hit_at = 0
        self.present: tuple[str, ...] = ()  # ids of the others who are here, by name, as in the list of people
        self.fates = OwnFates(lambda ids: members_of_these(view.node, conversation.channel, ids))
        self._rows = MessageRows(view, conversation, self.timeline, self.fates, self.late, words)
        if unread := conversation.unread():
            self.unread_line.start(self._rows.after(conversation.read_mark(), unread + PAGE), unread)
        self._gaps_stale = True
        self._lines, self._namesakes = ProgramLines(self.timeline), Namesakes(view)
        self._members = MembersLines(self)
        self._look_around()

    def watch_for(self, words: Sequence[str]) -> None:
        """Mark what has one of these words, or the nick of now, as said to the user."""
        self._rows.watch_for(words)
        self.reload()

    # Reading the log.

    def reload(self) -> None:
        """Read the rows again, since something about them or their authors has changed."""
        if self.loaded:
            self.timeline.replace_all((), at_start=True, at_end=True)  # none of the old rows is quoted
            self.open_at_end()

    def open_at_end(self) -> None:
        """Read the newest rows."""
        self.total = self.conversation.count()
        found = self.conversation.messages(limit=PAGE)
        self.timeline.replace_all(self._entries(found), at_start=len(found) < PAGE, at_end=True)
        self._loaded()

    def open_around(self, key: Key) -> None:
        """Read the rows on both sides of a place in the log."""
        above = self.conversation.messages(before=key, limit=PAGE // 2)
        below = self.conversation.messages(after=(key[0], key[1][:-1] if key[1] else ""), limit=PAGE)
        below = [shown for shown in below if shown.key >= key]
        self.timeline.replace_all(
            self._entries([*above, *below]), at_start=len(above) < PAGE // 2, at_end=len(below) < PAGE // 2
        )
        self._loaded()

    def _loaded(self) -> None:
        self.loaded = self._gaps_stale = True
        self.changes |= ModelChange.ROWS

    def read_before(self) -> int:
        """Read more rows above. Return the number of messages read."""
        first = self.timeline.first_key()
        if self.timeline.at_start or first is None:
            return 0
        found = self.conversation.messages(before=first, limit=PAGE)
        self.timeline.extend_before(self._entries(found), len(found) < PAGE)
        self._loaded()
        return len(found)

    def read_after(self) -> int:
        """Read more rows below. Return the number of messages read."""
        last = self.timeline.last_key()
        if self.timeline.at_end or last is None:
            return 0
        found = self.conversation.messages(after=last, limit=PAGE)
        self.timeline.extend_after(self._entries(found), len(found) < PAGE)
        self._loaded()
        return len(found)

    def _entries(self, found: list[Shown]) -> list[MessageItem]:
        return [self._rows.full(shown) for shown in found]

    def entry_for(self, shown: Shown) -> MessageItem:
        """Return the row of a message, also if it is not in memory now."""
        return self.timeline.entries.get(shown.message_id) or self._rows.full(shown)

    def told_of(self, entry: MessageItem) -> str:
        """Return everything about the delivery of an own message; empty for one of another."""
        if entry.fate is None:
            return ""
        conversation, now = self.conversation, self.view.now().wall
        own, people = conversation.own(entry.message_id), conversation.people()
        only, connected = is_only_member(self.view.node, self.name), self.connection.state == "connected"
        partner, way = conversation.partner(), journey_of(conversation, entry.message_id)
        return fate_sentence(entry, entry.fate, own, people, now, partner, way, only_member=only, connected=connected)

    def name_of(self, sender_id: str | None, nick: str = "") -> str:
        """Return the name of a participant, as rows show it."""
        return self._rows.name_of(sender_id, nick)

    # Events of the node.

    def hear(self, event: NodeEvent, looking: bool) -> None:
        """Take an event of this channel or of the whole node. `looking`: the user sees the end of this log now."""
        match body := event.body:
            case events.MessageDelivered():
                self._delivered(body, event.time, looking)
            case events.HandedOver() | events.SendingResumed():
                if self.refused:
                    self.refused = ""
                    self.changes |= ModelChange.BADGES | ModelChange.CONNECTION
                if isinstance(body, events.HandedOver):
                    self._move(body.message_id, Fate(Phase.UNACKED))
            case events.NotPublished(message_id, failure, detail):
                self._not_published(message_id, failure, detail)
            case ev.StateChanged(message_id, state, by, _, _, perhaps, unproven):
                if state is not AckState.UNACKED or unproven:
                    self._move(
                        message_id, Fate(phase_of(state), frozenset(by), frozenset(perhaps), frozenset(unproven))
                    )
            case events.ConnectionChanged():
                self._connection(body, event.time)
            case events.PresenceChanged() | events.MembersChanged() | KeyMet() | NickChanged():
                self.changes |= ModelChange.PEOPLE
                self._look_around(anew=isinstance(body, events.MembersChanged))
                if isinstance(body, events.MembersChanged):
                    self._members.hear_of_removal(body, event.time)
                self._note_event(body, event.time)
            case _:
                self._hear_rarer(body, event.time, looking)

    def _hear_rarer(self, body: events.EventBody, at: int, looking: bool) -> None:
        match body:
            case (
                ev.DependenciesMissing()
                | ev.DependenciesLost()
                | ev.GapClosed()
                | ev.RepairWanted()
                | ev.RepairRequested()
                | ev.RepairCancelled()
            ):
                self._gaps_stale = True
                self.changes |= ModelChange.ROWS | ModelChange.BADGES
            case CatchingUp():
                self.history = body
                self._gaps_stale = True
                self.changes |= ModelChange.ROWS | ModelChange.BADGES
            case events.OwnOverLimit() | events.OverLimit() | events.SaidTwoThings() | ev.ClockAhead():
                self._lines.say_kept(kept_note(body, self.name_of), at)
                self.changes |= ModelChange.ROWS
            case events.StrangersChanged(keys, messages, opened):
                if opened:
                    self.reload()
                self._lines.say_strangers(keys, messages, at)
                self.changes |= ModelChange.PEOPLE | ModelChange.ROWS
            case ev.SyncReceived() | ev.SyncSent():
                self.changes |= ModelChange.BADGES | ModelChange.PEOPLE
            case events.OperationsReworded(message_ids):
                self._read_again(message_ids)
            case events.MessageWithheld(message_id):
                self.unread_line.drop(message_id)
                if message_id in self.timeline.entries or self.timeline.at_end:
                    self.reload()
            case _ if isinstance(body, HEARD):
                self._members.hear(body, at, looking)
            case events.Joined(known=known) if known:
                if (found := left_over(self.conversation, known, at)) is not None:
                    self.note(found[0], at, found[1])
            case _:
                self._note_event(body, at)

    def _note_event(self, body: events.EventBody, at: int) -> None:
        """Add the line for an event that nothing else shows."""
        line = self._namesakes.line(body)
        if line is None and (not isinstance(body, NickClaimed) or self._namesakes.tells_more(body)):
            line = note_of(body, self.name_of)
        if line is not None:
            self.note(line[0], at, line[1])
        if isinstance(body, events.EpochChanged | events.NotAMember | events.SavingFailed | events.SavingResumed):
            self.changes |= ModelChange.BADGES
        if isinstance(body, NickChanged | NickClaimed | events.PresenceChanged):
            self._tag_rows(body.nick if isinstance(body, events.PresenceChanged) else None)

    def _tag_rows(self, nick: str | None) -> None:
        """Show ids beside the nicks that two keys go by now. `nick`: of those that look like it; None: of all."""
        for entry in [*self.timeline.entries.values()]:
            concerned = nick is None or are_alike(entry.nick, nick)
            if concerned and (tag := clean_name(self.view.tag_of(entry.sender_id, entry.nick))) != entry.tag:
                self.replace_row(replace(entry, tag=tag))

    def _delivered(self, body: events.MessageDelivered, at: int, looking: bool) -> None:
        shown = shown_of(body.said, at, body.via)
        history = shown.via != "live" and shown.lamport < self.live_since  # older history is not late
        if body.late and not shown.own and not history:
            self.late.add(shown.message_id)
        self._gaps_stale = self._gaps_stale or bool(self.timeline.gaps) or bool(body.gap)
        self._take(shown, looking)

    def _take(self, shown: Shown, looking: bool) -> None:
        """Take a message that is new here."""
        if shown.own and self.conversation.remembered(shown.message_id) is not None:
            self.fates.queued(shown.message_id)  # else another device of ours wrote it, and others have it
        self.total += 1
        entry = self._rows.full(shown) if self.loaded else self._rows.plain(shown)
        if self.loaded:
            self.replace_row(entry)
        self._count_new(entry, looking)
        self.changes |= ModelChange.BADGES

    # Members' channels.

    def now_of_members(self) -> None:
        """Follow a channel that turned out to be one of members."""
        self.conversation = self._rows.conversation = self.view.conversation(self.name)
        self.reload()

    def take_post(self, post: events.MemberPost, looking: bool, *, late: bool) -> None:
        """Take a post that is new here. Of our own ones the row is there since they were written."""
        shown = self.conversation.message(post.message_id)
        if shown is None or shown.hidden:
            return
        if late or post.own or post.message_id in self.timeline.entries:
            self.reload()
            self._count_new(self.entry_for(shown), looking)
        else:
            self._take(shown, looking)

    def _read_again(self, message_ids: Iterable[str]) -> None:
        """Show rows of the log as they are now."""
        for message_id in message_ids:
            shown = self.conversation.message(message_id) if message_id in self.timeline.entries else None
            if shown is not None:
                self.replace_row(self._rows.full(shown))

    def replace_row(self, entry: MessageItem) -> None:
        self.timeline.put(entry)
        self.changes |= ModelChange.ROWS

    def drop_note(self, line: NoteItem) -> None:
        self.timeline.remove(line)
        self.changes |= ModelChange.ROWS

    def people_changed(self) -> None:
        self.changes |= ModelChange.PEOPLE | ModelChange.BADGES

    def _count_new(self, entry: MessageItem, looking: bool) -> None:
        """Count a message of another as unread until it was on the screen."""
        if not entry.own:  # of a conversation that was not looked at yet, nothing is in memory
            rows = self.timeline.messages() if self.loaded else self._rows.above(entry.key)
            self.unread_line.add(entry, rows, looking=looking)

    @property
    def unread(self) -> int:
        return self.unread_line.unread

    @property
    def mentions(self) -> int:
        return self.unread_line.mentions

    def next_late(self) -> str | None:
        """Return the oldest late message that the user has not jumped to, which they do now."""
        if self.late.unseen:
            self.changes |= ModelChange.BADGES
        return self.late.next()

    def _move(self, message_id: str, to: Fate) -> None:
        self._replace_changed(self.fates.move(message_id, to, self.timeline.entries.get(message_id)))

    def _not_published(self, message_id: str, failure: str, detail: str) -> None:
        if failure == "refused":
            self.refused = clean(detail, limit=DETAIL)
            self.changes |= ModelChange.BADGES | ModelChange.CONNECTION
        if message_id and failure in _REFUSED:
            self._replace_changed(self.fates.refuse(message_id, detail, self.timeline.entries.get(message_id)))

    def _replace_changed(self, row: MessageItem | None) -> None:
        if row is not None:
            self.replace_row(row)

    def _connection(self, body: events.ConnectionChanged, at: int) -> None:
        if body.state == "connected" and self.connection.state != "connected":
            if self._cut_at is None:  # what was said during a cut comes late
                self.live_since = at
            elif at - self._cut_at >= _BLINK:
                self.note(cut_words("offline", self._cut_at, at), at)
            self._cut_at = None
        elif self.connection.state == "connected" and body.state != "connected":
            self._cut_at = at
        self.connection = body
        self._look_around(anew=True)
        self._gaps_stale = True
        self.changes |= ModelChange.CONNECTION | ModelChange.BADGES | ModelChange.ROWS

    def _look_around(self, *, anew: bool = False) -> None:
        """Note who else is here now, in a private channel of its members alone. Without a connection it stays as it
        was: nobody can come or leave. `anew`: members may have been removed as well."""
        present = self.conversation.present()
        if self.connection.state != "connected" or (present == self.present and not anew):
            return
        self.present = present
        for message_id in self.fates.gathered(present):
            if (row := self.timeline.entries.get(message_id)) is not None:
                self.replace_row(replace(row, fate=self.fates.of(message_id)))
        self.changes |= ModelChange.ROWS

    # Lines of the program.

    def note(self, text: str, at: int, tone: Tone = Tone.INFO, below: Key | None = None) -> NoteItem:
        """Add a line of the program below the row with this key, else below the newest one, and return it."""
        self.changes |= ModelChange.ROWS
        return self._lines.add(text, at, tone, below)

    # Keeping up.

    def refresh_gaps(self, always: bool = False) -> None:
        """Put the gaps in their places of now. Cheap if there are none."""
        if not self.loaded:
            return
        top = history.top_line(self.view, self.name, self.conversation, self.timeline, self.history, self.live_since)
        self.timeline.set_mark(top)
        if not (self._gaps_stale or always):
            return
        self._gaps_stale = False
        missing, lost, before = self.conversation.missing(), self.conversation.lost(), self.timeline.version
        if missing or lost or self.timeline.gaps:
            self.timeline.set_gaps(gap_items(missing, lost, list(self.timeline.messages()), self.name_of))
        if self.timeline.version != before:
            self.changes |= ModelChange.ROWS

    def seen(self) -> None:
        """Count everything as read. The unread line stays until another channel is shown."""
        if self.unread_line.see_all():
            self.changes |= ModelChange.BADGES

    def see(self, ids: Collection[str]) -> None:
        """Count as read what is on the screen. What is above or below it stays unread."""
        if self.late.see(ids):
            self.changes |= ModelChange.BADGES
        if self.unread_line.see(ids, self.timeline.messages()):
            self.changes |= ModelChange.BADGES | ModelChange.ROWS

    def leave(self) -> None:
        """Forget the unread line, because another channel is shown now, unless something is unread."""
        if not self.unread:
            self.unread_line.forget()

    def save_mark(self) -> None:
        """Save the place up to which the log is read. Raises StoreError."""
        newest = self.timeline.last_key() if self.timeline.at_end else None
        if self.loaded and (read := self.unread_line.read_now(self.conversation, newest)) is not None:
            self.conversation.mark_read(read)

    def take_changes(self) -> ModelChange:
        found, self.changes = self.changes, ModelChange.NOTHING
        return found
