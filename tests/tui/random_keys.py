"""Random keys, as bytes in a real terminal whose size changes: the program must go on, and end when it is told to.

python -m tests.tui.random_keys                          seed after seed, until one fails
python -m tests.tui.random_keys --first 7 --seeds 1      one of them, with what it pressed
python -m tests.tui.random_keys --screens theatre chat   on these screens alone
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.cli.processes import command, run
from tests.transport.worlds import free_port
from tests.tui.terminal import PATIENCE, Terminal

ESC = "\x1b"
COUNT = 300  # of a seed
KEYS = (
    *("\r", "\r", "\t", f"{ESC}[Z", "\x7f", " ", "\n", f"{ESC}\r"),
    *(f"{ESC}[{letter}" for letter in "ABCDFH"),  # arrows, End, Home
    *(f"{ESC}[1;{modifier}{letter}" for letter in "ABCDF" for modifier in (3, 5)),  # with Alt, with Ctrl
    *(f"{ESC}[{number}~" for number in (3, 5, 6)),  # Delete, PgUp, PgDn
    *(f"{ESC}O{letter}" for letter in "PPQQRRSS"),  # F1 to F4
    *(f"{ESC}[{number}~" for number in (15, 17, 18, 19, 20, 21)),  # F5 to F10
    *(f"{ESC}[20;2~", f"{ESC}[21;2~"),  # Shift+F9, Shift+F10
    *(f"{ESC}{letter}" for letter in "123alu"),  # with Alt
    *(
        "\x06",
        "\x06",
        "\x10",
        "\x10",
        "\x12",
        "\x15",
        "\x17",
        "\x18",
        "\x1a",
        "\x19",
    ),  # with Ctrl: F, P, R, U, W, X, Z, Y
    *"aeionrtyikjgGpNs.?/",
)
_LINES = (
    *(
        "/help",
        "/help signs",
        "/keys",
        "/legend",
        "/who",
        "/channels",
        "/info",
        "/why",
        "/outbox",
        "/thread",
        "/hits",
        "/mentions",
    ),
    *("/original", "/search o", "/goto 1h", "/start", "/end", "/late", "/unread", "/links", "/clear", "/verify"),
    *("/bare", "/split", "/split dev", "/ids", "/theme light", "/theme plain", "/theme dark", "/matrix", "/trace"),
    *("/lens why", "/lens graph", "/lens events", "/lens packet", "/join x", "/part", "/next", "/msg bob hello"),
    *("/reply so", "/me waves", "/mute bob", "/unmute bob", "/highlight so", "/fault offline", "/fault loss 50%"),
    *("/fault off", "/reconnect", "/step 5", "/back 3", "/play", "one", "two https://a.example/ three"),
    *(
        "a long line of many words " * 12,
        "\U0001f469\u200d\U0001f680 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "/",
    ),
)
_SIZES = ((100, 30), (80, 24), (60, 15), (200, 50), (120, 40), (40, 10), (50, 12), (20, 5), (3, 2), (1, 1))
_OF_A_REPORT = 4000  # letters at the end of a report of a crash
_SCREENS = ("chat", "demo", "theatre", "members", "replay")


def pressed(seed: int, count: int) -> Iterator[str | tuple[int, int]]:
    """Yield what is pressed at once, and sizes of the terminal."""
    drawn = random.Random(seed)
    keys = KEYS if drawn.random() < 0.6 else drawn.sample(KEYS, 8)  # few keys meet more often
    for _ in range(count):
        kind = drawn.random()
        if kind < 0.12:
            yield drawn.choice(_SIZES) if drawn.random() < 0.7 else (drawn.randint(1, 220), drawn.randint(1, 60))
        elif kind < 0.22:
            yield f"{drawn.choice(_LINES)}\r"
        elif kind < 0.27:
            x, y, button = drawn.randint(1, 100), drawn.randint(1, 30), drawn.choice((0, 0, 0, 64, 65))
            yield f"{ESC}[<{button};{x};{y}M{ESC}[<{button};{x};{y}m"
        elif kind < 0.29:
            yield f"{ESC}[200~pasted {drawn.choice(_LINES)}\nmore{ESC}[201~"
        elif kind < 0.34:
            yield ESC  # alone: a key that follows at once would belong to it
        else:
            yield "".join(drawn.choices(keys, k=drawn.choice((1, 1, 1, 2, 2, 5))))


def program(screen: str, folder: Path) -> list[str]:
    """Return the command that shows a screen."""
    if screen == "chat":
        return command("join", "lobby", "dev", "--name", "ann", "--set", f"embedded.port={free_port()}")
    if screen != "replay":
        return command("demo", *([f"--{screen}"] if screen != "demo" else []))
    recording = folder / "run.jsonl"
    if not recording.exists():
        assert run(folder, "demo", "--headless", "--seconds", "3", "--record", str(recording)).returncode == 0
    return command("replay", str(recording), "--speed", "3")


def go(screen: str, seed: int, folder: Path, count: int = COUNT) -> list[str]:
    """Press the keys of a seed. Return what was pressed; raise AssertionError if the program fails or stays."""
    done: list[str] = []
    drawn = random.Random(seed)
    told = f"{screen}, seed {seed}"
    with Terminal(
        program(screen, folder), folder / f"{screen}-{seed}", env={"EDITOR": "true", "BROWSER": "true"}
    ) as terminal:
        terminal.until(lambda: b"\x1b[?1049h" in terminal.written, f"{told}: no screen")
        for each in pressed(seed, count):
            if terminal.process.poll() is not None:
                break
            done.append(repr(each))
            if isinstance(each, str):
                terminal.press(each)
            else:
                terminal.resize(*each)
            rest = time.monotonic() + drawn.choice((0, 0, 0.01, 0.03, 0.15))
            while (left := rest - time.monotonic()) > 0:
                terminal.read(left)
            if each == ESC:
                terminal.read(0.12)
        ended = terminal.process.poll() is not None
        deadline = time.monotonic() + PATIENCE
        while terminal.process.poll() is None and time.monotonic() < deadline:
            terminal.press("\x11")  # Ctrl+Q: Ctrl+C copies what is marked
            terminal.read(0.1)
        code = terminal.process.poll()
        last = bytes(terminal.written).rpartition(b"\x1b[?1049l")[2].decode(errors="replace")
        last = terminal.text() if code is None else last
        reports = "".join(report.read_text()[-_OF_A_REPORT:] for report in terminal.home.rglob("failure-*.txt"))
        what = f"{told}: {'stays' if code is None else f'exit code {code}'}\n{last}\n{reports}\n{' '.join(done)}"
        assert code == 0, what
    return [*done, "ended" if ended else "went on"]


def main() -> None:
    """Run the seeds that are asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--keys", type=int, default=COUNT)
    parser.add_argument("--screens", nargs="+", default=_SCREENS, choices=_SCREENS)
    wanted = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for seed in range(wanted.first, wanted.first + wanted.seeds):
            for screen in wanted.screens:
                try:
                    done = go(screen, seed, folder, wanted.keys)
                except AssertionError as error:
                    failed += 1
                    print(error, flush=True)
                else:
                    print(f"{screen} {seed}: {len(done) - 1} keys, {done[-1]}", flush=True)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
