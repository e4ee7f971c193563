"""Old packets of a members' channel, sent again: `python -m tests.attacks.old_votes [--size 3000]`."""

from __future__ import annotations

import json
import random
import signal
import time
from contextlib import closing

from sdschat.transport.base import Topics
from tests.attacks.flood import memory_of
from tests.attacks.members_channel import CHANNEL, LATEST, MembersTarget
from tests.attacks.replayed import Listener
from tests.attacks.stage import Stage, main

_GROWTH = 50  # MB of memory
_LINES = 6


def old_votes(stage: Stage, size: int) -> bool:
    """Whatever members told each other, sent again at random, to whom it was sent and to others: clocks of long ago,
    operations, what was said on a ballot by which dan was removed, pages of states.

    Defended if nobody else is removed, all show what was said, and little is sent in answer.
    """
    rng = random.Random(size)
    with closing(Listener(stage.port, 0, 100_000)) as listener:
        target = MembersTarget(stage, listener)
        dan = stage.pipe("dan", "--json-input", channel=CHANNEL)
        who = target.sender_id("dan")
        target.let_in(who)
        dan.until_event("member", sender_id=who, status="member")
        dan.kill(signal.SIGTERM)
        _until_removed(target, who)
        heard = [(topic, payload) for topic, payload in list(listener.heard) if "/timber/" in topic]
        before = {name: memory_of(pipe.process.pid) for name, pipe in target.pipes.items()}
        sent = len(listener.heard)
        for number in range(size):
            topic, payload = rng.choice(heard)
            place = Topics(CHANNEL).place(topic)
            if place is not None and rng.random() < 0.3:  # whoever it was not sent to
                other = Topics(CHANNEL).place(rng.choice(heard)[0])
                topic = Topics(CHANNEL).timber(other.to if other is not None else place.to, place.frm)
            listener.publish(topic, payload)
            if number % 100 == 99:
                listener.flush()
                time.sleep(0.1)
        delays = [target.say(name, f"after, by {name}") for name in target.pipes]
        answered = len(listener.heard) - sent - size
        texts = [target.texts(name) for name in target.pipes]
        grown = max(memory_of(pipe.process.pid) - before[name] for name, pipe in target.pipes.items())
    removed = {
        line["sender_id"]
        for pipe in target.pipes.values()
        for line in pipe.lines
        if line["event"] == "member" and line["status"] == "evicted"
    }
    stage.saw("packets that were sent again", len(heard))
    stage.saw("packets of the members meanwhile", answered)
    stage.saw("members who were removed, beside dan", len(removed - {who}))
    stage.saw("seconds until an honest post is shown by all", f"{max(delays):.1f}")
    stage.saw("memory that was added, MB", f"{grown:.0f}")
    same = all(one == texts[0] for one in texts) and all(f"after, by {name}" in texts[0] for name in target.pipes)
    return same and removed == {who} and max(delays) < LATEST and grown < _GROWTH and answered < size


def _until_removed(target: MembersTarget, who: str) -> None:
    """Let the others talk until the one who is gone was removed."""
    for number in range(60):
        if target.told("member", sender_id=who, status="evicted") == len(target.pipes):
            return
        for name, pipe in target.pipes.items():
            pipe.say(json.dumps({"say": f"{number} by {name}"}))
        time.sleep(1)
    raise TimeoutError("dan is not removed")


if __name__ == "__main__":
    main(old_votes, 3000, "packets")
