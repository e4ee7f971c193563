"""Rows and lines of the log, from the events of a members' channel."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Protocol

from sdschat.node import events
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.members import MembersConversation, PostJourney, fork_words, standing_words
from sdschat.node.view.values import Conversation, Key
from sdschat.tui.model.items import MessageItem, NoteItem, Tone
from sdschat.tui.model.own_fates import members_fate
from sdschat.tui.model.timeline import Timeline
from sdschat.tui.model.words import clean, count, nick_text, short

_DETAIL: Final = 300
_GOING: Final = "off the disks once settled"
_STATUS: Final = {
    "invited": "is invited",
    "member": "is a member",
    "silent": "is silent: the others may put them out",
    "reinstated": "was heard: they stay",
    "evicted": "was put out",
    "left": "has left",
}
_OWN_STATUS: Final = {
    "invited": "you are invited, and in once all members know it",
    "member": "you are a member",
    "silent": "you are silent: the others may put you out",
    "reinstated": "you were heard: you stay",
    "evicted": "you were put out, since you were silent or removed: you knock, and a member has to let you in again. "
    "What you write until then waits",
    "left": "you have left: what you write here is neither kept nor sent. A member can let you in again, with "
    "/invite NICK; ask one with /msg",
}


HEARD: Final = (
    events.DataSetFound,
    events.KindRefused,
    events.Knocked,
    events.PostSaid,
    events.PostEdited,
    events.PostDeleted,
    events.DeliveryChanged,
    events.PostRewritten,
    events.StateTaken,
    events.MemberStatusChanged,
    events.BallotChanged,
    events.CheckpointPassed,
    events.ForkFound,
)


def journey_of(conversation: Conversation, message_id: str) -> PostJourney | None:
    """Return how far an own post of a members' channel has come; None in a channel of another kind."""
    return conversation.journey(message_id) if isinstance(conversation, MembersConversation) else None


class MembersLog(Protocol):
    """The part of a channel's model that the events of a members' channel change."""

    @property
    def timeline(self) -> Timeline: ...

    @property
    def view(self) -> Conversations: ...

    @property
    def name(self) -> str: ...

    def name_of(self, sender_id: str | None, nick: str = "") -> str: ...

    def reload(self) -> None: ...

    def note(self, text: str, at: int, tone: Tone = Tone.INFO, below: Key | None = None) -> NoteItem: ...

    def drop_note(self, line: NoteItem) -> None: ...

    def replace_row(self, entry: MessageItem) -> None: ...

    def take_post(self, post: events.MemberPost, looking: bool, *, late: bool) -> None: ...

    def now_of_members(self) -> None: ...

    def people_changed(self) -> None: ...


class MembersLines:
    """Takes the events of a members' channel into its model."""

    def __init__(self, model: MembersLog) -> None:
        self._model = model
        self._settled: NoteItem | None = None  # the line of the last checkpoint
        self._knock: NoteItem | None = None  # the line that says that we wait to be invited
        self._deleted = 0  # posts that are gone from the disk, since the start
        self._going: list[NoteItem] = []  # lines of deletions that are not settled
        self._rewritten = 0
        self._again: NoteItem | None = None  # the line that counts them
        self._removed: set[str] = set()  # who has no key any more: the committee puts them out, and does not wait

    def hear(self, body: events.EventBody, at: int, looking: bool) -> None:
        model = self._model
        match body:
            case events.DataSetFound(data_set):
                self._knock = model.note(
                    "a members' channel: you knock, and a member has to invite you. What you write until then waits. "
                    f"Its data set begins with {short(data_set, 8)}: sdschat timber status has all of it",
                    at,
                )
                model.now_of_members()
            case events.KindRefused(_, detail):
                model.note(clean(detail, limit=_DETAIL), at, Tone.ALERT)
            case events.Knocked(sender_id, nick):
                name = nick_text(nick)
                model.note(f"{name} ({short(sender_id, 8)}) knocks. /invite {name} lets them in", at)
            case events.PostSaid(post, late):
                model.take_post(post, looking, late=late)
            case events.PostEdited():
                model.reload()
            case events.PostDeleted(_, waited, author, by):
                gone = "off the disk" if waited else _GOING
                line = model.note(f"{self._deletion(author, by)}: it is out of the log, and {gone}", at)
                self._going += [] if waited else [line]
                model.reload()
            case events.DeliveryChanged(message_id, word, known, members):
                self._delivery(message_id, word, known, members)
            case events.PostRewritten():
                self._rewrote(at)
            case events.StateTaken(number, _, again, returned):
                self._rewritten, self._again = 0, None
                if returned:
                    words = f"; {again} of yours will be written again" if again else ""
                    behind = f"{count(number, 'operation')} are behind their checkpoint"
                    model.note(f"the others went on without you: {behind}{words}", at)
                model.reload()
            case _:
                self._hear_of_committee(body, at)

    def hear_of_removal(self, body: events.MembersChanged, at: int) -> None:
        """Say who removed whom. Elsewhere the log of the channel has a line for it, and for ourselves there is one."""
        model = self._model
        if not isinstance(model.view.conversation(model.name), MembersConversation):
            return
        self._removed = (self._removed | {*body.removed}) - {*body.members}
        others = [model.name_of(one) for one in body.removed if one != model.view.node.sender_id]
        if others:
            by = "you" if body.by == model.view.node.sender_id else model.name_of(body.by)
            model.note(f"{by} removed {' and '.join(others)}", at)

    def _hear_of_committee(self, body: events.EventBody, at: int) -> None:
        model = self._model
        match body:
            case events.MemberStatusChanged(sender_id, _, "silent") if sender_id in self._removed:
                return
            case events.MemberStatusChanged(sender_id, nick, status):
                own = sender_id == model.view.node.sender_id
                if own and self._knock is not None:
                    model.drop_note(self._knock)
                    self._knock = None
                if own:
                    line = model.note(self._own_status(status), at, Tone.ALERT if status == "evicted" else Tone.INFO)
                    self._knock = line if status == "evicted" else None
                else:
                    model.note(f"{model.name_of(sender_id, nick_text(nick))} {_STATUS[status]}", at)
                model.people_changed()
            case events.BallotChanged(removed, agree, need):
                names = ", ".join(model.name_of(one) for one in removed)
                model.note(f"removing {names}: {agree} of {need} agree", at)
            case events.CheckpointPassed():
                self._checkpoint(body, at)
            case events.ForkFound(sender_id, seq):
                own = sender_id == model.view.node.sender_id
                model.note(fork_words(model.name_of(sender_id), seq, own=own), at, Tone.ALERT)

    def _deletion(self, author: str, by: str) -> str:
        """Return in words who took back whose post."""
        post = f"a post of {self._model.name_of(author)}"
        if not by:
            return f"{post} was deleted"
        return f"{self._model.name_of(by)} deleted {'a post of their own' if by == author else post}"

    def _own_status(self, status: str) -> str:
        """Return what became of us, and where we do not write any more, of what we write."""
        words = _OWN_STATUS[status]
        return words.replace("NICK", nick_text(self._model.view.node.nick)) if status == "left" else words

    def _checkpoint(self, body: events.CheckpointPassed, at: int) -> None:
        """Draw the line below what is settled; there is one, which moves. None while no post that is here is settled,
        and nothing is gone."""
        model = self._model
        self._gone(body.deleted)
        deleted = f"; since the start {count(self._deleted, 'deleted post')} gone from the disk here"
        deleted = deleted if self._deleted else ""
        alone = "the last member" if standing_words(model.view.node, model.name) else "you alone"
        by = alone if body.members == 1 else "both" if body.members == 2 else f"all {body.members}"
        text = f"settled up to here by {by}"
        if body.alive or deleted:  # where nothing was written yet, there is nothing to count
            text += f": {count(body.number, 'operation')} became {count(body.alive, 'post')}{deleted}"
        if self._settled is not None:
            model.drop_note(self._settled)
            self._settled = None
        conversation = model.view.conversation(model.name)
        below = conversation.settled_until() if isinstance(conversation, MembersConversation) else None
        if below is not None or self._deleted or not conversation.count():
            self._settled = model.note(text, at, below=below)

    def _gone(self, deleted: int) -> None:
        """Note that deletions are settled, in their lines too."""
        timeline = self._model.timeline
        self._deleted += deleted
        for line in self._going[:deleted]:
            if timeline.index_of(line.place) is not None:
                timeline.put(replace(line, text=line.text.replace(_GOING, "off the disk here")))
        del self._going[:deleted]

    def _rewrote(self, at: int) -> None:
        """Count the posts that are written again in one line."""
        if self._again is not None:
            self._model.drop_note(self._again)
        self._rewritten += 1
        self._again = self._model.note(f"{count(self._rewritten, 'post')} of yours written again", at)

    def _delivery(self, message_id: str, word: str, known: int, members: int) -> None:
        model = self._model
        entry = model.timeline.entries.get(message_id)
        if entry is None or entry.fate is None:
            if word == "queued":
                model.reload()
            return
        words = f"known {known} of {members}" if word == "known" else word
        conversation = model.view.conversation(model.name)
        if word == "written" and isinstance(conversation, MembersConversation):
            words = conversation.delivery(message_id)  # it says if that was here
        model.replace_row(replace(entry, fate=members_fate(words)))
