"""The top of the log names an author, wherever it was scrolled to."""

from __future__ import annotations

from tests.tui.stage import Stage, staged


@staged(peers=("bob",), size=(80, 24))
async def test_the_first_visible_line_names_its_author(s: Stage) -> None:
    for number in range(60):
        s.say(f"line {number}\nand its second line")
    await s.until_text("line 59")
    await s.enter("so many")  # all of them are read: no line stands above them
    log = s.app.log_view
    for line in range(3, 40):
        log.scroll_to(y=line, animate=False, force=True)
        await s.settle()
        top, *below = s.log()
        assert top.split()[1] == "bob", top
        assert ":" in top.split()[0], "with its time"
        assert top.split()[-1] in {str((line - 1) // 2), "line"}, "and with the text of that line"
        assert not any("bob" in each for each in below)


@staged(peers=("bob",), size=(80, 24))
async def test_a_selected_line_at_the_top_keeps_its_sign(s: Stage) -> None:
    for number in range(60):
        s.say(f"line {number}")
    await s.until_text("line 59")
    await s.press("f6", *["k"] * 30)
    assert s.log()[0][1] == s.app.log_view.line_style.glyphs.chosen
    assert "bob" in s.log()[0]
