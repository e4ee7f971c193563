"""Jumps in a long log: the message that was meant is selected and seen, however many lines its messages have."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tui.stage import Stage, staged

_MESSAGES = 800  # more than those around a jump and those at the end, as they are in memory
_STEPS = 20
_SIZES = ((80, 24), (100, 30), (118, 40), (140, 40))


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


@pytest.mark.parametrize("seed", [1, 4])
def test_jumps_at_drawn_sizes_among_messages_of_drawn_heights(tmp_path: Path, seed: int) -> None:
    drawn = random.Random(seed)

    @staged(size=drawn.choice(_SIZES))
    async def story(s: Stage) -> None:
        texts: list[str] = []
        while len(texts) < _MESSAGES:
            most = drawn.choice((1, 1, 8, 30, 100))  # messages of about one height stand together
            texts += [" ".join(["word"] * drawn.randint(1, most)) for _ in range(drawn.choice((20, 200)))]
        sent, log, done = await _write(s, texts), s.app.log_view, [f"seed {seed}"]
        ways: dict[str, Callable[[], None]] = {
            "end": log.action_end,
            "start": log.action_start,
            "page": lambda: log.action_pages(-1),
        }
        for _ in range(_STEPS):
            step = drawn.choice(("jump", "jump", "end", "start", "page", "size"))
            done.append(step)
            if step == "jump":
                number = drawn.randrange(len(sent))
                s.app.select(sent[number])
                await s.settle()
                _assert_at(s, number, done)
            elif step == "size":
                await s.pilot.resize_terminal(*drawn.choice(_SIZES))
            else:
                ways[step]()
            await s.settle()
            assert all(s.log()), f"{done}: lines are blank\n" + "\n".join(s.log())
            assert step != "start" or any(" 0: " in line for line in s.log()), done
            assert step != "end" or s.follows(), done

    story(tmp_path)
