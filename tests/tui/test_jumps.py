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
_SMALL = ((60, 15), (40, 10), (30, 6), (20, 4))


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


def _marked(s: Stage) -> bool:
    return any(line[1:2] == s.app.log_view.line_style.glyphs.chosen for line in s.log())


@staged(size=(100, 30))
async def test_a_selected_message_stays_on_a_smaller_screen(s: Stage) -> None:
    """Fewer columns make more lines of what stands above it."""
    sent = await _write(s, [" ".join(["word"] * 30)] * 60)
    s.app.select(sent[30])
    await s.settle()
    for size in (*_SMALL, (100, 30)):
        await s.pilot.resize_terminal(*size)
        await s.settle()
        assert _marked(s), f"{size}:\n" + s.text()


@staged(peers=("bob",), size=(100, 30))
async def test_a_selected_message_stays_while_others_come_in(s: Stage) -> None:
    """The sentence on it, and the keys that answer or copy it, were about a message out of sight."""
    sent = await _write(s, [f"word {number}" for number in range(60)])
    await s.press("alt+up", "alt+up", "alt+up")
    for number in range(40):
        s.say(f"news {number}")
    await s.until(lambda: any("news 5" in line for line in s.log()))
    assert s.app.model.selected == sent[-3]
    _assert_at(s, 57, "while they come in")
    assert not s.follows()
    await s.until(lambda: s.app.model.unread > 0)
    await s.press("alt+end")
    assert s.follows()
    assert not _marked(s)
    s.say("the last one")
    await s.until(lambda: any("the last one" in line for line in s.log()))
    assert s.follows(), "it may go out of sight now"


@staged(size=(100, 30))
async def test_a_message_that_was_scrolled_away_stays_away_on_a_smaller_screen(s: Stage) -> None:
    sent = await _write(s, [f"word {number}" for number in range(100)])
    s.app.select(sent[10])
    await s.settle()
    s.app.log_view.action_pages(1)
    await s.settle()
    top = s.log()[0].partition("  ⇡")[0].rstrip()
    await s.pilot.resize_terminal(100, 15)
    await s.settle()
    assert s.log()[0].startswith(top)
    assert not _marked(s)


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
                seen = _marked(s)
                await s.pilot.resize_terminal(*drawn.choice(_SIZES + _SMALL))
                await s.settle()
                assert _marked(s) or not seen, f"{done}: the selected message is out of sight\n" + "\n".join(s.log())
                await s.pilot.resize_terminal(*drawn.choice(_SIZES))
            else:
                ways[step]()
            await s.settle()
            assert all(s.log()), f"{done}: lines are blank\n" + "\n".join(s.log())
            assert step != "start" or any(" 0: " in line for line in s.log()), done
            assert step != "end" or s.follows(), done

    story(tmp_path)
