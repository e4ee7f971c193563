"""Names of 60,000 bytes in topics: `python -m tests.attacks.long_names [--size 300]`."""

from __future__ import annotations

import time

from tests.attacks.stage import Stage, has_text, main, seconds_until

_NAME = 60_000  # bytes of each
_FLUSH_EVERY = 50
_MOST = 2 << 20  # bytes that bob's database may grow


def long_names(stage: Stage, size: int) -> bool:
    """People whose names have 60,000 bytes come, and send what nobody can read.

    Defended if bob is told of none of them and writes nothing of them, and an honest message comes.
    """
    ann, bob = stage.pipe("ann"), stage.pipe("bob")
    ann.say("hello")
    seconds_until(bob, has_text(bob, "hello"))
    me = stage.text("bob", "SELECT node FROM boot")
    before, topics = _size(stage), stage.attacker.topics
    for number in range(size):
        name = f"{number}".ljust(_NAME, "x")
        stage.attacker.publish(topics.who(name), b"here")
        stage.attacker.publish(topics.sync(me, name), b"junk")
        if number % _FLUSH_EVERY == 0:
            stage.attacker.flush()
    stage.attacker.flush()
    ann.say("still here")
    took = seconds_until(bob, has_text(bob, "still here"))
    time.sleep(1)
    grown = _size(stage) - before
    told = sum(len(str(line.get("sender_id", ""))) >= _NAME for line in list(bob.lines))
    stage.saw("bytes that the attacker sent", 2 * size * _NAME)
    stage.saw("bytes that bob's database grew", grown)
    stage.saw("lines of them that bob was shown", told)
    stage.saw("seconds until an honest message came", f"{took:.1f}")
    return not told and grown < _MOST and took < 10


def _size(stage: Stage) -> int:
    return sum(file.stat().st_size for file in stage.database("bob").parent.glob("sdschat.db*"))


if __name__ == "__main__":
    main(long_names, 300, "names")
