"""Row 9 of the table: `python -m tests.attacks.dated_ahead [--size 300]`."""

from __future__ import annotations

import time

from tests.attacks.attacker import new_key, now, signed_packet
from tests.attacks.stage import CHANNEL, Stage, has_text, main, seconds_until

MAX_SKEW = 600_000  # milliseconds, `sds.max_skew`
_BEFORE = 2_000
_STEPS = 10


def dated_ahead(stage: Stage, size: int) -> bool:
    """Messages of strangers, each dated further ahead than the one before, to pull the clocks of the others along.

    The specification wants a clock to follow what is delivered, so the attack moves clocks, but never further than
    `sds.max_skew`: defended if what is dated beyond that moves no clock, however many steps lead there.
    """
    ann, bob = stage.pipe("ann"), stage.pipe("bob")
    for number in range(size):
        ahead = MAX_SKEW - _BEFORE + number * _STEPS * 1000  # the first few are taken, and the others wait
        stage.attacker.say(signed_packet(new_key(), CHANNEL, "zoe", f"from the future {number}", now() + ahead))
    stage.attacker.flush()
    time.sleep(1)
    leads = []
    for number in range(3):
        ann.say(f"what time is it? {number}")
        seconds_until(bob, has_text(bob, f"what time is it? {number}"))
        time.sleep(1)
    for line in bob.lines:
        if line["event"] == "delivered" and line["message"]["nick"] == "ann":
            leads.append(line["message"]["lamport"] - line["time"])
    deferred = sum(line["event"] == "parked" for line in bob.lines)
    stage.saw("messages that wait for their date", deferred)
    stage.saw("seconds by which an honest clock is ahead, each a second later", [round(lead / 1000) for lead in leads])
    return len(leads) == 3 and deferred > 0 and max(leads) <= MAX_SKEW and leads[-1] < leads[0]


if __name__ == "__main__":
    main(dated_ahead, 300, "messages")
