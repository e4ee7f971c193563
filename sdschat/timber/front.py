"""The chat in front of the checkpoint, kept up as operations come.

What events do to posts does not depend on their order, but for a change that stands before its post. So a new one is
applied on top, wherever it stands; where that could be wrong, all is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from sdschat.timber.chat import ChatLayer
from sdschat.timber.replica import Replica
from sdschat.timber.tree import TreeNode
from sdschat.timber.values import Kind, PostId, SignedEvent

Order = tuple[int, int]
_CHANGES_KEPT: Final = 4096  # more than these, and more than there are posts, are told as "all"


class FrontMark(NamedTuple):
    """A place in the list of changes, up to which somebody has seen them."""

    made: int  # times that all was made anew
    changes: int


def _post_of(event: SignedEvent) -> PostId | None:
    """Return the post that an event says or changes."""
    return event.name if event.body.kind is Kind.SAY else event.body.target


class FrontChat:
    """Changes of the posts of the checkpoint: operations in front of it, and events of ours that are unwritten.

    `where`: the first operation in front of the checkpoint with each event. `own`: returns our events, by number.
    """

    def __init__(
        self,
        replica: Replica,
        where: Mapping[PostId, TreeNode],
        own: Callable[[], Iterable[SignedEvent]],
    ) -> None:
        self._replica, self._where, self._own = replica, where, own
        self._layer: ChatLayer | None = None
        self._made = 0
        self._changed: list[PostId] = []  # posts, since all was made anew
        self._early: set[PostId] = set()  # posts that are not here, and are changed

    @property
    def layer(self) -> ChatLayer:
        """Return the changes. It is valid until the next verb of the engine."""
        if self._layer is None:
            self._make()
        assert self._layer is not None
        return self._layer

    def order(self, name: PostId) -> Order:
        """Return where a post stands that the checkpoint has not passed: less than those behind it."""
        node = self._where.get(name)
        return (1, name.number) if node is None else (0, node.label)

    def changes(self, seen: FrontMark | None) -> tuple[FrontMark, list[PostId] | None]:
        """Return the posts that may have changed since a mark, which an earlier call returned; None: all of them."""
        layer = self.layer
        if len(self._changed) > max(_CHANGES_KEPT, len(layer.posts)):
            self._made += 1
            self._changed.clear()
        mark = FrontMark(self._made, len(self._changed))
        return mark, self._changed[seen.changes :] if seen is not None and seen.made == mark.made else None

    def forget(self) -> None:
        """Make all anew, when it is asked for."""
        self._layer = None

    def add(self, event: SignedEvent, node: TreeNode | None = None) -> None:
        """Take in the event of an operation in front of the checkpoint; without one, an event of ours."""
        if self._layer is None:
            return
        name = event.name
        if not self._layer.knows(name):
            if self._may_stand_wrong(event, node):
                self.forget()
            else:
                self._apply(event)
        elif self._where.get(name) is node:
            self._changed.append(name)  # it was unwritten, or behind its second copy

    def replaced(self, event: SignedEvent) -> tuple[PostId, ...]:
        """Return the posts that read otherwise where another event of this name comes first. Of two, the first one
        counts, so all is made anew."""
        node = self._where.get(event.name)
        other = None if node is None else node.operation.body.event
        if other is None or other == event:
            return ()
        self.forget()
        posts = (_post_of(event), _post_of(other))
        return tuple(dict.fromkeys(post for post in posts if post is not None))

    def settled(self, event: SignedEvent) -> None:
        """Note that the checkpoint passed an operation with this event."""
        layer, name = self._layer, _post_of(event)
        if layer is None or name is None:
            return
        below, post = self._replica.chat.posts.get(name), layer.posts.get(name)
        if event.body.kind is not Kind.SAY and not self._replica.chat.knows(name):
            self.forget()  # it stood before its post, and did nothing
        elif below is None:
            layer.gone.discard(name)
            layer.posts.pop(name, None)
        elif post is not None and post.edit > below.edit:
            layer.posts[name] = below._replace(text=post.text, edit=post.edit)
        else:
            layer.posts.pop(name, None)
        self._changed.append(name)

    def _may_stand_wrong(self, event: SignedEvent, node: TreeNode | None) -> bool:
        """True if an event may be a change that stands before its post, or a post with such a change."""
        name, target = event.name, event.body.target
        if event.body.kind is Kind.SAY or target is None:
            return name in self._early
        unsettled = target in self.layer.posts and not self._replica.chat.knows(target)
        return node is not None and unsettled and (0, node.label) < self.order(target)

    def _apply(self, event: SignedEvent) -> None:
        layer, body = self.layer, event.body
        layer.note(event.name)
        if body.kind is not Kind.SAY and body.target is not None and layer.post(body.target) is None:
            self._early.add(body.target)
        layer.apply(body, 0, self._replica.committee.same_person)
        self._changed.append(_post_of(event) or event.name)

    def _make(self) -> None:
        replica = self._replica
        self._layer = ChatLayer(replica.chat)
        self._early.clear()
        node = replica.settled.after if replica.settled is not None else None
        while node is not None:
            event = node.operation.body.event
            if event is not None and not node.dead and not self._layer.knows(event.name):
                self._apply(event)
            node = node.after
        for event in self._own():
            if not self._layer.knows(event.name):
                self._apply(event)
        self._made += 1
        self._changed.clear()
