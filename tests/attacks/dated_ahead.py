"""Row 9 of the table: `python -m tests.attacks.dated_ahead [--size 3]`."""

from __future__ import annotations

import time

from tests.attacks.attacker import new_key, now, signed_packet
from tests.attacks.stage import CHANNEL, Stage, has_text, main, seconds_until

AHEAD = 598_000  # milliseconds
_SMALL = 121_000


def dated_ahead(stage: Stage, size: int) -> bool:
    """Messages of a stranger that are dated nearly ten minutes ahead.

    Defended if the clocks of the others do not follow.
    """
    ann, bob = stage.pipe("ann"), stage.pipe("bob")
    stranger = new_key()
    for number in range(size):
        stage.attacker.say(signed_packet(stranger, CHANNEL, "zoe", f"from the future {number}", now() + AHEAD))
    stage.attacker.flush()
    time.sleep(1)
    ann.say("what time is it?")
    seconds_until(bob, has_text(bob, "what time is it?"))
    line = next(line for line in bob.lines if line["event"] == "delivered" and line["message"]["nick"] == "ann")
    lead = line["message"]["lamport"] - now()
    stage.saw("seconds by which an honest clock is ahead", f"{lead / 1000:.1f}")
    return bool(lead < _SMALL)


if __name__ == "__main__":
    main(dated_ahead, 3, "messages")
