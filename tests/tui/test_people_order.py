"""The list of people and the cells of a tick have one order, whoever came or spoke last."""

from __future__ import annotations

from tests.tui.stage import Stage, staged

CALLED = ("Dave", "bob", "carol")


@staged(peers=CALLED, size=(120, 30))
async def test_the_list_of_people_and_the_cells_have_one_order(s: Stage) -> None:
    for name in ("bob", "Dave", "carol"):
        s.say(f"{name} speaks", who=name)
        await s.until_text(f"{name} speaks")
        await s.until(lambda: len(s.app.model.present) == len(CALLED))
        people = [person for person in s.app.model.conversation.people() if not person.own]
        assert [person.nick for person in people] == ["bob", "carol", "Dave"]
        assert s.app.model.present == tuple(person.sender_id for person in people)
        lines = s.lines()
        where = [next(at for at, line in enumerate(lines) if f"▪ {one} " in line) for one in ("ann", "bob", "carol")]
        assert where == [*range(where[0], where[0] + 3)], "so do they stand on the screen"
        assert "▪ Dave" in s.lines()[where[-1] + 1]
