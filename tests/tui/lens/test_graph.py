"""The lines of the causal graph, drawn from parents alone."""

from __future__ import annotations

import random

import pytest

from sdschat.tui.lens.graph import GraphNode, boxed, rows

Spec = tuple[tuple[str, str], ...]


def graph(spec: Spec) -> list[GraphNode]:
    return [
        GraphNode(name, "s", 1000 - place, tuple(parents.split()), "delivered")
        for place, (name, parents) in enumerate(spec)
    ]


def drawn(spec: Spec) -> list[str]:
    return [f"{row.rails:8}{row.node.message_id if row.node else ''}".rstrip() for row in rows(graph(spec))]


def test_a_line_is_one_rail() -> None:
    assert drawn((("c", "b"), ("b", "a"), ("a", ""))) == ["*       c", "*       b", "*       a"]


def test_two_heads_meet_where_both_name_the_same() -> None:
    assert drawn((("c", "a"), ("b", "a"), ("a", ""))) == ["*       c", "| *     b", "+-'", "*       a"]


def test_a_message_that_names_two_opens_a_rail_and_closes_it() -> None:
    assert drawn((("d", "c b"), ("c", "a"), ("b", "a"), ("a", ""))) == [
        "*       d",
        "+-.",
        "* |     c",
        "| *     b",
        "+-'",
        "*       a",
    ]


def test_three_parents_and_a_line_that_crosses_a_rail() -> None:
    assert drawn((("x", "w v u"), ("w", "t"), ("v", "t"), ("u", "t"), ("t", ""))) == [
        "*       x",
        "+-.-.",
        "* | |   w",
        "| * |   v",
        "+-' |",
        "|   *   u",
        "+---'",
        "*       t",
    ]


def test_what_is_named_and_not_shown_draws_no_rail() -> None:
    assert drawn((("b", "gone"), ("a", "gone"))) == ["*       b", "*       a"]


def test_a_rail_has_the_author_of_the_message_at_its_end() -> None:
    found = [
        GraphNode("d", "dave", 4, ("c", "b"), "delivered"),
        GraphNode("c", "carol", 3, ("a",), "delivered"),
        GraphNode("b", "bob", 2, ("a",), "delivered"),
        GraphNode("a", "ann", 1, (), "delivered"),
    ]
    assert [(row.rails, row.authors) for row in rows(found)] == [
        ("*", ("dave",)),
        ("+-.", ("carol", "bob")),
        ("* |", ("carol", "bob")),
        ("| *", ("ann", "bob")),
        ("+-'", ("ann", "bob")),
        ("*", ("ann",)),
    ]


def test_states_have_signs_of_their_own() -> None:
    found = [
        GraphNode("c", "s", 3, ("b",), "buffered"),
        GraphNode("b", "s", 2, (), "missing"),
        GraphNode("a", "s", 1, (), "delivered"),
    ]
    assert [row.rails for row in rows(found)] == ["o", "?", "*"]


@pytest.mark.parametrize("seed", range(30))
def test_any_graph_has_every_message_once_and_rails_that_end(seed: int) -> None:
    chance = random.Random(seed)
    names = [f"m{number}" for number in range(40)]
    spec = tuple(
        (name, " ".join(chance.sample(names[place + 1 : place + 8], min(2, len(names) - place - 1))))
        for place, name in enumerate(names)
    )
    made = rows(graph(spec))
    assert [row.node.message_id for row in made if row.node] == names
    for row in made:
        assert row.rails.count("*") == (row.node is not None)
        assert set(row.rails) <= set("*|+-.' ")
    assert "|" not in made[-1].rails


def test_rails_in_box_drawing_turn_where_those_of_letters_do() -> None:
    drawn = ["* | |", "+-.-.", "+-' |", "+---'", "o ?"]
    assert [boxed(rails) for rails in drawn] == ["● │ │", "├─┬─╮", "├─╯ │", "├───╯", "○ ?"]
