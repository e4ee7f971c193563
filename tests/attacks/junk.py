"""Row 8 of the table: `python -m tests.attacks.junk [--size 10000]`."""

from __future__ import annotations

import secrets
import time

from tests.attacks.stage import Stage, has_text, main, seconds_until

_FEW = 20  # rows of the journal
_COUNTED = "SELECT coalesce(sum(count), 0) FROM rejection"


def junk(stage: Stage, size: int) -> bool:
    """Packets that nobody can read.

    Defended if they leave a few rows in the journal, which count all of them.
    """
    ann, bob = stage.pipe("ann"), stage.pipe("bob")
    for number in range(size):
        stage.attacker.say(b"\xff" + secrets.token_bytes(40))
        if number % 250 == 249:
            stage.attacker.flush()
    stage.attacker.flush()
    ann.say("after the junk")
    took = seconds_until(bob, has_text(bob, "after the junk"))
    until = time.monotonic() + _FEW
    while stage.count("bob", _COUNTED) < size and time.monotonic() < until:  # what people say comes before the junk
        time.sleep(0.1)
    rows = stage.count("bob", "SELECT count(*) FROM journal WHERE event = 'rejected'")
    counted = stage.count("bob", _COUNTED)
    stage.saw("rows in the journal", rows)
    stage.saw("refused packets counted", counted)
    stage.saw("seconds until an honest message is shown", f"{took:.1f}")
    return rows <= _FEW and counted >= size and took < _FEW


if __name__ == "__main__":
    main(junk, 10_000, "packets")
