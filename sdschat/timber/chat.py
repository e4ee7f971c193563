"""The state that events produce: the posts that are alive, and the events that had their effect.

Of the posts that are alive at the checkpoint the saved ones are read when they are asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Final, Protocol

from sdschat.timber.tree import TreeNode
from sdschat.timber.values import EventBody, Kind, Post, PostId, SignedEvent, Spans

# A post without its text: place, author, number, time, number of the last edit. Sorted, they are in order of the log.
# Tuples, since a program that starts reads those of all posts.
Head = tuple[int, int, int, int, int]


class SavedPosts(Protocol):
    """The posts on the disk. They change when writes are carried out, and only as these say."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Post]: ...

    def get(self, name: PostId) -> Post | None: ...

    def heads(self) -> list[Head]:
        """Return the head of each post, in any order."""
        ...


class Posts:
    """Posts by name: those in memory, and below them those that are saved."""

    def __init__(self, posts: Iterable[Post] = (), saved: SavedPosts | None = None) -> None:
        self._saved = saved
        self._memory: dict[PostId, Post | None] = {post.name: post for post in posts}  # None: saved, and gone
        self._more = len(self._memory)  # how many there are beyond those saved; less than 0 after deletions
        self._count: int | None = None  # of those saved at the beginning, once it was asked for

    def __len__(self) -> int:
        return self._saved_count() + self._more

    def __iter__(self) -> Iterator[Post]:
        if self._saved is not None:
            yield from (post for post in self._saved if post.name not in self._memory)
        yield from (post for post in self._memory.values() if post is not None)

    def get(self, name: PostId) -> Post | None:
        if self._saved is None or name in self._memory:
            return self._memory.get(name)
        return self._saved.get(name)

    def add(self, post: Post) -> None:
        self._saved_count()
        self._memory[post.name] = post
        self._more += 1

    def replace(self, post: Post) -> None:
        self._memory[post.name] = post

    def remove(self, name: PostId) -> None:
        self._saved_count()
        if self._saved is None:
            del self._memory[name]
        else:
            self._memory[name] = None
        self._more -= 1

    def in_order(self) -> list[Post]:
        return sorted(self, key=lambda post: post.place)

    def heads(self) -> list[Head]:
        """Return the head of each post, in order."""
        memory = self._memory
        here = [(post.place, *post.name, post.time, post.edit) for post in memory.values() if post is not None]
        saved = [] if self._saved is None else self._saved.heads()
        if memory:
            saved = [head for head in saved if (head[1], head[2]) not in memory]
        return sorted([*saved, *here])

    def _saved_count(self) -> int:
        """Return how many were saved at the beginning. It is counted before the first change, which is saved soon."""
        if self._count is None:
            self._count = 0 if self._saved is None else len(self._saved)
        return self._count


CREATOR: Final = 0  # the first slot of whoever made the data set
SamePerson = Callable[[int, int], bool]  # True if two slots are of one key: whoever is let in again has another slot


def _span_after(spans: Spans, number: int) -> int:
    """Return the index of the first span that begins behind a number."""
    return bisect_right(spans, number, key=itemgetter(0))


def within(spans: Spans, number: int) -> bool:
    at = _span_after(spans, number)
    return at > 0 and spans[at - 1][1] >= number


def with_number(spans: Spans, number: int) -> Spans:
    """Return the spans with one more number in them."""
    if within(spans, number):
        return spans
    at = _span_after(spans, number)
    before = at > 0 and spans[at - 1][1] == number - 1
    after = at < len(spans) and spans[at][0] == number + 1
    low = spans[at - 1][0] if before else number
    high = spans[at][1] if after else number
    return (*spans[: at - before], (low, high), *spans[at + after :])


class Effects(ABC):
    """Posts by name, and for each author the numbers of the events that had their effect: none has it twice."""

    def __init__(self, done: Iterable[tuple[int, Spans]] = ()) -> None:
        self.done: dict[int, Spans] = dict(done)

    @abstractmethod
    def post(self, name: PostId) -> Post | None: ...

    @abstractmethod
    def _add(self, post: Post) -> None: ...

    @abstractmethod
    def _replace(self, post: Post) -> None: ...

    @abstractmethod
    def _remove(self, name: PostId) -> None: ...

    def knows(self, name: PostId) -> bool:
        return within(self.done.get(name.author, ()), name.number)

    def note(self, name: PostId) -> None:
        """Note that an event had its effect."""
        self.done[name.author] = with_number(self.done.get(name.author, ()), name.number)

    def apply(self, body: EventBody, place: int, same: SamePerson) -> None:
        """Give an event its effect."""
        if body.kind is Kind.SAY:
            self._add(Post(PostId(body.author, body.number), place, body.time, body.text, answers=body.target))
        elif body.target is None or (post := self.post(body.target)) is None:
            return
        elif body.kind is Kind.EDIT and same(body.author, post.name.author) and body.number > post.edit:
            self._replace(post._replace(text=body.text, edit=body.number))
        elif body.kind is Kind.DELETE and (same(body.author, CREATOR) or same(body.author, post.name.author)):
            self._remove(post.name)


class Chat(Effects):
    """The chat at the checkpoint. It names what changed since the last `clean`."""

    def __init__(self, posts: Posts | None = None, done: Iterable[tuple[int, Spans]] = ()) -> None:
        super().__init__(done)
        self.posts = Posts() if posts is None else posts
        self.changed_posts: set[PostId] = set()
        self.changed_authors: set[int] = set()

    def post(self, name: PostId) -> Post | None:
        return self.posts.get(name)

    def lacks_text_of(self, event: SignedEvent, counts: bool) -> bool:
        """True if a settled event has a text that is not here, or has taken the place of one that was. A second copy of
        a post may stand behind what changed the post, or took it back."""
        if counts or event.body.kind is not Kind.SAY:
            return event.body.kind in (Kind.EDIT, Kind.DELETE)
        post = self.posts.get(event.name)
        return post is None or post.edit > 0

    def note(self, name: PostId) -> None:
        super().note(name)
        self.changed_authors.add(name.author)

    def clean(self) -> None:
        self.changed_posts.clear()
        self.changed_authors.clear()

    def _add(self, post: Post) -> None:
        self.posts.add(post)
        self.changed_posts.add(post.name)

    def _replace(self, post: Post) -> None:
        self.posts.replace(post)
        self.changed_posts.add(post.name)

    def _remove(self, name: PostId) -> None:
        self.posts.remove(name)
        self.changed_posts.add(name)


class ChatLayer(Effects):
    """Changes on top of a chat that stays as it is: new and edited posts, and the names of those that are gone."""

    def __init__(self, below: Chat) -> None:
        super().__init__()
        self.posts: dict[PostId, Post] = {}
        self.gone: set[PostId] = set()
        self._below = below

    def post(self, name: PostId) -> Post | None:
        found = self.posts.get(name)
        return found if found is not None or name in self.gone else self._below.post(name)

    def knows(self, name: PostId) -> bool:
        return super().knows(name) or self._below.knows(name)

    def _add(self, post: Post) -> None:
        self.posts[post.name] = post

    def _replace(self, post: Post) -> None:
        self.posts[post.name] = post

    def _remove(self, name: PostId) -> None:
        self.posts.pop(name, None)
        self.gone.add(name)


class FrontEvents:
    """The events in front of the checkpoint, without those of operations that do not count."""

    def __init__(self) -> None:
        self.placed: dict[PostId, int] = {}  # events, with how many operations that count carry each
        self.invitations: dict[bytes, int] = {}  # keys invited, with how many such operations
        self.newest: TreeNode | None = None  # the last item that carries an event

    def add(self, node: TreeNode, event: SignedEvent) -> None:
        """Take in the event of an operation."""
        name = event.name
        self.placed[name] = self.placed.get(name, 0) + 1
        if event.body.kind is Kind.INVITE:
            self.invitations[event.body.key] = self.invitations.get(event.body.key, 0) + 1
        if self.newest is None or node.label > self.newest.label:
            self.newest = node

    def drop(self, event: SignedEvent) -> None:
        """Forget an event: the checkpoint passed an operation with it, or the operation does not count."""
        name = event.name
        self.placed[name] -= 1
        if not self.placed[name]:
            del self.placed[name]
        if event.body.kind is Kind.INVITE:
            self.invitations[event.body.key] -= 1
            if not self.invitations[event.body.key]:
                del self.invitations[event.body.key]

    def find_newest(self, node: TreeNode | None) -> None:
        """Find the last item that carries an event from `node` on, after some no longer count."""
        self.newest = None
        while node is not None:
            if node.operation.body.event is not None and not node.dead:
                self.newest = node
            node = node.after
