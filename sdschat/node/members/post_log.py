"""The log of a members' channel: the posts that are alive, in order, kept up with the engine rather than made anew."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from sdschat.node.members.events import MemberPost
from sdschat.timber.chat import Head
from sdschat.timber.engine import TimberEngine
from sdschat.timber.events import Drafted, EventSettled, Renumbered, Report, StateAdopted
from sdschat.timber.front import FrontMark
from sdschat.timber.rows import DraftRow
from sdschat.timber.values import Kind, Post, PostId, draft_id_of, message_id_of
from sdschat.timber.views import PostView

Key = tuple[int, str]
_ID_DIGITS: Final = 64


class PlacedPost(NamedTuple):
    """A post, and where it stands: a number that grows along the log, and is near the time of writing."""

    at: int
    post: MemberPost

    @property
    def key(self) -> Key:
        return self.at, self.post.message_id


def _place_after(last: int, time: int) -> int:
    """Return the place of a post that follows the one at `last`."""
    return time if time > last else last + 1


def waiting_posts(drafts: Iterable[DraftRow], data_set: bytes, me: str, nick: str) -> Iterator[MemberPost]:
    """Yield the posts among what waits until we are a member. `me` is our sender id."""
    for one in drafts:
        if one.kind is Kind.SAY:
            draft_id = draft_id_of(data_set, bytes.fromhex(me), one.number)
            answered = "" if one.target is None else message_id_of(data_set, one.target)
            yield MemberPost(draft_id, me, nick, one.text, one.time, False, False, True, answered, waiting=True)


class _Unsettled(NamedTuple):
    """A post in front of the checkpoint, or one that waits for our admission."""

    at: int
    message_id: str
    time: int
    post: Post | MemberPost

    @property
    def key(self) -> Key:
        return self.at, self.message_id


class _Tail:
    """All that is in front of the checkpoint, or waits. It is kept up with the changes there."""

    def __init__(self) -> None:
        self.placed: list[_Unsettled] = []
        self.names: list[PostId] = []  # of those, before the drafts
        self.by_id: dict[str, _Unsettled] = {}
        # Places of settled posts that a deletion in front of the checkpoint takes back, in order.
        self.gone: list[int] = []
        self.gone_at: dict[PostId, int] = {}
        self.edited: dict[PostId, Post] = {}  # settled posts with their newest edit

    def is_gone(self, place: int) -> bool:
        index = bisect_left(self.gone, place)
        return index < len(self.gone) and self.gone[index] == place

    def set_gone(self, name: PostId, place: int | None) -> None:
        """Note the place of a settled post that is taken back; None: it is not."""
        before = self.gone_at.pop(name, None)
        if before is not None:
            del self.gone[bisect_left(self.gone, before)]
        if place is not None:
            self.gone_at[name] = place
            insort(self.gone, place)

    def index_of(self, message_id: str) -> int | None:
        found = self.by_id.get(message_id)
        return None if found is None else bisect_left(self.placed, found.key, key=lambda one: one.key)

    def take_out(self, message_id: str) -> None:
        index = self.index_of(message_id)
        if index is not None:
            del self.placed[index], self.names[index], self.by_id[message_id]

    def drop_drafts(self) -> None:
        for one in self.placed[len(self.names) :]:
            del self.by_id[one.message_id]
        del self.placed[len(self.names) :]

    def add(self, index: int, one: _Unsettled, last: int) -> None:
        """Put in a post without a place yet. `last`: the place of the last settled post."""
        self.placed.insert(index, one)
        self.place_from(index, self.placed[index - 1].at if index else last)

    def place_from(self, index: int, last: int) -> None:
        """Give posts from `index` on new places behind `last`, as many as it takes for places to grow."""
        for at in range(index, len(self.placed)):
            one = self.placed[at]
            if one.at <= last:
                one = one._replace(at=_place_after(last, one.time))
                self.placed[at] = self.by_id[one.message_id] = one
            elif at > index:
                return
            last = one.at


class PostLog:
    """Feed it the engine's reports. `shown` makes a post of a view; `drafts` returns what waits for our admission.

    Of settled posts it has places and names; a text is read, and an id made, when it is asked for.
    """

    def __init__(
        self,
        engine: TimberEngine,
        shown: Callable[[PostView], MemberPost],
        drafts: Callable[[], Iterable[MemberPost]] = list,
        heads: Sequence[Head] | None = None,
    ) -> None:
        """`heads`: those of the engine's settled posts, if they were read already."""
        self._engine, self._shown, self._drafts = engine, shown, drafts
        self._fill(heads)

    def _fill(self, heads: Sequence[Head] | None = None) -> None:
        self._places: list[int] = []  # of settled posts, growing
        self._order: list[PostId] = []  # their names
        self._place_of: dict[PostId, int] | None = None  # once it is asked for
        self._names: dict[str, PostId] = {}  # of settled posts by message id: those asked for so far, or all
        self._all_named = False
        self._made: _Tail | None = None
        self._seen: FrontMark | None = None  # of the changes in front of the checkpoint
        self._moved: dict[PostId, None] = {}  # posts that the checkpoint passed since then, or that it changed
        self._waits = True  # what waits may have changed
        last = 0
        for _, author, number, time, _ in self._engine.settled_heads() if heads is None else heads:
            last = _place_after(last, time)
            self._places.append(last)
            self._order.append(PostId(author, number))

    def _settle(self, name: PostId, time: int) -> None:
        self._places.append(_place_after(self._last_place(), time))
        self._order.append(name)
        if self._place_of is not None:
            self._place_of[name] = self._places[-1]
        self._names[self._id(name)] = name

    # Changes.

    def follow(self, report: Report) -> None:
        if isinstance(report, StateAdopted):
            self._fill()
            self._settled()  # what follows in the same turn may be in it already
        elif isinstance(report, Drafted | Renumbered):
            self.touch()
        elif isinstance(report, EventSettled) and report.counts:
            target = report.target
            self._moved[report.name if target is None or report.kind is Kind.SAY else target] = None
            if report.kind is Kind.SAY and (self._place_of is None or report.name not in self._place_of):
                post = self._engine.post(report.name)
                self._settle(report.name, post.time if post is not None else 0)
            elif report.kind is Kind.DELETE and target is not None and self._engine.post(target) is None:
                self._remove(target)

    def _remove(self, name: PostId) -> None:
        place = self._settled().pop(name, None)
        if place is not None:
            index = bisect_left(self._places, place)
            del self._places[index], self._order[index]
            self._names.pop(self._id(name), None)

    def touch(self) -> None:
        """Note that what waits for our admission may have changed."""
        self._waits = True

    # Names and places.

    def _id(self, name: PostId) -> str:
        return message_id_of(self._engine.data_set, name)

    def settled_names(self) -> Sequence[PostId]:
        """Return the names of the settled posts, in order."""
        return self._order

    def _settled(self) -> dict[PostId, int]:
        if self._place_of is None:
            self._place_of = dict(zip(self._order, self._places, strict=True))
        return self._place_of

    def name_of(self, message_id: str) -> PostId | None:
        """Return the name of a settled post that is alive."""
        found = self._names.get(message_id)
        if found is None and len(message_id) == _ID_DIGITS:
            found = self._all_names().get(message_id)
        return None if found is None or self._tail().is_gone(self._settled()[found]) else found

    def _all_names(self) -> dict[str, PostId]:
        if not self._all_named:
            self._names = {self._id(name): name for name in self._order}
            self._all_named = True
        return self._names

    def _first_after(self, key: Key, *, itself: bool) -> int:
        """Return the index of the first settled post after a key. `itself`: a post with this key counts as after it."""
        index = bisect_left(self._places, key[0])
        if index < len(self._places) and self._places[index] == key[0]:
            message_id = self._id(self._order[index])
            index += message_id < key[1] or (message_id == key[1] and not itself)
        return index

    # Reading.

    def __len__(self) -> int:
        tail = self._tail()
        return len(self._places) - len(tail.gone) + len(tail.placed)

    def get(self, message_id: str) -> PlacedPost | None:
        found = self._tail().by_id.get(message_id)
        if found is not None:
            return self._unsettled(found)
        name = self.name_of(message_id)
        return None if name is None else self._placed(self._settled()[name], name)

    def after(self, key: Key) -> Iterator[PlacedPost]:
        """Yield the posts after a key, oldest first."""
        tail = self._tail()
        for at in range(self._first_after(key, itself=False), len(self._places)):
            if not tail.is_gone(self._places[at]):
                yield self._placed(self._places[at], self._order[at])
        first = bisect_left(tail.placed, (*key, True), key=lambda one: (*one.key, False))
        yield from (self._unsettled(one) for one in tail.placed[first:])

    def before(self, key: Key | None) -> Iterator[PlacedPost]:
        """Yield the posts before a key, or all, newest first."""
        tail = self._tail()
        first = len(tail.placed) if key is None else bisect_left(tail.placed, key, key=lambda one: one.key)
        for at in range(first - 1, -1, -1):
            yield self._unsettled(tail.placed[at])
        end = len(self._places) if key is None else self._first_after(key, itself=True)
        for at in range(end - 1, -1, -1):
            if not tail.is_gone(self._places[at]):
                yield self._placed(self._places[at], self._order[at])

    def settled_until(self) -> Key | None:
        """Return the key of the newest settled post that is alive; None if there is none."""
        tail = self._tail()
        alive = (at for at in range(len(self._places) - 1, -1, -1) if not tail.is_gone(self._places[at]))
        found = next(alive, None)
        return None if found is None else (self._places[found], self._id(self._order[found]))

    def waiting(self) -> list[PlacedPost]:
        """Return the posts that are not settled, in order; those with an edit that is not among them."""
        tail = self._tail()
        edited = (self.get(self._id(name)) for name in tail.edited)
        fresh = (self._unsettled(one) for one in tail.placed)
        return [*(placed for placed in edited if placed is not None), *fresh]

    def find_ids(self, prefix: str) -> list[str]:
        """Return the ids that begin with a prefix, in their order."""
        tail = self._tail()
        near = {one: name for one, name in self._all_names().items() if one.startswith(prefix)}
        alive = [one for one, name in near.items() if name not in tail.gone_at]
        return sorted([*alive, *(one for one in tail.by_id if one.startswith(prefix))])

    def rank(self, message_id: str) -> int:
        """Return the number of a post in the log, from 1; 0 for another id."""
        found = self.get(message_id)
        if found is None:
            return 0
        tail = self._tail()
        before = self._first_after(found.key, itself=True) - bisect_left(tail.gone, found.at)
        return before + bisect_left(tail.placed, found.key, key=lambda placed: placed.key) + 1

    def at_rank(self, rank: int) -> Key | None:
        tail = self._tail()
        index = rank - 1
        for gone in tail.gone:
            index += bisect_left(self._places, gone) <= index
        if index < 0 or rank > len(self):
            return None
        if index >= len(self._places):
            return tail.placed[index - len(self._places)].key
        return self._places[index], self._id(self._order[index])

    def _placed(self, place: int, name: PostId) -> PlacedPost:
        edited = self._tail().edited.get(name)
        post = edited or self._engine.post(name)
        assert post is not None
        shown = self._shown(PostView(post, edited is None))
        self._names[shown.message_id] = name
        return PlacedPost(place, shown)

    def _unsettled(self, one: _Unsettled) -> PlacedPost:
        post = one.post
        return PlacedPost(one.at, self._shown(PostView(post, settled=False)) if isinstance(post, Post) else post)

    def _tail(self) -> _Tail:
        """Return what is in front of the checkpoint, with what changed there since the last time."""
        front = self._engine.front
        self._seen, changed = front.changes(self._seen)
        tail = self._made
        if tail is None or changed is None:
            tail = self._made = _Tail()
            self._waits = True
            changed = sorted((*front.layer.posts, *front.layer.gone), key=front.order)
        if self._waits or changed or self._moved:
            self._follow_front(tail, {**self._moved, **dict.fromkeys(changed)})
        return tail

    def _follow_front(self, tail: _Tail, changed: Iterable[PostId]) -> None:
        waiting = tail.placed[len(tail.names) :]
        if self._waits:
            waiting = [_Unsettled(0, draft.message_id, draft.sent_at, draft) for draft in self._drafts()]
        tail.drop_drafts()
        for name in changed:
            self._change(tail, name)
        self._moved.clear()
        self._waits = False
        tail.place_from(0, self._last_place())
        for one in waiting:
            tail.add(len(tail.placed), one._replace(at=0), self._last_place())

    def _change(self, tail: _Tail, name: PostId) -> None:
        """Bring a post up to the changes in front of the checkpoint."""
        front = self._engine.front
        post, message_id = front.layer.posts.get(name), self._id(name)
        at = self._settled().get(name)
        tail.take_out(message_id)
        tail.set_gone(name, at if name in front.layer.gone else None)
        tail.edited.pop(name, None)
        if post is None:
            return
        if at is not None:
            tail.edited[name] = post
            return
        index = bisect_left(tail.names, front.order(name), key=front.order)
        tail.names.insert(index, name)
        tail.add(index, _Unsettled(0, message_id, post.time, post), self._last_place())

    def _last_place(self) -> int:
        return self._places[-1] if self._places else 0
