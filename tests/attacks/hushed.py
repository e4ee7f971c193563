"""Timers of repair that others set off at the right moments: `python -m tests.attacks.hushed [--size 12]`."""

from __future__ import annotations

import secrets
import signal
import threading
import time
from dataclasses import replace

from sdschat.sds.bloom.compact import body_of
from sdschat.sds.values import HistoryEntry, Message
from sdschat.wire.sds_codec import SdsCodec
from tests.attacks.attacker import now
from tests.attacks.stage import CHANNEL, Stage, has_text, main, seconds_until
from tests.cli.processes import Pipe

_EVERY = 0.3  # seconds between two rounds of the attacker: shorter than any timer of repair
_NAMES = 8
_BITS, _HASHES = 4096, 10
_LATEST = 180.0  # seconds until who lost messages has them
_LOSSY = ("--set", "fault.loss=0.3", "--set", "fault.seed=3")
_CODEC = SdsCodec()


def hushed(stage: Stage, size: int) -> bool:
    """Ask before carol asks, answer wrongly before others answer, and say in her name that she has everything.

    Defended if carol, whose link loses 3 of 10 packets, has all that was said by somebody who has left.
    """
    stage.attacker.listen()
    ann, bob = stage.pipe("ann"), stage.pipe("bob")
    carol = stage.pipe("carol", *_LOSSY)
    carol.say("carol is here")
    seconds_until(bob, has_text(bob, "carol is here"))
    carol_id = next(str(line["sender_id"]) for line in carol.lines if line["event"] == "joined")
    over = threading.Event()
    names = [carol_id, *(secrets.token_hex(16) for _ in range(_NAMES))]

    def attack() -> None:
        while not over.wait(_EVERY):
            packets = dict(stage.attacker.said)
            for name in names:
                stage.attacker.say(_asking(name, list(packets)))
            for packet in packets.values():
                stage.attacker.say(_false(packet))
            stage.attacker.flush()

    thread = threading.Thread(target=attack)
    thread.start()
    try:
        for number in range(size):
            ann.say(f"line {number}")
            seconds_until(bob, has_text(bob, f"line {number}"))
        ann.kill(signal.SIGTERM)
        bob.say("that was ann")
        began = time.monotonic()
        seconds_until(carol, lambda lines: _lines(carol) == size, _LATEST)
        took = time.monotonic() - began
    finally:
        over.set()
        thread.join()
    stage.saw("lines of hers that carol has", f"{_lines(carol)} of {size}")
    stage.saw("seconds until she had the last one", f"{took:.1f}")
    stage.saw("packets of the attacker", stage.attacker.sent)
    return _lines(carol) == size


def _lines(pipe: Pipe) -> int:
    return len({text for text in pipe.texts() if text.startswith("line ")})


def _asking(name: str, ids: list[str]) -> bytes:
    """Return a sync message that asks for all of these, and whose filter has all of them."""
    full = b"\xc4" + bytes((_HASHES,)) + _BITS.to_bytes(3, "big") + bytes(6) + body_of(ids, _HASHES, _BITS, 0)
    entries = tuple(HistoryEntry(message_id) for message_id in ids)
    return _CODEC.encode(Message(name, secrets.token_hex(16), CHANNEL, now(), (), full, entries))


def _false(packet: bytes) -> bytes:
    """Return a packet of the same id with another text."""
    message = _CODEC.decode(packet)
    assert isinstance(message, Message)
    return _CODEC.encode(replace(message, content=b"false", bloom_filter=None))


if __name__ == "__main__":
    main(hushed, 12, "lines")
