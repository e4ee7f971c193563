"""Keys that a page of `sdschat serve` may pass on to its program, where each that waits takes a kilobyte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import cast

import pytest
from aiohttp import WSMessage, WSMsgType, web

from sdschat.cli.web import server
from sdschat.cli.web.server import Pace, _Chat, count_keys


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("", 0),
        ("hello", 5),
        ("é\n😀", 3),
        ("\x1b[A\x1b[1;5C", 2),
        ("\x1b[<35;10;20M" * 7, 7),
        ("\x1b[200~" + "x" * 6400 + "\x1b[201~", 101),
        ("a\x1b[200~b\x1b[201~c\x1b[200~d\x1b[201~", 4),
        ("\x1b[200~never ends", 1),
        ("\x1b[200~" * 1000, 1000),
        ("\x1b[1", 3),
    ],
)
def test_keys_are_counted(text: str, keys: int) -> None:
    assert count_keys(text) == keys


def test_a_burst_goes_through_and_what_follows_waits() -> None:
    pace = Pace()
    assert pace.wait(4096, 100.0) == pytest.approx(0)
    assert pace.wait(300, 100.0) == pytest.approx(1.0)
    assert pace.wait(300, 102.0) == pytest.approx(0)
    assert pace.wait(1, 1000.0) == 0


class _Page:
    """A browser that says these texts."""

    def __init__(self, *texts: str) -> None:
        self._texts = texts

    async def __aiter__(self) -> AsyncIterator[WSMessage]:
        for text in self._texts:
            yield WSMessage(WSMsgType.TEXT, json.dumps(["stdin", text]), None)


class _Program:
    def __init__(self) -> None:
        self.heard: list[bytes] = []

    async def send_bytes(self, data: bytes) -> None:
        self.heard.append(data)


def passed_on(monkeypatch: pytest.MonkeyPatch, *texts: str) -> tuple[list[bytes], float]:
    """Return what the program of a page heard, and for how long the page was not read meanwhile."""
    program, waits = _Program(), [0.0]

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("sdschat.cli.web.server.asyncio.sleep", sleep)
    asyncio.run(server._pass_on(cast(web.WebSocketResponse, _Page(*texts)), cast(_Chat, program)))
    return program.heard, sum(waits)


def test_a_page_that_sends_millions_of_keys_is_not_read_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four million of them took 600 MB of memory in its program, and more as they were looked at."""
    heard, waited = passed_on(monkeypatch, *("x" * 4000,) * 4)
    assert len(heard) == 4
    assert waited > (12_000 - 4096) / 300


def test_a_page_that_sends_more_keys_at_once_than_anybody_presses_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert passed_on(monkeypatch, "a", "x" * 5000, "b")[0] == [b"a"]


def test_the_longest_text_that_can_be_pasted_goes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    pasted = "\x1b[200~" + "x" * (server._LARGEST - 40) + "\x1b[201~"
    heard, waited = passed_on(monkeypatch, pasted)
    assert heard == [pasted.encode()]
    assert waited == pytest.approx(0)
