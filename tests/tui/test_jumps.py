"""Jumps in a long log: the message that was meant is selected and seen, however many lines its messages have."""

from __future__ import annotations

from tests.tui.stage import Stage, staged

_MESSAGES = 800  # more than those around a jump and those at the end, as they are in memory


async def _write(s: Stage, texts: list[str]) -> list[str]:
    """Send messages that begin with their numbers. Return their ids."""
    sent = [s.app.node.send("lobby", f"{number}: {text}").message_id for number, text in enumerate(texts)]
    await s.settle()
    return sent


def _assert_at(s: Stage, number: int, told: object) -> None:
    """Check that this message is the one that is marked, and that the log is whole around it."""
    log = s.log()
    marked = next((line for line in log if line[1:2] == s.app.log_view.line_style.glyphs.chosen), "")
    assert f" {number}: " in marked, f"{told}: {number} was meant\n" + "\n".join(log)
    assert all(log), f"{told}: lines are blank\n" + "\n".join(log)


@staged(size=(120, 40))
async def test_a_search_finds_its_message_where_the_newest_have_more_lines(s: Stage) -> None:
    """The log has fewer lines then, as they are counted around the hit, than the screen was scrolled to."""
    await _write(s, [*["short"] * 212, "flowerpot", *["short"] * (_MESSAGES - 220), *["one line\nand one more"] * 7])
    await s.enter("/search flowerpot")
    _assert_at(s, 212, "search")
    await s.press("escape", "escape", "alt+end")
    assert s.follows()
    assert any(f"{_MESSAGES - 1}: " in line for line in s.log())
