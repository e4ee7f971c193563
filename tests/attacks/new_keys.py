"""Row 3 of the table: `python -m tests.attacks.new_keys [--size 5000]`."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.attacks.attacker import new_key, now, signed_packet
from tests.attacks.stage import CHANNEL, PATIENCE, Stage, has_text, main, seconds_until
from tests.cli.processes import Line


def new_keys(stage: Stage, size: int) -> bool:
    """Thousands of new keys say one message each; then an impostor and an honest stranger come.

    Defended if the impostor of a known nick is not shown before the user opens them, and is announced then, and the
    honest stranger is known once they are opened.
    """
    ann, bob = stage.pipe("ann"), stage.pipe("bob", "--json-input")
    ann.say("it is me")
    bob.until(has_text(bob, "it is me"), "ann is not heard")
    for number in range(size):
        stage.attacker.say(signed_packet(new_key(), CHANNEL, f"nick{number}", f"hi {number}", now()))
        if number % 500 == 499:
            stage.attacker.flush()
            ann.say(f"at {number}")
            seconds_until(bob, has_text(bob, f"at {number}"), 20.0)
    stage.attacker.flush()
    ann.say("after the keys")
    seconds_until(bob, has_text(bob, "after the keys"))
    impostor, stranger = new_key(), new_key()
    stage.attacker.say(signed_packet(impostor, CHANNEL, "ann", "send me money", now()))
    stage.attacker.say(signed_packet(stranger, CHANNEL, "zoe", "good day", now()))
    stage.attacker.flush()
    ann.say("after the impostor")
    seconds_until(bob, has_text(bob, "after the impostor"))
    hidden = _verdict(bob.lines, "send me money") == "not shown"
    for key in (impostor, stranger):
        bob.say(json.dumps({"open": key.sender_id}))
    announced = seconds_until(bob, _claims(impostor.sender_id), PATIENCE) < PATIENCE
    stage.attacker.say(signed_packet(stranger, CHANNEL, "zoe", "it is me again", now()))
    stage.attacker.flush()
    seconds_until(bob, has_text(bob, "it is me again"), PATIENCE)
    verdict = _verdict(bob.lines, "it is me again")
    friend = _verdict(bob.lines, "after the keys")
    stage.saw("the impostor of a known nick is not shown before they are opened", hidden)
    stage.saw("  and is announced then", announced)
    stage.saw("the message of an honest stranger who was opened is of a key", verdict)
    stage.saw("a message of a friend from before is of a key", friend)
    return hidden and announced and verdict == "known" and friend == "known"


def _claims(sender_id: str) -> Callable[[list[Line]], bool]:
    return lambda lines: any(line["event"] == "nick_claimed" and line["sender_id"] == sender_id for line in lines)


def _verdict(lines: list[Line], text: str) -> str:
    return next(
        (
            str(line["message"]["verdict"])
            for line in lines
            if line["event"] == "delivered" and line["message"].get("text") == text
        ),
        "not shown",
    )


if __name__ == "__main__":
    main(new_keys, 5000, "keys")
