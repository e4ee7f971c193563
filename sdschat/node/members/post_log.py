"""The log of a members' channel: the posts that are alive, in order, kept up with the engine rather than made anew."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from sdschat.node.members.events import MemberPost
from sdschat.timber.chat import Head
from sdschat.timber.engine import TimberEngine
from sdschat.timber.events import EventSettled, Report, StateAdopted
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


class _Tail(NamedTuple):
    """All that is in front of the checkpoint, or waits. It is made anew after each change, and is short."""

    placed: list[PlacedPost]
    by_id: dict[str, PlacedPost]
    gone: list[int]  # places of settled posts that a deletion in front of the checkpoint takes back, in order
    edited: dict[PostId, Post]  # settled posts with their newest edit


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
        last = 0
        for _, author, number, time, _ in self._engine.settled_heads() if heads is None else heads:
            last = _place_after(last, time)
            self._places.append(last)
            self._order.append(PostId(author, number))

    def _settle(self, name: PostId, time: int) -> None:
        last = self._places[-1] if self._places else 0
        self._places.append(_place_after(last, time))
        self._order.append(name)
        if self._place_of is not None:
            self._place_of[name] = self._places[-1]
        self._names[self._id(name)] = name

    # Changes.

    def follow(self, report: Report) -> None:
        if isinstance(report, StateAdopted):
            self._fill()
            self._settled()  # what follows in the same turn may be in it already
        elif isinstance(report, EventSettled) and report.counts:
            target = report.target
            if report.kind is Kind.SAY and (self._place_of is None or report.name not in self._place_of):
                post = self._engine.post(report.name)
                self._settle(report.name, post.time if post is not None else 0)
            elif report.kind is Kind.DELETE and target is not None and self._engine.post(target) is None:
                self._remove(target)
        self.touch()

    def _remove(self, name: PostId) -> None:
        place = self._settled().pop(name, None)
        if place is not None:
            index = bisect_left(self._places, place)
            del self._places[index], self._order[index]
            self._names.pop(self._id(name), None)

    def touch(self) -> None:
        """Note that what is in front of the checkpoint may have changed."""
        self._made = None

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
        return None if found is None or self._settled()[found] in self._tail().gone else found

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
        tail = self._tail()
        if message_id in tail.by_id:
            return tail.by_id[message_id]
        name = self.name_of(message_id)
        return None if name is None else self._placed(self._settled()[name], name)

    def after(self, key: Key) -> Iterator[PlacedPost]:
        """Yield the posts after a key, oldest first."""
        tail = self._tail()
        for at in range(self._first_after(key, itself=False), len(self._places)):
            if self._places[at] not in tail.gone:
                yield self._placed(self._places[at], self._order[at])
        yield from (placed for placed in tail.placed if placed.key > key)

    def before(self, key: Key | None) -> Iterator[PlacedPost]:
        """Yield the posts before a key, or all, newest first."""
        tail = self._tail()
        yield from (placed for placed in reversed(tail.placed) if key is None or placed.key < key)
        end = len(self._places) if key is None else self._first_after(key, itself=True)
        for at in range(end - 1, -1, -1):
            if self._places[at] not in tail.gone:
                yield self._placed(self._places[at], self._order[at])

    def settled_until(self) -> Key | None:
        """Return the key of the newest settled post that is alive; None if there is none."""
        gone = self._tail().gone
        alive = (at for at in range(len(self._places) - 1, -1, -1) if self._places[at] not in gone)
        found = next(alive, None)
        return None if found is None else (self._places[found], self._id(self._order[found]))

    def waiting(self) -> list[PlacedPost]:
        """Return the posts that are not settled, in order; those with an edit that is not among them."""
        tail = self._tail()
        edited = (self.get(self._id(name)) for name in tail.edited)
        return [*(placed for placed in edited if placed is not None), *tail.placed]

    def find_ids(self, prefix: str) -> list[str]:
        """Return the ids that begin with a prefix, in their order."""
        tail = self._tail()
        places = self._settled() if tail.gone else {}
        near = {one: name for one, name in self._all_names().items() if one.startswith(prefix)}
        alive = [one for one, name in near.items() if places.get(name) not in tail.gone]
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

    def _tail(self) -> _Tail:
        if self._made is None:
            self._made = self._make_tail()
        return self._made

    def _make_tail(self) -> _Tail:
        front = self._engine.front()
        at, placed = self._places[-1] if self._places else 0, list[PlacedPost]()
        settled = self._settled() if front.posts or front.gone else {}
        fresh = [post for name, post in front.posts.items() if name not in settled]
        for post in [*(self._shown(PostView(post, settled=False)) for post in fresh), *self._drafts()]:
            at = _place_after(at, post.sent_at)
            placed.append(PlacedPost(at, post))
        edited = {name: post for name, post in front.posts.items() if name in settled}
        gone = sorted(settled[name] for name in front.gone if name in settled)
        return _Tail(placed, {one.post.message_id: one for one in placed}, gone, edited)
