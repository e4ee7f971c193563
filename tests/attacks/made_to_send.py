"""Honest participants are made to send: `python -m tests.attacks.made_to_send [--size 60]`."""

from __future__ import annotations

import random
import secrets
import time
from contextlib import closing

from sdschat.sds.limits import ANSWER_BYTES_PER_MINUTE, ANSWERS_PER_SENDER, PUSH_BYTES_PER_MINUTE
from sdschat.sds.values import HistoryEntry, Message
from sdschat.wire.sds_codec import SdsCodec
from tests.attacks.attacker import now
from tests.attacks.replayed import Listener
from tests.attacks.stage import CHANNEL, Stage, has_text, main, seconds_until

_LINES = 200
_TEXT = 1000  # bytes of each
_NAMES = 50
_EVERY = 2.0  # seconds between two packets of a name
_LATEST = 30.0  # seconds until who lost an honest message has it
_TALK = 64 * 1024  # bytes a minute that each sends by itself: sync messages and presences
_LOSSY = ("--set", "fault.loss=0.3", "--set", "fault.seed=7")
_CODEC = SdsCodec()
_LACKS_ALL = b"\xc4\x0a" + (512 * 8).to_bytes(3, "big") + bytes(6 + 512)  # an empty filter, complete since 1970


def made_to_send(stage: Stage, size: int) -> bool:
    """Fifty invented names ask for all messages, and for invented ones, and say that they have none.

    Defended if nobody sends more than its budgets, whatever is asked for, and who really lost messages gets them.
    `size` is the number of seconds.
    """
    ann, bob, carol = stage.pipe("ann"), stage.pipe("bob"), stage.pipe("carol", *_LOSSY)
    stage.attacker.listen()
    ann.say(*(f"line {number} ".ljust(_TEXT, ".") for number in range(_LINES)))
    seconds_until(bob, lambda lines: len(bob.texts(lines)) == _LINES)
    ids = list(stage.attacker.said)
    names = [secrets.token_hex(16) for _ in range(_NAMES)]
    sent = 0
    late: list[float] = []
    draw = random.Random(1)
    with closing(Listener(stage.port, 0, most=100_000)) as listener:
        made: set[bytes] = set()
        began = time.monotonic()
        turn = 0
        while time.monotonic() - began < size:
            for name in names:
                packet = _asking(name, [*draw.sample(ids, ANSWERS_PER_SENDER), *_invented(ANSWERS_PER_SENDER)])
                made.add(packet)
                stage.attacker.say(packet)
                sent += len(packet)
            stage.attacker.flush()
            turn += 1
            ann.say(f"honest {turn}")
            time.sleep(_EVERY)
        took = (time.monotonic() - began) / 60
        late.append(seconds_until(carol, has_text(carol, f"honest {turn}"), _LATEST))
        topic = stage.attacker.topics.msg
        heard = [packet for on, packet in list(listener.heard) if on == topic and packet not in made]
    lost = [number for number in range(1, turn + 1) if f"honest {number}" not in carol.texts()]
    came = seconds_until(carol, lambda lines: _all_of(carol.texts(lines), turn), _LATEST)
    honest = sum(map(len, heard))
    most = 3 * (ANSWER_BYTES_PER_MINUTE + PUSH_BYTES_PER_MINUTE + _TALK) * (took + 1)
    stage.saw("bytes that the attacker sent", sent)
    stage.saw("bytes that three honest participants sent", honest)
    stage.saw("bytes that they may send by their budgets", round(most))
    stage.saw("honest lines that carol lacked at the end", f"{len(lost)} of {turn}")
    stage.saw("seconds until she had them", f"{came:.1f}")
    return honest <= most and came < _LATEST


def _all_of(texts: list[str], count: int) -> bool:
    return {f"honest {number}" for number in range(1, count + 1)} <= set(texts)


def _invented(count: int) -> list[str]:
    return [secrets.token_hex(32) for _ in range(count)]


def _asking(name: str, ids: list[str]) -> bytes:
    """Return a sync message that asks for these and has a filter with nothing in it."""
    entries = tuple(HistoryEntry(message_id) for message_id in ids)
    return _CODEC.encode(Message(name, secrets.token_hex(16), CHANNEL, now(), (), _LACKS_ALL, entries))


if __name__ == "__main__":
    main(made_to_send, 60, "seconds")
