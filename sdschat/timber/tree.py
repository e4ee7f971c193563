"""The operation tree in its linear order, with no walk of the history for each operation.

Children of one parent stand in the order of their ids, each followed by all that is below it. A *path* leads from some
operation to the last item below it, always by the highest child; `TreePath.tail` is that last item. A new highest child
cuts a path in two, and the shorter part is relabelled, so an operation changes its path a logarithmic number of times.
Labels are numbers in the linear order, with gaps: two items are compared in one step.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from sdschat.timber.values import Operation

_GAP: Final = 1 << 32
_id = attrgetter("id")


class TreePath:
    """A path by the highest children, down to `tail`."""

    __slots__ = ("tail",)

    def __init__(self, tail: TreeNode) -> None:
        self.tail = tail


class TreeNode:
    """An operation in the tree."""

    __slots__ = (
        "after",
        "arrival",
        "before",
        "children",
        "dead",
        "id",
        "label",
        "operation",
        "parent",
        "path",
        "released",
        "settled",
    )

    def __init__(self, operation_id: bytes, operation: Operation) -> None:
        self.id = operation_id
        self.operation = operation
        self.parent: TreeNode | None = None  # None also where it was compacted
        self.children: list[TreeNode] = []  # sorted by id
        self.before: TreeNode | None = None
        self.after: TreeNode | None = None
        self.label = 0
        self.path = TreePath(self)
        self.arrival = 0
        self.dead = False  # without effect: its writer was removed
        self.settled = False
        self.released = False  # compacted; it only marks the place behind which the tree goes on

    def release(self) -> None:
        """Let go of what the operation carries, after a compaction up to it."""
        self.operation = Operation(self.operation.body._replace(event=None), b"", b"")
        self.released = True


class Tree:
    """Operations since the last compaction, by id and in linear order. `first` is the last one behind it, if any."""

    def __init__(self) -> None:
        self.nodes: dict[bytes, TreeNode] = {}
        self.first: TreeNode | None = None
        self.last: TreeNode | None = None

    def plant(self, node: TreeNode) -> None:
        """Make `node` the only item: the first operation of all, or the last one behind a compaction."""
        self.nodes = {node.id: node}
        self.first = self.last = node

    def restore(self, nodes: list[TreeNode]) -> None:
        """Put items behind the first one, in their linear order. Parents of some are gone."""
        assert self.first is not None
        before: TreeNode = self.first
        for node in nodes:
            self.nodes[node.id] = node
            node.label = before.label + _GAP
            node.before = before
            before.after = node
            node.parent = self.nodes.get(node.operation.body.parent)
            if node.parent is not None:
                node.parent.children.append(node)
            before = node
        self.last = before
        for node in reversed([self.first, *nodes]):
            if node.children:
                node.path = node.children[-1].path

    def add(self, node: TreeNode, parent: TreeNode) -> None:
        siblings = parent.children
        node.parent = parent
        self.nodes[node.id] = node
        if not siblings:
            node.path = parent.path
            node.path.tail = node
            siblings.append(node)
            self._insert(parent, node)
            return
        place = bisect_left(siblings, node.id, key=_id)
        if place < len(siblings):
            before = siblings[place].before
            assert before is not None
            siblings.insert(place, node)
            self._insert(before, node)
            return
        last = siblings[-1]
        end = last.path.tail
        siblings.append(node)
        self._insert(end, node)
        _cut(parent, last, node)

    def drop_through(self, last: TreeNode) -> list[TreeNode]:
        """Remove the items before `last` and return them with it. `last` stays, since it can still gain children."""
        dropped = []
        node = self.first
        while node is not last:
            assert node is not None
            del self.nodes[node.id]
            for child in node.children:
                child.parent = None
            node.children = []
            dropped.append(node)
            node = node.after
        assert last is not None
        last.before = last.parent = None
        self.first = last
        return [*dropped, last]

    def remove(self, node: TreeNode) -> None:
        """Remove an item, behind the first one, that has no children and will have none."""
        del self.nodes[node.id]
        before, after, parent = node.before, node.after, node.parent
        assert before is not None
        before.after = after
        if after is None:
            self.last = before
        else:
            after.before = before
        if parent is None:
            return
        parent.children.remove(node)
        if not parent.children:
            parent.path.tail = parent
        elif parent.path is node.path:
            path, up = parent.children[-1].path, parent.parent
            parent.path = path
            while up is not None and up.path is node.path:
                up.path, up = path, up.parent

    def walk(self, start: TreeNode | None = None) -> Iterator[TreeNode]:
        """Yield items in linear order, from `start` or the first one on."""
        node = start or self.first
        while node is not None:
            yield node
            node = node.after

    def _insert(self, before: TreeNode, node: TreeNode) -> None:
        """Put `node` behind `before` in the linear order."""
        after = before.after
        if after is None:
            self.last = node
            node.label = before.label + _GAP
        else:
            if after.label - before.label < 2:
                _spread(before)
            node.label = (before.label + after.label) // 2
            after.before = node
        node.before, node.after = before, after
        before.after = node


def _cut(parent: TreeNode, child: TreeNode, new: TreeNode) -> None:
    """Cut the path that leads from `parent` to `child`, and let the upper part end in `new`, its new highest child.

    Both parts are walked in step, and the one that ends first is relabelled.
    """
    path, tail = child.path, child.path.tail
    up: list[TreeNode] = []
    down: list[TreeNode] = []
    high: TreeNode | None = parent
    low: TreeNode | None = child
    while True:
        if high is None or high.path is not path:
            upper = TreePath(new)
            for node in up:
                node.path = upper
            new.path = upper
            return
        if low is None:
            lower = TreePath(tail)
            for node in down:
                node.path = lower
            path.tail = new
            new.path = path
            return
        up.append(high)
        down.append(low)
        high = high.parent
        low = low.children[-1] if low.children else None


def _spread(before: TreeNode) -> None:
    """Give the items around a place without room new labels, evenly: as many as it takes to make room."""
    low = high = before
    count, wanted = 1, 4
    while True:
        while count < wanted and low.before is not None:
            low, count = low.before, count + 1
        while count < 2 * wanted and high.after is not None:
            high, count = high.after, count + 1
        floor = low.before.label if low.before is not None else low.label - _GAP * count
        top = high.after.label if high.after is not None else floor + _GAP * (count + 1)
        if top - floor > (count + 1) * wanted or (low.before is None and high.after is None):
            break
        wanted *= 2
    step = (top - floor) // (count + 1)
    node: TreeNode | None = low
    label = floor
    for _ in range(count):
        assert node is not None
        label += step
        node.label = label
        node = node.after
