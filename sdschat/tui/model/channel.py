"""The model of one channel: rows in memory, unread messages, states of own messages, gaps.

`hear` takes the events of the node; the widgets read rows and counts. `changes` collects the parts that changed since
`take_changes` was last called.
"""

from __future__ import annotations

from enum import Flag, auto
from typing import Final

from sdschat.node import events
from sdschat.node.events import KeyMet, NickChanged, NickClaimed, NodeEvent, ev
from sdschat.node.store_client.events import StoreLeft
from sdschat.node.sync.events import BodiesFetched, CatchingUp
from sdschat.node.view.conversation import Conversation
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.members import MembersConversation
from sdschat.node.view.private import privacy
from sdschat.node.view.values import AckState, Key, Shown, shown_of
from sdschat.node.view.verifying import is_verified
from sdschat.tui.model import history
from sdschat.tui.model.cleaning import clean, nick_text, short
from sdschat.tui.model.from_events import entry_of, mention_of, phase_of
from sdschat.tui.model.gaps import gap_items, gap_words
from sdschat.tui.model.items import Fate, MessageItem, NoteItem, Phase, Quote, Tone, first_line, tail_key
from sdschat.tui.model.members import HEARD, MembersLines, members_fate
from sdschat.tui.model.timeline import Timeline
from sdschat.tui.model.words import (
    author_gap_words,
    bodies_words,
    count,
    duration,
    ordinal,
    over_limit_words,
    own_over_limit_words,
)

_STALE: Final = 15 * 60_000  # milliseconds; the user no longer expects an older message to be sent


def left_over(conversation: Conversation, known: int, now: int) -> tuple[str, Tone]:
    """Return the text with their number, and its tone. If they are old, it also says their age, as an alert."""
    text = f"{count(known, 'message')} of yours from before not acknowledged yet"
    shown = (conversation.message(message_id) for message_id in conversation.open_messages())
    oldest = next((message for message in shown if message is not None), None)
    age = 0 if oldest is None else now - oldest.received_at
    if age < _STALE:
        return text, Tone.INFO
    since = "written" if known == 1 else "the oldest written"
    return f"{text}, {since} {duration(age)} ago; what was never sent goes out now: /outbox lists it", Tone.ALERT


PAGE: Final = 200  # messages read from the database at a time
_REFUSED: Final = frozenset({"too_large", "refused", "queue_full"})
_QUOTED: Final = 80
_DETAIL: Final = 300
_LATE_KEPT: Final = 1000

_KEYS_AND_NUMBERS: Final = (
    events.IdentityUsedElsewhere,
    events.DeviceRenewed,
    events.AuthorGapFound,
    events.AuthorGapClosed,
    events.SaidTwoThings,
)


class ModelChange(Flag):
    """The parts of the screen that have to be drawn again."""

    NOTHING = 0
    ROWS = auto()  # rows of the log
    BADGES = auto()  # unread counts and sync state
    PEOPLE = auto()
    CONNECTION = auto()


class ChannelModel:
    """The model of a channel. Its size is bounded, however long the log is."""

    def __init__(self, view: Conversations, name: str) -> None:
        self.view = view
        self.name = name
        self.conversation = conversation = view.conversation(name)
        self.timeline = Timeline()
        self.loaded = False
        self.changes = ModelChange.NOTHING
        state = "connected" if view.connected(conversation.channel) else "connecting"
        self.connection = events.ConnectionChanged(state, "")
        self.live_since = view.now().wall
        self.unread = conversation.unread()
        self.mentions = 0
        self.unread_after: Key | None = None  # the unread line stands below this
        self.late: dict[str, None] = {}  # ids of messages that came late in this run; at most _LATE_KEPT, oldest first
        self.late_unseen: list[str] = []  # those of `late` that the user has not jumped to
        self.selected: str | None = None
        self.refused = ""  # the reason for which the broker took nothing from us last; empty: it takes what we send
        self.history: CatchingUp | None = None  # progress of fetching the history; None: none was fetched
        self.total = 0
        self.hits: list[Key] = []  # keys of the messages that the last search found, oldest first
        self.hit_at = 0
        self._fates: dict[str, Fate] = {}  # states of own messages that are not acknowledged, by id
        self._mentions = mention_of(view.node.nick)
        self._gaps_stale = True
        self._notes = 0
        self._over_limit: dict[str, NoteItem] = {}  # the line that stands for what exceeds the limit, by sender
        self._members = MembersLines(self)
        if self.unread:
            self.unread_after = conversation.read_mark()

    # Reading the log.

    def reload(self) -> None:
        """Read the rows again, since something about their authors has changed."""
        if self.loaded:
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
        self.loaded = True
        self._gaps_stale = True
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
        return [self._entry(shown) for shown in found]

    def _entry(self, shown: Shown) -> MessageItem:
        quote = self._quote(shown.reply_to) if shown.reply_to else None
        entry = entry_of(shown, self._mentions, quote)
        changes: dict[str, object] = {}
        if entry.own:
            changes["fate"] = self._fate(entry)
        if shown.message_id in self.late:
            changes["late"] = True
        if not entry.own and entry.nick and is_verified(self.view.node, entry.sender_id):
            changes["verified"] = True
        return _changed(entry, **changes)

    def entry_for(self, shown: Shown) -> MessageItem:
        """Return the row of a message, also if it is not in memory now."""
        return self.timeline.entries.get(shown.message_id) or self._entry(shown)

    def gap_sentence(self, message_id: str) -> str | None:
        gap = self.timeline.gaps.get(message_id)
        return None if gap is None else gap_words(gap, self.view.now().wall)

    def _fate(self, entry: MessageItem) -> Fate:
        known = self._fates.get(entry.message_id)
        if known is not None:
            return known
        if isinstance(self.conversation, MembersConversation):
            return members_fate(self.conversation.delivery(entry.message_id))
        assert entry.fate is not None
        own = self.conversation.remembered(entry.message_id)
        if own is None:
            return entry.fate
        phase = phase_of(own.state)
        if own.state is AckState.UNACKED and not own.sends:
            phase = Phase.QUEUED
        signed = [found for found in own.evidence if found.signed]
        by = sum(found.proven is (phase is Phase.ACKED) for found in signed)
        fate = Fate(phase, by, len(own.evidence) - len(signed))
        if phase < Phase.ACKED:
            self._fates[entry.message_id] = fate
        return fate

    def _quote(self, message_id: str) -> Quote:
        entry = self.timeline.entries.get(message_id)
        if entry is None:
            shown = self.conversation.message(message_id)
            entry = None if shown is None else entry_of(shown, self._mentions)
        if entry is None:
            return Quote(message_id, "", "")
        return Quote(message_id, self.name_of(entry.sender_id, entry.nick), first_line(entry)[:_QUOTED])

    # Names.

    def name_of(self, sender_id: str | None, nick: str = "") -> str:
        """Return the name of a participant: the proven nick, or the beginning of the id in angle brackets."""
        if sender_id is None:
            return ""
        known = nick or nick_text(self.view.nick_of(sender_id) or self._presence_nick(sender_id))
        return known or f"<{short(sender_id, 8)}>"

    def _presence_nick(self, sender_id: str) -> str:
        return self.view.channel(self.conversation.channel).presence_nick(sender_id)

    # Events of the node.

    def hear(self, event: NodeEvent, looking: bool) -> None:
        """Take an event of this channel or of the whole node. `looking`: the user sees the end of this log now."""
        body = event.body
        match body:
            case events.MessageDelivered():
                self._delivered(body, event.time, looking)
            case events.HandedOver(message_id):
                if self.refused:
                    self.refused = ""
                    self.changes |= ModelChange.BADGES | ModelChange.CONNECTION
                self._move(message_id, Phase.UNACKED, 0)
            case events.NotPublished(message_id, failure, detail):
                self._not_published(message_id, failure, detail)
            case ev.StateChanged(message_id, state, by, _, _, perhaps, unproven):
                if state is not AckState.UNACKED or unproven:
                    known = by if state is AckState.ACKED else perhaps
                    self._move(message_id, phase_of(state), len(known), len(unproven))
            case ev.MessageResent(message_id):
                self._move(message_id, Phase.UNACKED, 0)
            case events.ConnectionChanged():
                self._connection(body)
            case events.PresenceChanged() | KeyMet() | NickChanged():
                self.changes |= ModelChange.PEOPLE
                if isinstance(body, NickChanged):
                    self.note(f"{nick_text(body.before)} is now known as {nick_text(body.after)}", event.time)
            case _:
                self._hear_rarer(body, event.time, looking)

    def _hear_of_members(self, what: events.EpochChanged | events.NotAMember | events.MessageWithheld, at: int) -> None:
        """Take an event of a private channel."""
        match what:
            case events.EpochChanged(number):
                self.note(f"the key of this channel was changed: epoch {number}", at)
                self.changes |= ModelChange.BADGES
            case events.NotAMember(why):
                self.note(clean(why, limit=_DETAIL), at, Tone.ALERT)
                self.changes |= ModelChange.BADGES
            case events.MessageWithheld(message_id):
                if message_id in self.timeline.entries or self.timeline.at_end:
                    self.reload()

    def _hear_numbers(self, body: events.EventBody, at: int) -> None:
        """Take an event about our own key and device, or about the numbers that authors give their messages."""
        match body:
            case events.IdentityUsedElsewhere():
                self.note(
                    "somebody else uses your key: a message was signed with it that was not written here",
                    at,
                    Tone.ALERT,
                )
            case events.DeviceRenewed():
                self.note(
                    "this profile was restored or copied: messages of its own came that it does not have. "
                    "It goes on as a new device",
                    at,
                    Tone.ALERT,
                )
            case events.AuthorGapFound(sender_id, low, high):
                self.note(author_gap_words(self.name_of(sender_id), low, high), at)
            case events.AuthorGapClosed(sender_id, high):
                self.note(f"{self.name_of(sender_id)}'s {ordinal(high)} message has come", at)
            case events.SaidTwoThings(sender_id, number, message_id):
                self.note(
                    f"{self.name_of(sender_id)} says two things: the {ordinal(number)} message is there twice, and "
                    f"{short(message_id)} is the second one",
                    at,
                    Tone.ALERT,
                )

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
            case BodiesFetched(fetched, left):
                self.note(bodies_words(fetched, left), at)
            case events.OwnOverLimit(messages):
                self._put_over_limit(events.OverLimit("", "", messages), at, own_over_limit_words(messages))
            case events.OverLimit():
                self._put_over_limit(body, at)
            case ev.SyncReceived() | ev.SyncSent():
                self.changes |= ModelChange.BADGES | ModelChange.PEOPLE
            case events.EphemeralSaid(said):
                name = self.name_of(said.message.sender_id, nick_text(said.nick))
                # On one line: in a note, text of others must not begin a line that has the sign of the program.
                text = clean(said.opened.text or "(not text)")
                self.note(f"{name} says, without a trace in the log: {text}", at)
            case NickClaimed(sender_id, nick, held_as, held_by, verified):
                known, alarm = ("whom you verified", "ALARM: ") if verified else ("known before", "")
                self.note(
                    f"{alarm}{nick_text(nick)} ({short(sender_id, 8)}) is NOT the {nick_text(held_as)} {known} "
                    f"({short(held_by, 8)}): it is another key",
                    at,
                    Tone.ALERT,
                )
            case _ if isinstance(body, _KEYS_AND_NUMBERS):
                self._hear_numbers(body, at)
            case events.SavingFailed(detail):
                why = clean(detail, limit=_DETAIL)
                self.note(f"nothing can be saved, so nothing is sent or shown: {why}", at, Tone.ALERT)
            case events.SavingResumed():
                self.note("saving works again", at)
            case events.TroubleMet(detail):
                self.note(f"trouble: {clean(detail, limit=_DETAIL)}", at, Tone.ALERT)
            case events.EpochChanged() | events.NotAMember() | events.MessageWithheld():
                self._hear_of_members(body, at)
            case StoreLeft(store_id, nick, detail):
                who = f"{nick_text(nick)} ({short(store_id, 8)})"
                self.note(f"the Store {who} is not asked any more: {clean(detail, limit=_DETAIL)}", at, Tone.ALERT)
            case _ if isinstance(body, HEARD):
                self._members.hear(body, at, looking)
            case events.Joined(known=known) if known:
                text, tone = left_over(self.conversation, known, at)
                self.note(text, at, tone)

    def _delivered(self, body: events.MessageDelivered, at: int, looking: bool) -> None:
        shown = shown_of(body.said, at, body.via)
        history = shown.via != "live" and shown.lamport < self.live_since  # older history is not late
        if body.late and not shown.own and not history:
            self._note_late(shown.message_id, looking)
        self._gaps_stale = self._gaps_stale or bool(self.timeline.gaps) or bool(body.gap)
        self._take(shown, looking)

    def _take(self, shown: Shown, looking: bool) -> None:
        """Take a message that is new here."""
        if shown.own:
            self._fates[shown.message_id] = Fate(Phase.QUEUED)
        self.total += 1
        entry = self._entry(shown) if self.loaded else entry_of(shown, self._mentions)
        if self.loaded:
            self.timeline.put(entry)
            self.changes |= ModelChange.ROWS
        if not shown.own and not looking:
            self._count_unread(entry)
        self.changes |= ModelChange.BADGES

    # Members' channels.

    def now_of_members(self) -> None:
        """Follow a channel that turned out to be one of members."""
        self.conversation = self.view.conversation(self.name)
        self.reload()

    def take_post(self, post: events.MemberPost, looking: bool, *, late: bool) -> None:
        """Take a post that is new here. Of our own ones the row is there since they were written."""
        shown = self.conversation.message(post.message_id)
        if shown is None:
            return
        if late or post.own or post.message_id in self.timeline.entries:
            self.reload()
        else:
            self._take(shown, looking)

    def replace_row(self, entry: MessageItem) -> None:
        self.timeline.put(entry)
        self.changes |= ModelChange.ROWS

    def drop_note(self, line: NoteItem) -> None:
        self.timeline.remove(line)
        self.changes |= ModelChange.ROWS

    def people_changed(self) -> None:
        self.changes |= ModelChange.PEOPLE | ModelChange.BADGES

    def _count_unread(self, entry: MessageItem) -> None:
        if self.unread_after is None:
            self.unread_after = max(
                (row.key for row in self.timeline.messages() if row.key < entry.key), default=(0, "")
            )
        self.unread += 1
        self.mentions += entry.mention

    def _note_late(self, message_id: str, looking: bool) -> None:
        self.late[message_id] = None
        self.late_unseen.append(message_id)
        while len(self.late) > _LATE_KEPT:
            del self.late[next(iter(self.late))]
        del self.late_unseen[:-_LATE_KEPT]

    def _move(self, message_id: str, phase: Phase, by: int, unproven: int = 0) -> None:
        before = self._fates.get(message_id, Fate(Phase.QUEUED))
        self._set_fate(message_id, before.moved(phase, by, unproven))

    def _not_published(self, message_id: str, failure: str, detail: str) -> None:
        if failure == "refused":
            self.refused = clean(detail, limit=_DETAIL)
            self.changes |= ModelChange.BADGES | ModelChange.CONNECTION
        if message_id and failure in _REFUSED:
            self._set_fate(message_id, self._fates.get(message_id, Fate(Phase.UNACKED)).refuse(detail))

    def _set_fate(self, message_id: str, fate: Fate) -> None:
        entry = self.timeline.entries.get(message_id)
        if entry is not None and entry.fate is not None:
            fate = fate.moved(entry.fate.phase, entry.fate.by, entry.fate.unproven)
            if fate != entry.fate:
                self.timeline.put(_changed(entry, fate=fate))
                self.changes |= ModelChange.ROWS
        self._fates[message_id] = fate
        if fate.phase is Phase.ACKED:
            del self._fates[message_id]

    def _connection(self, body: events.ConnectionChanged) -> None:
        if body.state == "connected" and self.connection.state != "connected":
            self.live_since = self.view.now().wall
        self.connection = body
        self._gaps_stale = True
        self.changes |= ModelChange.CONNECTION | ModelChange.BADGES | ModelChange.ROWS

    # Lines of the program.

    def note(self, text: str, at: int, tone: Tone = Tone.INFO) -> NoteItem:
        """Add a line of the program below the newest row, and return it."""
        self._notes += 1
        last = self.timeline.last_key() if self.timeline.at_end else None
        after = last or tail_key(at)
        line = NoteItem(text, tone, at, after, self._notes)
        self.timeline.put(line)
        self.changes |= ModelChange.ROWS
        return line

    def _put_over_limit(self, body: events.OverLimit, at: int, own: str = "") -> None:
        """Add the line that stands for what exceeds the limit of a sender, or change its number."""
        key = self.view.node.sender_id if own else body.sender_id
        before = self._over_limit.get(key)
        name = self.name_of(body.sender_id, nick_text(body.nick)) if body.sender_id else "others"
        text = own or over_limit_words(body.messages, name, short(body.sender_id, 8))
        if before is None or self.timeline.index_of(before.place) is None:
            self._over_limit[key] = self.note(text, at)
        else:
            after = NoteItem(text, before.tone, before.at, before.after, before.number)
            self._over_limit[key] = after
            self.timeline.put(after)
            self.changes |= ModelChange.ROWS

    # Keeping up.

    def refresh_gaps(self, always: bool = False) -> None:
        """Put the gaps in their places of now. Cheap if there are none."""
        if not self.loaded:
            return
        self._mark_history()
        if not (self._gaps_stale or always):
            return
        self._gaps_stale = False
        missing = self.conversation.missing()
        lost = self.conversation.lost()
        before = self.timeline.version
        if missing or lost or self.timeline.gaps:
            self.timeline.set_gaps(gap_items(missing, lost, list(self.timeline.messages()), self.name_of))
        if self.timeline.version != before:
            self.changes |= ModelChange.ROWS

    def _mark_history(self) -> None:
        """Mark missing history above the first message; in an empty log, say how to begin."""
        timeline, text = self.timeline, ""
        first = timeline.first_key()
        if timeline.at_start and (first is not None or not timeline.gaps):
            text = history.sentence(self.history, self.conversation.history_since())
            text = text or ("" if first else self._beginning())
        timeline.set_mark(history.mark(text, first[0] if first else self.live_since) if text else None)

    def _beginning(self) -> str:
        node = self.view.node
        if self.conversation.peer or privacy(node, self.name) is not None:
            return history.EMPTY  # others cannot join by a command
        return history.beginning(node.nick, node.sender_id, self.name, node.broker)

    def seen(self) -> None:
        """Count everything as read. The unread line stays until another channel is shown."""
        if self.unread or self.mentions:
            self.unread = self.mentions = 0
            self.changes |= ModelChange.BADGES

    def leave(self) -> None:
        """Forget the unread line, because another channel is shown now, unless something is unread."""
        if not self.unread:
            self.unread_after = None

    def save_mark(self) -> None:
        """Save the place up to which the log is read. Raises StoreError."""
        last = self.timeline.last_key()
        read = self.loaded and self.timeline.at_end and not self.unread
        if read and last is not None and self.conversation.read_mark() != last:
            self.conversation.mark_read(last)

    def take_changes(self) -> ModelChange:
        found, self.changes = self.changes, ModelChange.NOTHING
        return found


def _changed(entry: MessageItem, **changes: object) -> MessageItem:
    if not changes:
        return entry
    from dataclasses import replace

    return replace(entry, **changes)  # type: ignore[arg-type]
