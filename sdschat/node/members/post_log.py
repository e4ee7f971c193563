"""The log of a members' channel: the posts that are alive, in order, kept up with the engine rather than made anew."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

from sdschat.node.members.events import MemberPost
from sdschat.timber.engine import TimberEngine
from sdschat.timber.events import EventSettled, Report, StateAdopted
from sdschat.timber.ids import message_id_of
from sdschat.timber.values import Kind, Post, PostId
from sdschat.timber.views import PostView

Key = tuple[int, str]


class PlacedPost(NamedTuple):
    """A post, and where it stands: a number that grows along the log, and is near the time of writing."""

    at: int
    post: MemberPost

    @property
    def key(self) -> Key:
        return self.at, self.post.message_id


class _Tail(NamedTuple):
    """All that is in front of the checkpoint, or waits. It is made anew after each change, and is short."""

    placed: list[PlacedPost]
    by_id: dict[str, PlacedPost]
    gone: list[Key]  # settled posts that a deletion in front of the checkpoint takes back
    edited: dict[PostId, Post]  # settled posts with their newest edit


class PostLog:
    """Feed it the engine's reports. `shown` makes a post of a view; `drafts` returns what waits for our admission."""

    def __init__(
        self,
        engine: TimberEngine,
        shown: Callable[[PostView], MemberPost],
        drafts: Callable[[], list[MemberPost]] = list,
    ) -> None:
        self._engine, self._shown, self._drafts = engine, shown, drafts
        self._fill()

    def _fill(self) -> None:
        self._keys: list[Key] = []  # of settled posts, in order
        self._settled: dict[str, tuple[int, PostId]] = {}  # the same by message id
        self._last = 0
        self._made: _Tail | None = None
        for post in self._engine.settled_posts():
            self._settle(post.name, post.time)

    def _settle(self, name: PostId, time: int) -> None:
        self._last = max(self._last + 1, time)
        message_id = message_id_of(self._engine.data_set, name)
        self._keys.append((self._last, message_id))
        self._settled[message_id] = self._last, name

    # Changes.

    def follow(self, report: Report) -> None:
        if isinstance(report, StateAdopted):
            self._fill()
        elif isinstance(report, EventSettled) and report.counts:
            target = report.target
            if report.kind is Kind.SAY:
                post = self._engine.post(report.name)
                self._settle(report.name, post.time if post is not None else 0)
            elif report.kind is Kind.DELETE and target is not None and self._engine.post(target) is None:
                self._remove(message_id_of(self._engine.data_set, target))
        self.touch()

    def _remove(self, message_id: str) -> None:
        found = self._settled.pop(message_id, None)
        if found is not None:
            del self._keys[bisect_left(self._keys, (found[0], message_id))]

    def touch(self) -> None:
        """Note that what is in front of the checkpoint may have changed."""
        self._made = None

    # Reading.

    def __len__(self) -> int:
        tail = self._tail()
        return len(self._keys) - len(tail.gone) + len(tail.placed)

    def get(self, message_id: str) -> PlacedPost | None:
        tail = self._tail()
        found = self._settled.get(message_id)
        if found is None:
            return tail.by_id.get(message_id)
        return None if (found[0], message_id) in tail.gone else self._placed((found[0], message_id))

    def after(self, key: Key) -> Iterator[PlacedPost]:
        """Yield the posts after a key, oldest first."""
        tail = self._tail()
        for at in range(bisect_right(self._keys, key), len(self._keys)):
            if self._keys[at] not in tail.gone:
                yield self._placed(self._keys[at])
        yield from (placed for placed in tail.placed if placed.key > key)

    def before(self, key: Key | None) -> Iterator[PlacedPost]:
        """Yield the posts before a key, or all, newest first."""
        tail = self._tail()
        yield from (placed for placed in reversed(tail.placed) if key is None or placed.key < key)
        end = len(self._keys) if key is None else bisect_left(self._keys, key)
        for at in range(end - 1, -1, -1):
            if self._keys[at] not in tail.gone:
                yield self._placed(self._keys[at])

    def waiting(self) -> list[PlacedPost]:
        """Return the posts that are not settled, in order; those with an edit that is not among them."""
        tail = self._tail()
        edited = (self.get(message_id_of(self._engine.data_set, name)) for name in tail.edited)
        return [*(placed for placed in edited if placed is not None), *tail.placed]

    def find_ids(self, prefix: str) -> list[str]:
        """Return the ids that begin with a prefix, in their order."""
        return sorted(one for one in (*self._settled, *self._tail().by_id) if one.startswith(prefix))

    def rank(self, message_id: str) -> int:
        """Return the number of a post in the log, from 1; 0 for another id."""
        found = self.get(message_id)
        if found is None:
            return 0
        tail = self._tail()
        before = bisect_left(self._keys, found.key) - bisect_left(tail.gone, found.key)
        return before + bisect_left(tail.placed, found.key, key=lambda placed: placed.key) + 1

    def at_rank(self, rank: int) -> Key | None:
        tail = self._tail()
        index = rank - 1
        for gone in tail.gone:
            index += bisect_left(self._keys, gone) <= index
        if index < 0 or rank > len(self):
            return None
        return self._keys[index] if index < len(self._keys) else tail.placed[index - len(self._keys)].key

    def _placed(self, key: Key) -> PlacedPost:
        name = self._settled[key[1]][1]
        edited = self._tail().edited.get(name)
        post = edited or self._engine.post(name)
        assert post is not None
        return PlacedPost(key[0], self._shown(PostView(post, edited is None)))

    def _tail(self) -> _Tail:
        if self._made is None:
            self._made = self._make_tail()
        return self._made

    def _make_tail(self) -> _Tail:
        front = self._engine.front()
        at, placed = self._last, list[PlacedPost]()
        fresh = [post for name, post in front.posts.items() if self._engine.post(name) is None]
        for post in [*(self._shown(PostView(post, settled=False)) for post in fresh), *self._drafts()]:
            at = max(at + 1, post.sent_at)
            placed.append(PlacedPost(at, post))
        gone = [message_id_of(self._engine.data_set, name) for name in front.gone]
        edited = {name: post for name, post in front.posts.items() if self._engine.post(name) is not None}
        keys = sorted((self._settled[one][0], one) for one in gone if one in self._settled)
        return _Tail(placed, {one.post.message_id: one for one in placed}, keys, edited)
