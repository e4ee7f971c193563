"""Keys that cost nothing: `python -m tests.attacks.many_keys [--size 100]`."""

from __future__ import annotations

import json

from sdschat.identity.key_book import PEOPLE_A_MINUTE
from tests.attacks.attacker import new_key, now, signed_packet
from tests.attacks.stage import CHANNEL, Stage, has_text, main, seconds_until
from tests.cli.processes import Line, Pipe


def many_keys(stage: Stage, size: int) -> bool:
    """A hundred new keys say a line each at once, while two who know each other talk; then the user opens all of them.

    Defended if at most twenty are shown, those who know each other are shown as ever, one event says how many wait, and
    one command shows everything.
    """
    ann, bob = stage.pipe("ann"), stage.pipe("bob", "--json-input")
    ann.say("before")
    seconds_until(bob, has_text(bob, "before"))
    for number in range(size):
        stage.attacker.say(signed_packet(new_key(), CHANNEL, f"nick{number}", f"hi {number}", now()))
    stage.attacker.flush()
    ann.say("after")
    delay = seconds_until(bob, has_text(bob, "after"))
    bob.until(lambda lines: _waiting(lines) == size - PEOPLE_A_MINUTE + 1, "not told")  # ann is one of the people
    told = [line["keys"] for line in bob.lines if line["event"] == "strangers"]
    shown = _shown(bob)
    bob.say(json.dumps({"open": "all"}))
    bob.until(lambda lines: any(line["event"] == "strangers" and line["keys"] == 0 for line in lines), "not opened")
    opened = sum(len(line["opened"]) for line in bob.lines if line["event"] == "strangers")
    stage.saw("messages of new keys that are shown", shown)
    stage.saw("seconds until a friend's message is shown", f"{delay:.1f}")
    stage.saw("keys that wait, as told by one event a second", told)
    stage.saw("keys that one command opened", opened)
    return shown <= PEOPLE_A_MINUTE and bool(told) and told[-1] == opened == size - shown


def _waiting(lines: list[Line]) -> int:
    return next((int(line["keys"]) for line in reversed(lines) if line["event"] == "strangers"), 0)


def _shown(pipe: Pipe) -> int:
    texts = (line["message"].get("text", "") for line in pipe.lines if line["event"] == "delivered")
    return sum(text.startswith("hi ") for text in texts)


if __name__ == "__main__":
    main(many_keys, 100, "keys")
