"""The end of a recording: `python -m tests.attacks.tapped [--size 300]`."""

from __future__ import annotations

import contextlib
import json
import secrets
import signal
import subprocess
from base64 import b64decode

from sdschat.identity.packets import channel_level
from sdschat.identity.private.link import genesis_digest, read_link
from tests.attacks.stage import Stage, has_text, main, seconds_until
from tests.cli.processes import command, environment

_SEALED = 252  # bytes behind the first four of the smallest packet


def tapped(stage: Stage, size: int) -> bool:
    """Somebody without a key ends the recording of a private channel with two packets.

    Defended if all that a member says afterwards is recorded. Brokers pass on a few packets (mosquitto: 20, ours: 100)
    that are not acknowledged, and then wait.
    """
    link = stage.private("garden", "ann")
    topic = f"sds/1/{channel_level(genesis_digest(read_link(link, 0).genesis))}/msg"
    with contextlib.ExitStack() as stack:
        tap = subprocess.Popen(
            command("tap", link, "--to", "tap", *stage.options),
            cwd=stage.home,
            env=environment(stage.home),
            stderr=subprocess.PIPE,
        )
        stack.callback(tap.communicate)
        stack.callback(tap.kill)
        assert tap.stderr is not None
        while b"recording from" not in (line := tap.stderr.readline()):
            assert line, "it ended"
        stage.attacker.publish(topic, b"", qos=1)
        stage.attacker.publish(topic, b"SDE1" + secrets.token_bytes(_SEALED), qos=1)
        stage.attacker.flush()
        ann = stage.pipe("ann", channel="garden")
        bob = stage.pipe("bob", channel=link)
        texts = [f"line {number:05}" for number in range(size)]
        for text in texts:
            ann.say(text)
        seconds_until(bob, has_text(bob, texts[-1]))
        tap.send_signal(signal.SIGINT)
        tap.communicate(timeout=30)
    lines = [line for path in (stage.home / "tap").glob("*.jsonl") for line in path.read_text().splitlines()]
    recorded = b"".join(b64decode(json.loads(line)["raw"]) for line in lines)
    found = sum(text.encode() in recorded for text in texts)
    stage.saw("lines that were recorded", f"{found} of {size}")
    return found == size


if __name__ == "__main__":
    main(tapped, 300, "lines")
