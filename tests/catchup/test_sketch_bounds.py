"""Cells that do not come from an honest log, and those that take several steps."""

from __future__ import annotations

from sdschat.catchup.sketch import Shortener, differ, fill, is_one

SHORTENER = Shortener(9)
SHORTS = [SHORTENER.short(f"message {at}") for at in range(40)]


def places_of(short: int, cells: int) -> list[int]:
    return [at for at, cell in enumerate(fill([short], cells)) if cell]


def test_a_short_id_in_a_cell_that_is_not_its_own_hides_no_other() -> None:
    stranger, other = SHORTS[:2]
    cells = fill([other], 30)
    for at in set(range(30)) - {*places_of(stranger, 30), *places_of(other, 30)}:
        cells[at] = stranger
    found = differ([], cells)
    assert found.theirs == (other,)
    assert not found.whole


def test_a_cell_of_several_hides_no_other() -> None:
    cells = fill(SHORTS[:1], 30)
    noise = SHORTS[1] ^ SHORTS[2]
    assert not is_one(noise)
    for at in set(range(30)) - {*places_of(SHORTS[0], 30)}:
        cells[at] = noise
    assert differ([], cells).theirs == (SHORTS[0],)


def test_each_that_is_found_may_leave_another_one_alone() -> None:
    found = differ(SHORTS[:3], fill(SHORTS[2:12], 60))
    assert (set(found.theirs), found.ours, found.whole) == (set(SHORTS[3:12]), 2, True)


def test_too_many_differences_for_the_cells_are_not_the_whole() -> None:
    assert not differ([], fill(SHORTS, 6)).whole


def test_a_short_id_is_checked_in_every_bit() -> None:
    assert is_one(SHORTS[0])
    assert not any(is_one(SHORTS[0] ^ 1 << bit) for bit in range(64))
