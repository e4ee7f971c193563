"""Row 7 of the table: `python -m tests.attacks.flood [--minutes 1] [--keys 3] [--rate 100]`.

Honest messages at the median within 2 s and 95 of 100 within 10 s; a key on the screen within 100 ms at the median and
500 ms at 95 of 100; the database within `store.max_size`; memory under 200 MB; the head names the flood.
"""

from __future__ import annotations

import argparse
import secrets
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyte

from tests.attacks.attacker import Attacker, new_key, now, signed_packet
from tests.attacks.stage import CHANNEL, Stage, stage
from tests.cli.processes import Pipe, command
from tests.tui.terminal import Terminal

RATE = 100  # packets a second
KEYS = 3
SAY_EVERY = 2.0  # seconds between two honest messages
PRESS_EVERY = 0.5
CAP = 16  # MiB, `store.max_size` of the flooded node
_LAST = 12.0  # seconds after the flood, for what is still under way
_STEP = 0.1
_LAST_BYTES = 300_000
LETTERS = "бгджзийлмнпрстуфцчшщъыьэюя"  # in no other text on the screen


class Flood(threading.Thread):
    """Send packets of a few keys at a steady rate. Each names two messages that nobody has."""

    def __init__(self, attacker: Attacker, keys: int, rate: int) -> None:
        super().__init__(daemon=True)
        self._attacker = attacker
        self._rate = rate
        self._keys = [new_key() for _ in range(keys)]
        self.over = threading.Event()

    def run(self) -> None:
        number, due = 0, time.monotonic()
        while not self.over.wait(max(0.0, due - time.monotonic())):
            due += _STEP
            for _ in range(round(self._rate * _STEP)):
                invented = (secrets.token_hex(32), secrets.token_hex(32))
                key = self._keys[number % len(self._keys)]
                text = f"flood {number} {secrets.token_hex(100)}"
                self._attacker.say(signed_packet(key, CHANNEL, f"f{number % len(self._keys)}", text, now(), invented))
                number += 1


class Figures:
    def __init__(self) -> None:
        self.messages: list[float] = []  # seconds until an honest message is shown
        self.keys: list[float] = []  # seconds until a key is on the screen
        self.memory = 0.0  # MB, at most
        self.head = ""

    def lines(self) -> list[tuple[str, float, float]]:
        """Return what was measured: name, figure and bound."""
        return [
            ("seconds until an honest message is shown, median", statistics.median(self.messages), 2.0),
            ("  95 of 100", _p95(self.messages), 10.0),
            ("milliseconds until a key is on the screen, median", statistics.median(self.keys) * 1000, 100.0),
            ("  95 of 100", _p95(self.keys) * 1000, 500.0),
            ("MB of memory, at most", self.memory, 200.0),
        ]


def _p95(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, round(len(values) * 0.95))]


def flood(made: Stage, minutes: float, keys: int, rate: int) -> bool:
    """Send many packets a second while two honest people talk and one of them types."""
    figures = Figures()
    ann, eve = made.pipe("ann"), made.pipe("eve")
    options = (*made.options, "--set", f"store.max_size={CAP}M")
    with Terminal(command("join", CHANNEL, "--name", "bob", *options), made.home, size=(120, 40)) as screen:
        screen.until_text("ann")
        attack = Flood(made.attacker, keys, rate)
        attack.start()
        try:
            _talk(ann, eve, screen, figures, minutes * 60)
        finally:
            attack.over.set()
            attack.join()
        files = {path.name: path.stat().st_size / 2**20 for path in made.database("bob").parent.glob("sdschat.db*")}
        size = sum(files.values())
    made.saw("packets sent", made.attacker.sent)
    for what, figure, bound in figures.lines():
        made.saw(f"{what} (at most {bound:g})", f"{figure:.1f}")
    made.saw(f"MiB of the database (cap {CAP})", f"{size:.1f}")
    made.saw("  of its files", ", ".join(f"{name} {part:.1f}" for name, part in sorted(files.items())))
    made.saw("the head", figures.head)
    within = all(figure <= bound for _, figure, bound in figures.lines())
    return within and size <= CAP and "/mute" in figures.head


def _talk(ann: Pipe, eve: Pipe, screen: Terminal, figures: Figures, seconds: float) -> None:
    began = time.monotonic()
    until, say_at, press_at, said = began + seconds, began + 1, began + 1, 0
    waiting: dict[str, float] = {}
    pressed: tuple[bytes, int, float] | None = None  # the key, the bytes of the screen before it, and when
    keys, seen = 0, len(eve.lines)
    while (time.monotonic() < until) or (waiting and time.monotonic() < until + _LAST):
        screen.read(0.01)
        moment = time.monotonic()
        fresh, seen = eve.lines[seen:], len(eve.lines)
        for line in fresh:
            word = line["message"].get("text") if line["event"] == "delivered" else None
            if word in waiting:
                figures.messages.append(moment - waiting.pop(word))
        # The bytes are looked at as they are: the emulator of the tests is slower than the screen of a flood.
        if pressed is not None and pressed[0] in screen.written[pressed[1] :]:
            figures.keys.append(moment - pressed[2])
            pressed = None
        if moment < until and moment >= say_at:
            word = f"honest{said}x"
            ann.say(word)
            waiting[word], said, say_at = moment, said + 1, say_at + SAY_EVERY
        if pressed is None and moment < until and moment >= press_at:
            press_at = moment + PRESS_EVERY
            letter = LETTERS[keys % len(LETTERS)]
            pressed = (letter.encode(), len(screen.written), moment)
            screen.press(f"\x7f{letter}" if keys else letter)
            keys += 1
        figures.memory = max(figures.memory, memory_of(screen.process.pid))
    figures.messages += [seconds + _LAST] * len(waiting)
    if pressed is not None:
        figures.keys.append(time.monotonic() - pressed[2])
    figures.head = _head(screen)


def _head(screen: Terminal) -> str:
    """Return the first line of the screen, from the last bytes that were drawn."""
    shown = pyte.Screen(screen.screen.columns, screen.screen.lines)
    pyte.ByteStream(shown).feed(bytes(screen.written[-_LAST_BYTES:]))
    return str(shown.display[0]).strip()


def memory_of(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--keys", type=int, default=KEYS)
    parser.add_argument("--rate", type=int, default=RATE, help=f"packets a second; default: {RATE}")
    asked = parser.parse_args()
    if not 0 < asked.minutes <= 15:
        parser.error("--minutes must be above 0 and at most 15")
    print(f"{asked.rate} packets a second of {asked.keys} keys, for {asked.minutes:g} minutes", flush=True)
    with tempfile.TemporaryDirectory() as folder, stage(Path(folder)) as made:
        defended = flood(made, asked.minutes, asked.keys, asked.rate)
    print("defended" if defended else "NOT DEFENDED")
    sys.exit(0 if defended else 1)


if __name__ == "__main__":
    main()
