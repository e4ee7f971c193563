"""`python -m tests.attacks.overrun [--size 12000]`: three times as many packets as a program takes in, of new keys.

Honest messages come within seconds meanwhile, and a program ends soon when it is told to.
"""

from __future__ import annotations

import secrets
import signal
import statistics
import threading
import time
from collections.abc import Sequence

from sdschat.identity.signing import Identity
from tests.attacks.attacker import Attacker, new_key, now, signed_packet
from tests.attacks.flood import memory_of
from tests.attacks.stage import CHANNEL, PATIENCE, Stage, has_text, main, seconds_until
from tests.cli.processes import Pipe

KEYS = 300
TIMES = 3  # as many packets as are taken in
FIRST = 400  # packets by which that is measured
SAY_EVERY = 0.5  # seconds
USUALLY, ALWAYS, END = 3.0, 15.0, 10.0  # seconds
_STEP = 0.02


class Overrun(threading.Thread):
    """Send packets at a steady rate, until they are all sent or it is over."""

    def __init__(self, attacker: Attacker, packets: Sequence[bytes], rate: float) -> None:
        super().__init__(daemon=True)
        self._attacker = attacker
        self._rate = rate
        self._packets = packets
        self.over = threading.Event()

    def run(self) -> None:
        began, sent = time.monotonic(), 0
        while sent < len(self._packets) and not self.over.wait(_STEP):
            due = int((time.monotonic() - began) * self._rate)
            for packet in self._packets[sent:due]:
                self._attacker.say(packet)
            sent = max(sent, due)


def overrun(made: Stage, size: int) -> bool:
    """Send three times as many packets as can be taken in while somebody talks."""
    ann, bob = made.pipe("ann"), made.pipe("bob")
    ann.say("hello")
    bob.until(has_text(bob, "hello"), "an honest message")
    keys = [new_key() for _ in range(KEYS)]
    packets = [_packet(keys[number % KEYS], invented=number % 2) for number in range(size)]
    rate = TIMES * _taken_in(made, keys)
    attack = Overrun(made.attacker, packets, rate)
    attack.start()
    took: list[float] = []
    while attack.is_alive() or not took:
        took.append(_honest(ann, bob, f"honest {len(took)}"))
        time.sleep(max(0.0, SAY_EVERY - took[-1]))
    memory = max(memory_of(pipe.process.pid) for pipe in (ann, bob))
    began = time.monotonic()
    bob.kill(signal.SIGTERM)
    ended = time.monotonic() - began
    made.saw("packets a second", f"{rate:.0f}")
    made.saw("packets sent, and honest messages", f"{made.attacker.sent}, {len(took)}")
    made.saw(f"seconds until one is shown, median (at most {USUALLY:g})", f"{statistics.median(took):.1f}")
    made.saw(f"  the slowest (at most {ALWAYS:g})", f"{max(took):.1f}")
    made.saw(f"seconds from SIGTERM to the end (at most {END:g})", f"{ended:.1f}")
    made.saw("MB of memory, at most", f"{memory:.0f}")
    return statistics.median(took) <= USUALLY and max(took) <= ALWAYS and ended <= END


def _packet(key: Identity, *, invented: int = 0) -> bytes:
    """Return a packet that names so many messages that nobody has."""
    history = tuple(secrets.token_hex(32) for _ in range(invented))
    return signed_packet(key, CHANNEL, "f", secrets.token_hex(100), now(), history)


def _taken_in(made: Stage, keys: Sequence[Identity]) -> float:
    """Return how many packets bob takes in a second on this machine."""
    count = "SELECT count(*) FROM body"
    before = made.count("bob", count)
    packets = [_packet(keys[number % KEYS]) for number in range(FIRST)]
    began = time.monotonic()
    for packet in packets:
        made.attacker.say(packet)
    while made.count("bob", count) < before + FIRST:
        if time.monotonic() - began > PATIENCE:
            raise TimeoutError("bob does not take in what comes")
        time.sleep(_STEP)
    return FIRST / (time.monotonic() - began)


def _honest(ann: Pipe, bob: Pipe, text: str) -> float:
    ann.say(text)
    return seconds_until(bob, has_text(bob, text), 2 * ALWAYS)


if __name__ == "__main__":
    main(overrun, 12_000, "packets")
