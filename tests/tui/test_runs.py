"""Messages that follow each other: the nick once for a run of an author, the time once for a minute."""

from __future__ import annotations

from tests.tui.stage import Stage, staged


@staged(peers=("bob",))
async def test_the_nick_stands_once_in_a_run_of_one_author(s: Stage) -> None:
    s.say("the first")
    await s.until_text("the first")
    s.say("the second")
    await s.until_text("the second")
    await s.enter("between")
    s.say("the third")
    await s.until_text("the third")
    said = [line for line in s.log() if "the " in line or "between" in line]
    assert ["bob" in line for line in said] == [True, False, False, True]
    assert "ann" in said[2]


@staged(peers=("bob",))
async def test_a_line_of_the_program_ends_a_run(s: Stage) -> None:
    s.say("the first")
    await s.until_text("the first")
    s.app.show_notice("something happened")
    s.say("the second")
    await s.until_text("the second")
    assert sum("bob" in line and "the " in line for line in s.log()) == 2
