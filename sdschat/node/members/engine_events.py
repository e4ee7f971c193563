"""Reports of the engine as events of the node: which posts are new, edited or gone, and what became of our own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from sdschat.node.events import DeviceRenewed
from sdschat.node.members.events import (
    BallotChanged,
    CheckpointPassed,
    DataSetFound,
    DeliveryChanged,
    ForkFound,
    MemberPost,
    MemberStatusChanged,
    OperationPlaced,
    PostDeleted,
    PostEdited,
    PostRewritten,
    PostSaid,
    StateTaken,
    TimberRejected,
)
from sdschat.node.members.post_log import PostLog, waiting_posts
from sdschat.timber import events as ev
from sdschat.timber.chat import CREATOR
from sdschat.timber.engine import TimberEngine
from sdschat.timber.values import EventBody, Kind, Post, PostId, draft_id_of, message_id_of, sender_of
from sdschat.timber.views import MemberStanding, PostView

if TYPE_CHECKING:
    from sdschat.node.events import EventBody as NodeBody


_STATUS: Final = {"removed": "evicted"}
_UNTOLD: Final = ("", 0, 0)


class EngineEvents:
    """Remembers what was told, so that each post is told once: it may be in the tree twice, or be written again."""

    def __init__(self, engine: TimberEngine, nick_of: Callable[[str], str], me: str) -> None:
        heads = engine.settled_heads()
        self.log = PostLog(engine, self.shown, self._drafts, heads)
        self._engine = engine
        self._nick_of = nick_of
        self._me = me
        self._alive: dict[PostId, int]  # posts that were told, with the number of their last edit
        self._names: dict[str, PostId] = {}  # those that were not settled at the beginning, and events of ours, by id
        self._states: dict[PostId, tuple[str, int, int]] = {}  # of our own events and posts that are not settled
        self._was: dict[PostId, str] = {}  # ids from before we were a member, or of a number that was used
        self._before: dict[int, str] = {}  # the same, of drafts
        self._passed = engine.checkpoint.number
        self._deleted = 0  # deletions that the checkpoint passed since it was told
        self._ballot = engine.ballot()
        self._members = self._in_force()  # those who were told as members
        self._out = self._is_out()
        unwritten = {name for name in engine.open_events() if engine.delivery(name).word in ("queued", "sent")}
        self._alive = dict.fromkeys(self.log.settled_names(), 0)
        self._alive.update((PostId(author, number), edit) for _, author, number, _, edit in heads if edit)
        front = engine.front.layer
        for name, post in front.posts.items():
            self._names[self.message_id(name)] = name
            if name not in unwritten:
                self._alive[name] = post.edit
        for name in front.gone:
            self._alive.pop(name, None)
        self._states.update(dict.fromkeys(engine.open_events(), _UNTOLD))
        for name in (*front.posts, *front.gone):
            self._follow_change(name)

    # Names.

    def message_id(self, name: PostId) -> str:
        return message_id_of(self._engine.data_set, name)

    def answered(self, name: PostId | None) -> str:
        """Return the id of the post that another answers; empty where it answers none."""
        return "" if name is None else self.message_id(name)

    def draft_id(self, number: int) -> str:
        return draft_id_of(self._engine.data_set, bytes.fromhex(self._me), number)

    def find(self, message_id: str) -> PostId | None:
        """Return the name of a post that is alive or of an event that we made; None for another id."""
        return self._names.get(message_id) or self.log.name_of(message_id)

    def name(self, message_id: str) -> PostId:
        """Return the name of the post with this id, or with this beginning of it. Raises ValueError, for a person."""
        found = self.find(message_id)
        if found is not None:
            return found
        near = sorted(self._near(message_id)) if message_id else []
        if len(near) > 1:
            raise ValueError(f"{len(near)} posts have ids that begin with {message_id}. Give more of it.")
        if not near:
            raise ValueError(f"There is no post {message_id[:16]!r}: it was deleted, or it never was.")
        found = self.find(near[0])
        if found is None:
            raise ValueError("That post waits until a member lets you in. It can be answered then.")
        return found

    def draft(self, message_id: str) -> int | None:
        """Return the number of the post with this id, or beginning of it, that waits until we are a member."""
        near = self._near(message_id) if message_id else ()
        if len(near) != 1:
            return None
        whole = next(iter(near))
        return next((one.number for one in self._engine.drafts() if self.draft_id(one.number) == whole), None)

    def _near(self, prefix: str) -> set[str]:
        return {*self.log.find_ids(prefix), *(one for one in self._names if one.startswith(prefix))}

    def shown(self, view: PostView) -> MemberPost:
        post = view.post
        sender = self._person(post.name.author)
        own = sender == self._me
        nick = self._nick_of(sender)
        message_id, edited, answered = self.message_id(post.name), bool(post.edit), self.answered(post.answers)
        return MemberPost(message_id, sender, nick, post.text, post.time, edited, view.settled, own, answered)

    def _drafts(self) -> Iterator[MemberPost]:
        """Yield the posts that wait until we are a member."""
        engine = self._engine
        return waiting_posts(engine.drafts(), engine.data_set, self._me, self._nick_of(self._me))

    def _person(self, slot: int) -> str:
        return sender_of(self._engine.person(slot))

    def _note(self, name: PostId, edit: int) -> None:
        self._alive[name] = edit
        self._names[self.message_id(name)] = name

    def standing(self, data_set: str, creator: str) -> Iterator[NodeBody]:
        """Yield the reason why we do not write, if we do not."""
        match self._engine.standing():
            case MemberStanding.OUTSIDE:
                yield DataSetFound(data_set, creator)
            case MemberStanding.REMOVED:
                yield MemberStatusChanged(self._me, self._nick_of(self._me), "evicted")
            case MemberStanding.LEAVING | MemberStanding.LEFT:
                yield MemberStatusChanged(self._me, self._nick_of(self._me), "left")

    # Reports.

    def events(self, reports: Iterable[ev.Report]) -> Iterator[NodeBody]:
        """Yield what is told of one step. Where the checkpoint moved several times, the last place is told: the engine
        knows what stands there, and no more what stood at those before."""
        found = list(reports)
        moves = [at for at, report in enumerate(found) if isinstance(report, ev.CheckpointMoved)]
        for at, report in enumerate(found):
            self.log.follow(report)
            if at not in moves[:-1]:
                yield from self._event(report)
        yield from self._deliveries()
        ballot = self._engine.ballot()
        if ballot != self._ballot:
            self._ballot = ballot
            if ballot is not None and ballot.removed:
                removed = tuple(self._person(slot) for slot, _ in ballot.removed)
                yield BallotChanged(removed, ballot.agree, ballot.need)

    def _event(self, report: ev.Report) -> Iterator[NodeBody]:
        match report:
            case ev.Placed(operation_id, writer, seq, body, first, last):
                event_id = "" if body is None else self.message_id(PostId(body.author, body.number))
                kind = "" if body is None else body.kind.name.lower()
                yield OperationPlaced(operation_id.hex(), self._person(writer), seq, event_id, kind)
                if body is not None and first:
                    yield from self._effect(body, late=not last)
            case ev.Renumbered(name, number):
                self._states.pop(name, None)
                self._before[number] = self.message_id(name)
                yield DeviceRenewed(self._before[number])
                yield from self._other_post(name)
            case ev.Drafted(number, name):
                self._was[name] = self._before.pop(number, "") or self.draft_id(number)
                self._states[name] = _UNTOLD
            case ev.CheckpointMoved(mark):
                passed, self._passed = mark.number - self._passed, mark.number
                last_id = self._engine.last_settled().hex()
                deleted, self._deleted = self._deleted, 0
                alive, members = self._engine.alive(), len(self._engine.members())
                yield CheckpointPassed(mark.number, last_id, mark.hash.hex(), passed, alive, deleted, members)
            case ev.EventSettled(_, kind, _, counts):
                self._deleted += counts and kind is Kind.DELETE
            case ev.MemberChanged(_, member, status):
                yield from self._status(sender_of(member), status)
            case ev.Replaced(posts):
                for name in posts:
                    yield from self._replaced(name)
            case ev.Rewritten(name):
                yield PostRewritten(self.message_id(name))
            case ev.StateAdopted(mark, peer, again, returned, reworded):
                self._passed = mark.number
                yield StateTaken(mark.number, sender_of(peer), again, returned)
                yield from self._own_status()
                yield from self._adopted(set(reworded))
            case ev.Forked(slot, seq, _, _):
                yield ForkFound(self._person(slot), seq)
            case ev.Rejected(peer, reason, times, detail):
                yield TimberRejected(sender_of(peer), str(reason), times, detail)

    def _status(self, sender: str, status: str) -> Iterator[MemberStatusChanged]:
        """Yield a change of a member. A state that is taken over may admit again those who were told as members."""
        if status == "member":
            if sender in self._members:
                return
            self._members.add(sender)
        elif status in ("removed", "left"):
            self._members.discard(sender)
        if sender == self._me:
            self._out = status == "removed"
        yield MemberStatusChanged(sender, self._nick_of(sender), _STATUS.get(status, status))

    def _own_status(self) -> Iterator[MemberStatusChanged]:
        """Yield what a state that was taken over says of ourselves."""
        before, self._members = self._me in self._members, self._in_force()
        after = self._me in self._members
        was_out, self._out = self._out, self._is_out()
        if before != after or (self._out and not was_out):
            left = self._engine.standing() is MemberStanding.LEFT
            status = "member" if after else "left" if left else "evicted"
            yield MemberStatusChanged(self._me, self._nick_of(self._me), status)

    def _is_out(self) -> bool:
        """True if we were put out: perhaps before we wrote anything, or had the state that says that we were let in."""
        return self._engine.standing() is MemberStanding.REMOVED

    def _in_force(self) -> set[str]:
        return {sender_of(one.member) for one in self._engine.members()}

    def _effect(self, body: EventBody, *, late: bool) -> Iterator[NodeBody]:
        name, target, same = PostId(body.author, body.number), body.target, self._engine.same_person
        if body.kind is Kind.SAY and name not in self._alive:
            self._note(name, 0)
            post = Post(name, 0, body.time, body.text, answers=target)
            yield PostSaid(self.shown(PostView(post, settled=False)), late, "live")
        elif target is None or target not in self._alive:
            return
        elif body.kind is Kind.EDIT and same(body.author, target.author) and body.number > self._alive[target]:
            self._alive[target] = body.number
            self._follow_change(target)
            yield PostEdited(self.message_id(target), body.text, self._person(target.author))
        elif body.kind is Kind.DELETE and (same(body.author, CREATOR) or same(body.author, target.author)):
            yield self._forget(target, self._person(body.author))

    def _other_post(self, name: PostId) -> Iterator[PostSaid]:
        """Yield the post whose name ours had."""
        post = self._engine.front.layer.post(name)
        if post is not None and self._alive.pop(name, None) is not None:
            self._note(name, post.edit)
            yield PostSaid(self.shown(PostView(post, settled=False)), True, "live")

    def _replaced(self, name: PostId) -> Iterator[NodeBody]:
        """Yield what a post says that was told in other words, or was none, or is none any more."""
        post = self._engine.front.layer.post(name)
        if name not in self._alive:
            if post is not None:
                self._note(name, post.edit)
                yield PostSaid(self.shown(PostView(post, settled=False)), True, "live")
        elif post is None:
            yield self._forget(name)
        else:
            self._alive[name] = post.edit
            self._follow_change(name)
            yield PostEdited(self.message_id(name), post.text, self._person(name.author))

    def _forget(self, name: PostId, by: str = "") -> PostDeleted:
        message_id = self.message_id(name)
        del self._alive[name]
        self._names.pop(message_id, None)
        return PostDeleted(message_id, False, self._person(name.author), by)

    def _adopted(self, reworded: set[PostId]) -> Iterator[NodeBody]:
        """Yield the difference between what was told and the state that was taken over. It may have another text under
        the name of a post, or lack an edit that was lost."""
        views = {view.post.name: view for view in self._engine.posts()}
        for name in [name for name in self._alive if name not in views]:
            yield self._forget(name)
        for name, view in views.items():
            if name not in self._alive:
                self._note(name, view.post.edit)
                yield PostSaid(self.shown(view), False, "sync")
            elif view.post.edit > self._alive[name] or name in reworded:
                self._alive[name] = view.post.edit
                self._follow_change(name)
                yield PostEdited(self.message_id(name), view.post.text, self._person(name.author))

    # Our own events.

    def made(self, name: PostId, post: PostId | None = None) -> None:
        """Follow an event that we have just made, and the post that it changes."""
        self._states[name] = _UNTOLD
        self._names[self.message_id(name)] = name
        if post is not None:
            self._follow_change(post)
        self.log.touch()

    def _follow_change(self, post: PostId) -> None:
        """Follow a post of ours again until its change is settled."""
        if self._person(post.author) == self._me:
            self._states.setdefault(post, _UNTOLD)

    def _deliveries(self) -> Iterator[DeliveryChanged]:
        changed = self._engine.delivery_changes()
        for name in list(self._states) if changed is None else changed:
            before = self._states.get(name)
            if before is None:
                continue
            found = self._engine.delivery(name)
            now = found.word, found.known, found.members
            if now != before:
                yield DeliveryChanged(self.message_id(name), *now, self._was.pop(name, ""))
            if found.word == "settled":
                del self._states[name]
            else:
                self._states[name] = now
