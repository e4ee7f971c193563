"""Standard input in bursts, as it comes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from sdschat.cli.stdio import bursts

_PAUSE = 0.05


def feed(story: Callable[[int, asyncio.Event], Awaitable[None]], limit: int = 100) -> list[bytes]:
    """Return the bursts made of the input that `story` writes; it may wait for a first burst."""

    async def run() -> list[bytes]:
        found: list[bytes] = []
        came = asyncio.Event()
        source, sink = os.pipe()
        writing = asyncio.gather(story(sink, came))
        async for burst in bursts(source, limit, _PAUSE):
            found.append(burst)
            came.set()
        await writing
        os.close(source)
        return found

    return asyncio.run(run())


def test_what_comes_at_once_is_one() -> None:
    async def story(sink: int, _came: asyncio.Event) -> None:
        os.write(sink, b"one\ntwo\nthr")
        os.write(sink, b"ee")
        os.close(sink)

    assert feed(story) == [b"one\ntwo\nthree"]


def test_a_pause_ends_it_and_an_unfinished_line_waits() -> None:
    async def story(sink: int, came: asyncio.Event) -> None:
        os.write(sink, b"one\nunfini")
        await came.wait()
        os.write(sink, b"shed\n")
        os.close(sink)

    assert feed(story) == [b"one\n", b"unfinished\n"]


def test_what_is_too_long_is_cut_between_lines_and_never_within_a_character() -> None:
    async def story(sink: int, _came: asyncio.Event) -> None:
        os.write(sink, b"a" * 60 + b"\n" + b"b" * 60 + b"\n")
        os.write(sink, "ß".encode() * 130)
        os.close(sink)

    found = feed(story, limit=101)
    assert b"".join(found) == b"a" * 60 + b"\n" + b"b" * 60 + b"\n" + "ß".encode() * 130
    assert found[0] == b"a" * 60 + b"\n"
    assert all(len(part) <= 101 and part.decode() for part in found)


def test_a_file_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"line\n" * 50)

    async def run() -> list[bytes]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            return [burst async for burst in bursts(descriptor, 100, 10.0)]
        finally:
            os.close(descriptor)

    found = asyncio.run(run())
    assert b"".join(found) == b"line\n" * 50
    assert max(map(len, found)) == 100
