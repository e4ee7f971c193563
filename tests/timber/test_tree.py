"""The operation tree: its linear order, which never changes, in a number of steps that does not follow its size."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from sdschat.timber.tree import Tree, TreeNode
from sdschat.timber.values import Operation, OperationBody, interval_for, running_hashes

Shape = list[tuple[int, int]]  # for each item but the first: its parent, by position, and a number for its id


def node(number: int, parent: bytes = b"") -> TreeNode:
    body = OperationBody(0, 1, parent, (), b"", 0, 0)
    return TreeNode(number.to_bytes(8, "big"), Operation(body, b"", b""))


def grown(shape: Shape) -> tuple[Tree, list[TreeNode]]:
    tree, items = Tree(), [node(0)]
    tree.plant(items[0])
    used = {0}
    for parent, number in shape:
        while number in used:
            number += 1
        used.add(number)
        above = items[parent % len(items)]
        items.append(node(number, above.id))
        tree.add(items[-1], above)
    return tree, items


def walked(items: list[TreeNode]) -> list[bytes]:
    """Return the linear order by a walk of the whole tree: a node, then its children from the lowest id on."""
    children: dict[bytes, list[TreeNode]] = {}
    for one in items[1:]:
        children.setdefault(one.operation.body.parent, []).append(one)
    found, stack = [], [items[0]]
    while stack:
        one = stack.pop()
        found.append(one.id)
        stack += sorted(children.get(one.id, []), key=lambda child: child.id, reverse=True)
    return found


shapes = st.lists(st.tuples(st.integers(0, 200), st.integers(1, 5000)), max_size=60)


@given(shapes)
@settings(max_examples=150, deadline=None)
def test_t_010_linear_order_is_the_walk_by_the_lowest_id(shape: Shape) -> None:
    """T-009: "Choose a deterministic function." siblings by id, the lowest first.

    T-010: "because branches are ordered and each transaction references the last, we can derive a linear history"
    """
    tree, items = grown(shape)
    order = walked(items)
    assert [one.id for one in tree.walk()] == order
    labels = [one.label for one in tree.walk()]
    assert labels == sorted(set(labels))
    assert tree.last is not None
    assert tree.last.id == order[-1]
    for one in items:
        tail = one
        while tail.children:
            tail = tail.children[-1]
        assert one.path.tail is tail


@given(shapes, st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_lemma_order_never_changes(shape: Shape, rng: random.Random) -> None:
    """Adding operations never swaps two that are there.

    T-005: "Causal trees model ordering of concurrent and sequential events."
    """
    tree, items = grown(shape)
    before = [one.id for one in tree.walk()]
    for number in range(20):
        above = rng.choice(items)
        items.append(node(10_000 + rng.randrange(10_000) * 100 + number, above.id))
        tree.add(items[-1], above)
    kept = set(before)
    assert [one.id for one in tree.walk() if one.id in kept] == before


@given(shapes, shapes, st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_what_is_removed_leaves_no_trace_in_the_order_of_what_comes(
    shape: Shape, more: Shape, rng: random.Random
) -> None:
    tree, items = grown(shape)
    for _ in range(rng.randint(0, len(items))):
        leaves = [one for one in items[1:] if not one.children]
        if leaves:
            items.remove(leaf := rng.choice(leaves))
            tree.remove(leaf)
    for parent, number in more:
        above = items[parent % len(items)]
        items.append(node(number * 1000 + len(items), above.id))
        if items[-1].id in tree.nodes:
            items.pop()
        else:
            tree.add(items[-1], above)
    assert [one.id for one in tree.walk()] == walked(items)
    assert tree.last is not None
    assert tree.last.id == walked(items)[-1]
    assert tree.nodes.keys() == {one.id for one in items}
    for one in items:
        tail = one
        while tail.children:
            tail = tail.children[-1]
        assert one.path.tail is tail


def test_t_010_example_of_the_prose() -> None:
    """A1, A2, A3, B2, A4, B5, A5, B6: a branch that counts as more recent stands behind the other.

    T-008: "If two people append simultaneously, obviously that creates a branch"

    T-010: "because branches are ordered and each transaction references the last, we can derive a linear history"
    """
    names = {"A1": 0, "A2": 1, "B2": 2, "A3": 3, "A4": 4, "B5": 5, "A5": 6, "B6": 7}
    parents = {"A2": "A1", "B2": "A1", "A3": "A2", "A4": "B2", "B5": "A4", "A5": "A4", "B6": "A5"}
    tree = Tree()
    items = {"A1": node(0)}
    tree.plant(items["A1"])
    for child, parent in parents.items():
        items[child] = node(names[child], items[parent].id)
        tree.add(items[child], items[parent])
    by_id = {one.id: name for name, one in items.items()}
    assert [by_id[one.id] for one in tree.walk()] == ["A1", "A2", "A3", "B2", "A4", "B5", "A5", "B6"]


def test_appending_reads_no_history() -> None:
    """A million insertions at one place find room for their labels, and a long branch is passed in one step."""
    tree, items = grown([])
    first = branch = items[0]
    for number in range(1, 20_000):  # one branch, which a lower one then comes in front of
        one = node(10**9 + number, branch.id)
        tree.add(one, branch)
        branch = one
    low = first
    for number in range(1, 20_000):
        one = node(number, low.id)
        tree.add(one, low)
        low = one
    assert low.after is not None
    assert low.after.operation.body.parent == first.id
    late = node(10**12, first.id)
    tree.add(late, first)
    assert tree.last is late
    assert branch.after is late
    labels = [one.label for one in tree.walk()]
    assert all(low < high for low, high in pairwise(labels))


def test_dropped_items_leave_the_rest_in_order() -> None:
    tree, items = grown([(0, 5), (0, 9), (1, 7), (1, 8), (2, 6), (3, 11)])
    order = list(tree.walk())
    assert [one.id for one in order] == walked(items)
    dropped = tree.drop_through(order[3])
    assert dropped == order[:4]
    assert list(tree.walk()) == order[3:]
    again = Tree()
    again.plant(node(int.from_bytes(order[3].id, "big")))
    rest = [node(int.from_bytes(one.id, "big"), one.operation.body.parent) for one in order[4:]]
    again.restore(rest)
    assert [one.id for one in again.walk()] == [one.id for one in order[3:]]
    for number in (50, 60):
        for one, other in ((tree, order[5]), (again, again.nodes[order[5].id])):
            one.add(node(number, other.id), other)
    assert [one.id for one in again.walk()] == [one.id for one in tree.walk()]


def test_t_067_hashes_at_intervals() -> None:
    """29 operations with an interval of 8: four hashes.

    T-065: "The interval field defines how often a hash is captured on a linearized tree."

    T-067: "If there are 29 operations in the causal tree with an interval=8, you will have 4 hashes."
    """
    ids = [bytes([number]) * 32 for number in range(29)]
    hashes = running_hashes(ids, 8)
    assert len(hashes) == 4
    assert hashes[:3] == running_hashes(ids[:24], 8)
    assert running_hashes(ids[:8], 8) == hashes[:1]
    assert running_hashes([], 8) == ()


def test_t_066_an_interval_is_a_power_of_two() -> None:
    """T-066: "It is a power of 2 to maximize the chance of intersection with other intervals"

    T-068: "Adjust the interval at runtime to optimize for size vs latency." the power of two nearest to the square root
    of the length.
    """
    for wrong in (0, 3, 12, -8):
        try:
            running_hashes([], wrong)
        except ValueError:
            continue
        raise AssertionError(wrong)
    assert [interval_for(count) for count in (0, 1, 29, 100, 10_000, 100_000)] == [1, 1, 4, 8, 128, 256]
