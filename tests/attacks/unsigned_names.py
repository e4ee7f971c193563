"""Names that cost nothing and sign nothing: `python -m tests.attacks.unsigned_names [--size 10000]`."""

from __future__ import annotations

import secrets

from sdschat.identity.key_book import PEOPLE_A_MINUTE
from tests.attacks.attacker import now, unsigned_packet
from tests.attacks.flood import memory_of
from tests.attacks.stage import CHANNEL, Stage, has_text, main, seconds_until

_AT_ONCE = 100
_LATEST = 30.0  # seconds until an honest message is shown
_MEMORY = 200  # MB
_BYTES_EACH = 1500  # of database, for each name


def unsigned_names(stage: Stage, size: int) -> bool:
    """Ten thousand invented names say a line each, as other makes do, which sign nothing.

    Defended if at most twenty are shown, one event a second counts the others, an honest message comes through, and
    memory, database and the number of values in it stay within bounds.
    """
    ann, bob = stage.pipe("ann"), stage.pipe("bob")
    ann.say("before")
    seconds_until(bob, has_text(bob, "before"))
    for number in range(size):
        stage.attacker.say(unsigned_packet(secrets.token_hex(16), CHANNEL, f"hi {number}", now())[1])
        if number % _AT_ONCE == _AT_ONCE - 1:
            stage.attacker.flush()
    stage.attacker.flush()
    ann.say("after")
    delay = seconds_until(bob, has_text(bob, "after"))
    shown = sum(text.startswith("hi ") for text in bob.texts())
    seconds_until(bob, lambda lines: any(line.get("keys") == size - shown for line in lines), _LATEST)
    told = max((line["keys"] for line in bob.lines if line["event"] == "strangers"), default=0)
    memory = memory_of(bob.process.pid)
    taken = stage.database("bob").stat().st_size
    stage.saw("names that are shown", shown)
    stage.saw("names that wait, as told", told)
    stage.saw("seconds until an honest message is shown", f"{delay:.1f}")
    stage.saw("memory, MB", f"{memory:.0f}")
    stage.saw("database, MB", f"{taken / 2**20:.1f}")
    bounded = memory < _MEMORY and taken < 2**20 + _BYTES_EACH * size
    return shown <= PEOPLE_A_MINUTE and told == size - shown and delay < _LATEST and bounded


if __name__ == "__main__":
    main(unsigned_names, 10_000, "names")
