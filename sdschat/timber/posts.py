"""The posts that are alive at the checkpoint, of which the saved ones are read when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from sdschat.timber.values import Post, PostId

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
