"""Questions about a log, and requests for all of it: `python -m tests.attacks.comparisons [--size 1000]`."""

from __future__ import annotations

import secrets
import time

from sdschat.catchup import HIGHEST, LOWEST
from sdschat.catchup.values import Ask, Frame, LogKey, Question, QuestionKind, Stretch, Want
from sdschat.wire.catchup_codec import encode_frame
from tests.attacks.attacker import new_key, now, presence
from tests.attacks.flood import memory_of
from tests.attacks.stage import PATIENCE, Stage, has_text, main, seconds_until
from tests.cli.processes import Line

_LINES = 2000  # of the channel
_KEYS = 70
_HONEST = 5
_LATEST = 20.0  # seconds until an honest line is shown
_MOST_MEMORY = 60.0  # MB more
_DAY = 24 * 3_600_000


def comparisons(stage: Stage, size: int) -> bool:
    """Keys that are here ask ann what takes the most reading of her log, and want all of it, each time anew.

    Defended if an honest line is shown in time, and the pages that were wanted before do not fill ann's memory.
    """
    attacker, topics = stage.attacker, stage.attacker.topics
    ann, bob = stage.pipe("ann"), stage.pipe("bob")
    ann_id = next(str(line["sender_id"]) for line in ann.lines if line["event"] == "joined")
    bob.say(*(f"{number} ".ljust(200, ".") for number in range(_LINES)))
    seconds_until(ann, lambda lines: len(ann.texts(lines)) >= _LINES)
    keys = [new_key() for _ in range(_KEYS)]
    for key in keys:
        attacker.publish(topics.who(key.sender_id), presence(key, attacker.channel, "eve"), retain=True)
    ann.until(lambda lines: sum(map(_here, lines)) > _KEYS // 2, "they are not here", PATIENCE)
    before = memory_of(ann.process.pid)
    everything = Question(QuestionKind.PARTS, LogKey(now() - _DAY, ""), LogKey(now(), ""), 64, bytes(8))
    ask = Ask(secrets.randbits(60), (everything,) * 64)
    want = Want((Stretch(LOWEST, HIGHEST),), 1_000_000)
    for number in range(size):
        sender_id = keys[number % len(keys)].sender_id
        for what in (ask, want):
            frame = encode_frame(Frame(secrets.randbits(60), number, what))
            attacker.publish(topics.sync(ann_id, sender_id), frame)
    attacker.flush()
    delay = 0.0
    for number in range(_HONEST):  # the first ones may overtake what was sent before
        bob.say(f"honest {number}")
        delay = max(delay, seconds_until(ann, has_text(ann, f"honest {number}"), _LATEST))
        time.sleep(1)
    added = memory_of(ann.process.pid) - before
    stage.saw("frames that ask, and frames that want all, sent", f"{size} and {size}")
    stage.saw("seconds until an honest line is shown, at most", f"{delay:.1f}")
    stage.saw("memory that was added, MB", round(added))
    return delay < _LATEST and added < _MOST_MEMORY


def _here(line: Line) -> bool:
    return bool(line["event"] == "presence" and line["online"])


if __name__ == "__main__":
    main(comparisons, 1000, "frames of each kind")
