"""The counts of what was not on the screen, against a plain list of it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from sdschat.node.view.values import UNREAD_COUNTED
from sdschat.tui.model.unread_line import UnreadLine
from tests.tui.model.samples import NOON, entry

STEPS = [*["came"] * 4, *["came while looking"] * 4, *["seen"] * 3, "dropped", "all seen"]


@pytest.mark.parametrize("seed", range(20))
def test_what_is_unread_and_what_of_it_is_to_the_user_is_counted_right(seed: int) -> None:
    draw = random.Random(seed)
    rows = [replace(entry(number), mention=draw.random() < 0.3) for number in range(60)]
    line, unseen, waits = UnreadLine(rows[0].key, NOON), set[int](), set[int]()
    line.start(rows[1:9], 8)
    unseen |= set(range(1, 9))
    for _ in range(200):
        number = draw.randrange(len(rows))
        match draw.choice(STEPS):
            case "came":
                line.add(rows[number], rows, looking=False)
                unseen.add(number)
            case "came while looking":
                line.add(rows[number], rows, looking=True)
                waits.add(number)
            case "seen":
                low = draw.randrange(len(rows))
                sight = set(range(low, low + 10)) & set(range(len(rows)))
                line.see({rows[one].message_id for one in sight}, rows)
                unseen, waits = (unseen | waits) - sight, set()
            case "dropped":
                line.drop(rows[number].message_id)
                unseen.discard(number)
                waits.discard(number)
            case _:
                line.see_all()
                unseen, waits = set(), set()
        assert (line.unread, line.mentions) == (len(unseen), sum(rows[one].mention for one in unseen))


def test_numbers_that_are_not_counted_to_the_end_have_a_plus() -> None:
    rows = [replace(entry(number), mention=number == 3) for number in range(9)]
    line = UnreadLine(rows[0].key, NOON)
    line.start(rows[1:], UNREAD_COUNTED)
    line.see([rows[1].message_id], rows)
    assert line.words("Alt+U") == (f"{UNREAD_COUNTED - 1}+ new, 1+ to you: Alt+U", f"{UNREAD_COUNTED - 1}+ new: Alt+U")
    line.see_all()
    line.add(rows[3], rows, looking=False)
    assert line.words("Alt+U")[0] == "1 new, 1 to you: Alt+U"
