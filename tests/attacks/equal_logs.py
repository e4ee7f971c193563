"""Sources that say that nothing is lacking: `python -m tests.attacks.equal_logs [--size 30]`."""

from __future__ import annotations

import time
from contextlib import closing

from sdschat.catchup.values import AnswerFrame, Ask, Frame, RangeReply
from sdschat.node.channel.presence import STORE
from sdschat.wire.catchup_codec import SyncCodec, split_signature
from tests.attacks.attacker import new_key, presence
from tests.attacks.replayed import Listener
from tests.attacks.stage import PATIENCE, Stage, main, seconds_until

_LINES = 2000  # of the channel; about 40 a second come without a comparison, which may begin after 30 s
_EQUAL = RangeReply(equal=True)


def equal_logs(stage: Stage, size: int) -> bool:
    """Keys that are here, a third of them as Stores, answer each question about their log with "equal".

    Defended if a newcomer has the history all the same. `size` is the number of such keys.
    """
    attacker, topics = stage.attacker, stage.attacker.topics
    ann, bob = stage.pipe("ann"), stage.pipe("bob")
    ann.say(*(f"line {number}" for number in range(_LINES)))
    seconds_until(bob, lambda lines: len(bob.texts(lines)) == _LINES)
    names = set()
    for number in range(size):
        key = new_key()
        names.add(key.sender_id)
        role = "" if number % 3 else STORE
        attacker.publish(topics.who(key.sender_id), presence(key, attacker.channel, "eve", role), retain=True)
    attacker.flush()
    asked: set[str] = set()
    with closing(Listener(stage.port, 0, most=100_000)) as listener:
        dan = stage.pipe("dan")
        began, at = time.monotonic(), 0
        while len(dan.texts()) < _LINES and time.monotonic() - began < PATIENCE:
            heard = listener.heard[at:]
            at += len(heard)
            for topic, payload in heard:
                place = topics.place(topic)
                if place is None or place.what != "sync" or place.to not in names:
                    continue
                frame = SyncCodec().decode(split_signature(payload)[0])
                if isinstance(frame, Frame) and isinstance(frame.what, Ask):
                    answer = AnswerFrame((_EQUAL,) * len(frame.what.questions))
                    listener.publish(
                        topics.sync(place.frm, place.to), SyncCodec().encode_frame(frame._replace(what=answer))
                    )
                    asked.add(place.to)
            time.sleep(0.02)
        took = time.monotonic() - began
    compared = max((line["done"] for line in dan.lines if line["event"] == "catching_up"), default=0)
    stage.saw("keys that were asked, and said that nothing is lacking", f"{len(asked)} of {size}")
    stage.saw("lines that a newcomer has", f"{len(dan.texts())} of {_LINES}")
    stage.saw("of them by comparison", compared)
    stage.saw("seconds until then", f"{took:.0f}")
    return compared > 0 and len(dan.texts()) == _LINES


if __name__ == "__main__":
    main(equal_logs, 30, "keys")
