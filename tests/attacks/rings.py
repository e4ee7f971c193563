"""Messages that name each other, with dates that only some wait for: `python -m tests.attacks.rings [--size 1]`."""

from __future__ import annotations

import secrets
import time

from sdschat.sds.values import HistoryEntry, Message
from sdschat.wire.sds_codec import SdsCodec
from tests.attacks.attacker import now
from tests.attacks.stage import CHANNEL, Stage, has_text, main, seconds_until

_CODEC = SdsCodec()
_LOST_AFTER = 12  # seconds
_LATEST = 60.0  # seconds until bob's message is shown
_OLD = 3_000  # milliseconds before bob joined: he waits for nothing of that date, and ann does


def rings(stage: Stage, size: int) -> bool:
    """Pairs of unsigned messages name each other. Who joined after their date has them in the log, and names them.

    Defended if that message of bob's is shown to ann, who joined before it and waits for both of a pair.
    """
    lost = ("--set", f"sds.lost_after={_LOST_AFTER}s")
    ann = stage.pipe("ann", *lost)
    ann.say("before")
    time.sleep(2 * _OLD / 1000)
    dated = now() - _OLD
    bob = stage.pipe("bob", *lost, "--set", "sds.max_skew=1s")
    seconds_until(bob, has_text(bob, "before"))
    for number in range(size):
        for packet in _pair(dated + 2 * number):
            stage.attacker.say(packet)
    stage.attacker.flush()
    seconds_until(bob, lambda _: sum(text.startswith("ring ") for text in bob.texts()) == 2 * size, _LATEST)
    bob.say("after")
    delay = seconds_until(ann, has_text(ann, "after"), _LATEST)
    stage.saw("seconds until the message of bob is shown", f"{delay:.1f}")
    return delay < _LATEST


def _pair(lamport: int) -> list[bytes]:
    ids = [secrets.token_hex(32), secrets.token_hex(32)]
    return [
        _CODEC.encode(
            Message("ring", ids[at], CHANNEL, lamport + at, (HistoryEntry(ids[1 - at]),), content=b"ring %d" % at)
        )
        for at in range(2)
    ]


if __name__ == "__main__":
    main(rings, 1, "pairs")
