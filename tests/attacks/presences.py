"""Rows 4 to 6 of the table: `python -m tests.attacks.presences emptied|ghosts|stores|crowd [--size N]`."""

from __future__ import annotations

import signal
import sys
import time

from sdschat.node.channel.presence import STORE
from tests.attacks.attacker import new_key, now, presence, signed_packet
from tests.attacks.stage import CHANNEL, Stage, has_text, main, seconds_until
from tests.cli.processes import Line, Pipe

HISTORY = 3000
_SOON = 10.0  # seconds


def emptied(stage: Stage, size: int) -> bool:
    """The presence of one who talks is emptied, and that of one who left is replayed, again and again.

    Defended if who talks is never shown as gone, and who left is never shown as here again.
    """
    ann, bob = stage.pipe("ann"), stage.pipe("bob")
    topics = stage.attacker.topics
    ann.say("I am here")
    bob.until(has_text(bob, "I am here"), "ann is not heard")
    ann_id = next(str(line["sender_id"]) for line in ann.lines if line["event"] == "joined")
    bob.until_event("presence", sender_id=ann_id, online=True)
    time.sleep(0.5)
    recorded = stage.attacker.heard[topics.who(ann_id)]
    for number in range(size):
        stage.attacker.publish(topics.who(ann_id), b"", retain=True)
        ann.say(f"still here {number}")
        seconds_until(bob, has_text(bob, f"still here {number}"), _SOON)
    hidden = _presences(bob, ann_id, online=False)
    eve = stage.pipe("eve")
    newcomer = seconds_until(eve, lambda lines: _here(lines, ann_id), _SOON)
    ann.kill(signal.SIGTERM)
    gone = seconds_until(bob, lambda lines: not _here(lines, ann_id), _SOON)
    before = _presences(bob, ann_id, online=True)
    for _ in range(size):
        stage.attacker.publish(topics.who(ann_id), recorded, retain=True)
    stage.attacker.flush()
    time.sleep(2)
    back = _presences(bob, ann_id, online=True) - before
    stage.saw("times that one who talks was shown as gone", hidden)
    stage.saw("seconds until a newcomer sees who talks", f"{newcomer:.1f}")
    stage.saw("seconds until one who left is shown as gone", f"{gone:.1f}")
    stage.saw("times that one who left was shown as here again", back)
    return not hidden and newcomer < _SOON and gone < _SOON and not back


def _presences(pipe: Pipe, sender_id: str, *, online: bool) -> int:
    found = [line for line in pipe.lines if line["event"] == "presence" and line["sender_id"] == sender_id]
    return sum(line["online"] is online for line in found)


def _here(lines: list[Line], sender_id: str) -> bool:
    last = [line["online"] for line in lines if line["event"] == "presence" and line["sender_id"] == sender_id]
    return bool(last) and bool(last[-1])


def ghosts(stage: Stage, size: int) -> bool:
    """Hundreds of retained presences of nobody stand before the one source of history when a newcomer joins.

    Defended if the newcomer has all history within twenty seconds; without the attack it takes 4 to 13.
    """
    return _ghosts(stage, size, "")


def stores(stage: Stage, size: int) -> bool:
    """The same of nobody who says to be a Store, which would be asked first."""
    return _ghosts(stage, size, STORE)


def _ghosts(stage: Stage, size: int, role: str) -> bool:
    ann = stage.pipe("ann")
    ann.say(*(f"line {number}" for number in range(HISTORY)))
    ann.until(lambda lines: len(ann.texts(lines)) == HISTORY, "not all is written")
    for number in range(size):
        key = new_key()
        ghost = presence(key, CHANNEL, f"ghost{number}", role)
        stage.attacker.publish(stage.attacker.topics.who(key.sender_id), ghost, retain=True)
    stage.attacker.flush()
    bob = stage.pipe("bob", "--set", "trust.messages_per_minute=0")  # ann said it all in a moment
    took = seconds_until(bob, lambda lines: len(bob.texts(lines)) == HISTORY)
    stage.saw(f"seconds until a newcomer has {HISTORY} messages of history", f"{took:.1f}")
    return took < _SOON * 2


def crowd(stage: Stage, size: int) -> bool:
    """Thousands of presences of new keys, then about as many messages.

    Defended if an honest message is shown within five seconds of the presences, and within five seconds and four
    milliseconds for each message of them.
    """
    ann, bob = stage.pipe("ann"), stage.pipe("bob")
    keys = [new_key() for _ in range(size)]
    for number, key in enumerate(keys):
        stage.attacker.publish(stage.attacker.topics.who(key.sender_id), presence(key, CHANNEL, f"n{number}"))
    stage.attacker.flush()
    ann.say("in the crowd")
    crowded = seconds_until(bob, has_text(bob, "in the crowd"))
    for number, key in enumerate(keys[: size * 5 // 6]):
        stage.attacker.say(signed_packet(key, CHANNEL, f"n{number}", f"hi {number}", now()))
        if number % 250 == 249:
            stage.attacker.flush()
    ann.say("behind the crowd")
    behind = seconds_until(bob, has_text(bob, "behind the crowd"))
    stage.saw(f"seconds until an honest message is shown after {size} presences", f"{crowded:.1f}")
    stage.saw(f"seconds until one is shown after {size * 5 // 6} messages besides", f"{behind:.1f}")
    return crowded < _SOON / 2 and behind < _SOON / 2 + size * 5 // 6 * 0.004


if __name__ == "__main__":
    ATTACKS = {
        "emptied": (emptied, 20, "times"),
        "ghosts": (ghosts, 300, "presences"),
        "stores": (stores, 300, "presences"),
        "crowd": (crowd, 6000, "keys"),
    }
    if len(sys.argv) < 2 or sys.argv[1] not in ATTACKS:
        raise SystemExit(f"name one of: {', '.join(ATTACKS)}")
    main(*ATTACKS[sys.argv.pop(1)])
