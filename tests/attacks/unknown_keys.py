"""Packets sealed with keys that nobody has, or has any more: `python -m tests.attacks.unknown_keys [--size 60]`."""

from __future__ import annotations

import secrets
import signal
import time
from collections import Counter
from contextlib import closing

from sdschat.identity.packets import EPOCH_ID_BYTES, MAGIC, SIZES
from tests.attacks.replayed import Listener
from tests.attacks.stage import CHANNEL, Stage, has_text, main, seconds_until
from tests.cli.processes import run

_EVERY = 0.25  # seconds between two packets of the attacker
_MORE = 3  # removals that each of three members may send again in a minute of the attack
_LATEST = 20.0  # seconds until an honest message is shown


def unknown_keys(stage: Stage, size: int) -> bool:
    """Somebody without a link sends packets that may be of a member with a newer key, after a member was removed.

    Then they repeat a packet of before the removal, which anybody may have recorded. Members answer such packets with
    the removals that they know. Defended if they do so rarely: neither by themselves, nor for each packet of the
    attacker, do they send much. `size` is the number of seconds.
    """
    with closing(Listener(stage.port, 0)) as recorder:
        return _unknown_keys(stage, size, recorder)


def _unknown_keys(stage: Stage, size: int, recorder: Listener) -> bool:
    link = stage.private(CHANNEL, "ann")
    pipes = {name: stage.pipe(name, channel=link) for name in ("bob", "carol", "dora")}
    pipes["ann"] = stage.pipe("ann")
    for name, pipe in pipes.items():
        pipe.say(f"I am {name}")
    for pipe in pipes.values():
        for name in pipes:
            seconds_until(pipe, has_text(pipe, f"I am {name}"))
    pipes["ann"].kill(signal.SIGTERM)
    done = run(stage.home, "remove", CHANNEL, "carol", "--name", "ann", *stage.options)
    assert done.returncode == 0, done.stderr
    pipes["ann"] = stage.pipe("ann")
    pipes["ann"].say("without carol")
    seconds_until(pipes["bob"], has_text(pipes["bob"], "without carol"))
    pipes.pop("carol").kill(signal.SIGTERM)
    time.sleep(15)
    with closing(Listener(stage.port, 0)) as listener:
        time.sleep(size)
        quiet = _under_earlier_keys(listener, set())
        topic = next(topic for topic, _ in listener.heard if topic.endswith("/msg"))
    with closing(Listener(stage.port, 0)) as listener:
        made: set[bytes] = set()
        until = time.monotonic() + size
        while time.monotonic() < until:
            epoch = secrets.token_bytes(EPOCH_ID_BYTES)
            listener.publish(topic, MAGIC + epoch + secrets.token_bytes(SIZES[0] - len(MAGIC) - len(epoch)))
            made.add(epoch)
            time.sleep(_EVERY)
        attacked = _under_earlier_keys(listener, made)
    old = next(packet for heard_on, packet in recorder.heard if heard_on == topic)
    with closing(Listener(stage.port, 0)) as listener:
        until = time.monotonic() + size
        while time.monotonic() < until:
            listener.publish(topic, old)
            time.sleep(_EVERY)
        listener.heard = [one for one in listener.heard if one[1] != old]
        repeated = _under_earlier_keys(listener, set())
    pipes["ann"].say("after")
    delay = seconds_until(pipes["bob"], has_text(pipes["bob"], "after"))
    stage.saw("packets of the attacker", len(made))
    stage.saw("removals that silent members sent again in as many seconds before", quiet)
    stage.saw("removals that they sent again under attack", attacked)
    stage.saw("removals that they sent again for a repeated packet", repeated)
    stage.saw("seconds until an honest message is shown", f"{delay:.1f}")
    most = 3 * _MORE * max(1.0, size / 60)
    return quiet <= len(pipes) and attacked <= most and repeated <= most and delay < _LATEST


def _under_earlier_keys(listener: Listener, made: set[bytes]) -> int:
    """Count the messages of members under another key than most are: the key's id stands in clear before each."""
    names = [packet[len(MAGIC) :][:EPOCH_ID_BYTES] for topic, packet in listener.heard if topic.endswith("/msg")]
    found = Counter(name for name in names if name not in made)
    return found.total() - max(found.values(), default=0)


if __name__ == "__main__":
    main(unknown_keys, 60, "seconds, three times")
