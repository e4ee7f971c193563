"""Ids that are taken before the messages of their authors come: `python -m tests.attacks.taken_ids [--size 12]`."""

from __future__ import annotations

import time
from dataclasses import replace

from sdschat.sds.values import Message
from sdschat.wire.sds_codec import SdsCodec
from tests.attacks.stage import Stage, has_text, main, seconds_until
from tests.cli.processes import Pipe

_CODEC = SdsCodec()
_LATEST = 100.0  # seconds until ann has all that carol said: she asks every 10 s or so, and every second time in vain
_COPIES = 5  # of each false packet, since ann may lose that too
_LOSSY = ("--set", "fault.loss=0.2", "--set", "fault.seed=7")


def taken_ids(stage: Stage, size: int) -> bool:
    """Send an unsigned message under the id of each of carol's, at once: where ann lost hers, it comes first.

    Defended if ann has all that carol said.
    """
    stage.attacker.listen()
    bob, carol = stage.pipe("bob"), stage.pipe("carol")
    ann = stage.pipe("ann", *_LOSSY)
    for pipe in (ann, bob, carol):
        pipe.say("here")
        seconds_until(ann, has_text(ann, "here"), _LATEST)
    for number in range(size):
        carol.say(f"true {number}")
        seconds_until(bob, has_text(bob, f"true {number}"), _LATEST)
        for _ in range(_COPIES):
            for packet in list(stage.attacker.said.values()):
                stage.attacker.say(_false(packet))
        stage.attacker.flush()
        time.sleep(0.2)
    delay = seconds_until(ann, lambda _: len(_true(ann)) == size, _LATEST)
    stage.saw("lines of carol's that ann has", len(_true(ann)))
    stage.saw("false lines that ann was shown before", ann.texts().count("false"))
    stage.saw("seconds until ann had the last one", f"{delay:.1f}")
    return delay < _LATEST


def _true(pipe: Pipe) -> set[str]:
    return {text for text in pipe.texts() if text.startswith("true ")}


def _false(packet: bytes) -> bytes:
    """Return a packet of the same id and date."""
    message = _CODEC.decode(packet)
    assert isinstance(message, Message)
    return _CODEC.encode(replace(message, sender_id="nobody", content=b"false", bloom_filter=None))


if __name__ == "__main__":
    main(taken_ids, 12, "lines")
