"""The moving picture: each frame is shown once in a round, for its time."""

from __future__ import annotations

import re

from tests.screenshots.theatre import Frame, joined, moving


def picture(text: str) -> str:
    return f'<svg viewBox="0 0 10 10"><text>{text}</text></svg>'


def test_frames_are_shown_one_after_the_other() -> None:
    shown = moving([Frame(picture("one"), 1.0), Frame(picture("two"), 1.0), Frame(picture("three"), 2.0)])
    ends = [float(end) for end in re.findall(r", ([0-9.]+)% { visibility: visible", shown)]
    assert ends == [25.0, 50.0, 100.0]
    assert re.findall(r"<text>(\w+)</text>", shown) == ["one", "two", "three"]
    assert shown.count("<svg") == 1


def test_a_frame_is_shown_long_enough_to_be_seen_and_no_longer_than_needed() -> None:
    shown = moving([Frame(picture("one"), 0.1), Frame(picture("two"), 60.0)])
    assert "3.30s" in shown  # 0.9 and 2.4 seconds


def test_neighbours_of_one_colour_are_one_rectangle() -> None:
    def ground(x: int, fill: str, y: int = 1) -> str:
        return f'<rect fill="{fill}" x="{x}" y="{y}" width="10" height="2"/>'

    drawn = "<g>" + ground(0, "#111111") + ground(10, "#111111") + ground(20, "#222222") + "<text>a</text>"
    wide = '<rect fill="#111111" x="0" y="1" width="20" height="2"/>'
    assert joined(drawn + ground(0, "#222222", 3)) == (
        "<g>" + wide + ground(20, "#222222") + "<text>a</text>" + ground(0, "#222222", 3)
    )
