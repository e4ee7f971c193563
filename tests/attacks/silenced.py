"""Messages that nobody signed use up what is kept of ann: `python -m tests.attacks.silenced [--size 2500]`."""

from __future__ import annotations

import secrets
import time

from sdschat.sds.ids import content_id
from sdschat.sds.values import Message
from sdschat.wire.sds_codec import SdsCodec
from tests.attacks.attacker import now
from tests.attacks.stage import CHANNEL, Stage, has_text, main, seconds_until
from tests.cli.processes import Pipe

_CODEC = SdsCodec()
_LATEST = 30.0  # seconds until bob has what ann says
_LINES = 10
_BETWEEN = 20  # lines in her name before each of hers
_FEW = 100


def silenced(stage: Stage, size: int) -> bool:
    """As many unsigned lines in the name of ann as are kept of one sender, and more of them while she speaks.

    Defended if bob has what ann says, and was shown few of those lines.
    """
    ann, bob = stage.pipe("ann"), stage.pipe("bob")
    ann.say("I am ann")
    seconds_until(bob, has_text(bob, "I am ann"), _LATEST)
    name = str(next(line["sender_id"] for line in ann.lines if line["event"] == "joined"))
    for number in range(size):
        _say(stage, name, f"in her name {number}")
    for number in range(_LINES):
        for _ in range(_BETWEEN):
            _say(stage, name, f"in her name {secrets.token_hex(4)}")
        stage.attacker.flush()
        ann.say(f"this is me {number}")
        time.sleep(0.2)
    delay = seconds_until(bob, lambda _: len(_said(bob, "this is me")) == _LINES, _LATEST)
    false = len(_said(bob, "in her name"))
    stage.saw(f"of {_LINES} lines of ann's, bob was shown", len(_said(bob, "this is me")))
    stage.saw("lines in her name that he was shown", false)
    return delay < _LATEST and false < _FEW


def _say(stage: Stage, name: str, text: str) -> None:
    content = text.encode()
    stage.attacker.say(_CODEC.encode(Message(name, content_id(content), CHANNEL, now(), content=content)))


def _said(pipe: Pipe, text: str) -> list[str]:
    return [each for each in pipe.texts() if each.startswith(text)]


if __name__ == "__main__":
    main(silenced, 2500, "unsigned lines")
