"""Messages that nobody signed, in the names of those who sign: `python -m tests.attacks.borrowed_names [--size 3]`."""

from __future__ import annotations

import secrets
import signal

from sdschat.sds.ids import content_id
from sdschat.sds.values import Message
from sdschat.wire.sds_codec import SdsCodec
from tests.attacks.attacker import now
from tests.attacks.stage import CHANNEL, Stage, has_text, main, seconds_until
from tests.cli.processes import Pipe

_CODEC = SdsCodec()
_LATEST = 30.0  # seconds until a message that names them is shown; `sds.lost_after` is more
_LOST_AFTER = ("--set", "sds.lost_after=2m")
_ELSEWHERE = "hall"
_TOLD = "unsigned_in_our_name"


def borrowed_names(stage: Stage, size: int) -> bool:
    """Unsigned messages in the names of ann, and of carol, whom ann knows and bob does not. Bob's next line names them.

    Defended if ann has what bob says soon, nothing of it is shown as hers, also of what came while she was away, and
    she is told.
    """
    carol, ann = _met(stage)
    bob = stage.pipe("bob", *_LOST_AFTER)
    ann.say("I am ann")
    seconds_until(bob, has_text(bob, "I am ann"), _LATEST)
    delays = []
    for who, name in (("ann", _id_of(ann)), ("carol", carol)):
        _say(stage, name, f"in the name of {who}", size, invented=who == "carol")
        seconds_until(bob, has_text(bob, f"in the name of {who} {size - 1}"), _LATEST)
        bob.say(f"after {who}")
        delays.append(seconds_until(ann, has_text(ann, f"after {who}"), _LATEST))
        stage.saw(f"seconds until bob's line after those of {who} is shown", f"{delays[-1]:.1f}")
    ann.kill(signal.SIGTERM)
    _say(stage, _id_of(ann), "while ann was away", size)
    seconds_until(bob, has_text(bob, f"while ann was away {size - 1}"), _LATEST)
    bob.say("after all")
    back = stage.pipe("ann", *_LOST_AFTER)
    delays.append(seconds_until(back, has_text(back, "after all"), _LATEST))
    stage.saw("seconds until she has the last line", f"{delays[-1]:.1f}")
    seconds_until(back, lambda lines: any(line["event"] == _TOLD for line in lines), _LATEST)
    false = sum(text.startswith(("in the name of ann", "while ann")) for text in ann.texts() + back.texts())
    stage.saw("lines shown to ann as her own that she never said", false)
    told = [sum(line["event"] == _TOLD for line in pipe.lines) for pipe in (ann, back)]
    stage.saw("times that she was told of it, before and after", told)
    return max(delays) < _LATEST and not false and min(told) == 1


def _met(stage: Stage) -> tuple[str, Pipe]:
    """Let ann and carol talk in another channel. Return carol's id, and ann in this channel."""
    ann, carol = stage.pipe("ann", channel=_ELSEWHERE), stage.pipe("carol", channel=_ELSEWHERE)
    carol.say("hello")
    seconds_until(ann, has_text(ann, "hello"), _LATEST)
    for pipe in (ann, carol):
        pipe.kill(signal.SIGTERM)
    return _id_of(carol), stage.pipe("ann", *_LOST_AFTER)


def _id_of(pipe: Pipe) -> str:
    return str(next(line["sender_id"] for line in pipe.lines if line["event"] == "joined"))


def _say(stage: Stage, name: str, text: str, size: int, *, invented: bool = False) -> None:
    """`invented`: the ids are not made of the contents."""
    for number in range(size):
        content = f"{text} {number}".encode()
        message_id = secrets.token_hex(32) if invented else content_id(content)
        stage.attacker.say(_CODEC.encode(Message(name, message_id, CHANNEL, now() + number, content=content)))
    stage.attacker.flush()


if __name__ == "__main__":
    main(borrowed_names, 3, "messages in each name")
