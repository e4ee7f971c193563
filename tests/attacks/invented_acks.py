"""Row 2 of the table: `python -m tests.attacks.invented_acks [--size 8]`."""

from __future__ import annotations

import signal
import subprocess
import threading

from sdschat.cli.errors import NOT_IN_TIME
from sdschat.sds.bloom.own import OwnFilter
from sdschat.sds.values import HistoryEntry, Message
from sdschat.wire.sds_codec import SdsCodec
from tests.attacks.attacker import now
from tests.attacks.stage import CHANNEL, Stage, main
from tests.cli.processes import command, environment

_CODEC = SdsCodec()
_WAIT = ("--timeout", "6s")


def invented_acks(stage: Stage, size: int) -> bool:
    """Sync messages in invented names, and in bob's, that name a message which nobody has.

    Defended if `send --wait acked` does not say that it was acknowledged: it ends with 6.
    """
    stage.attacker.listen()
    bob = stage.pipe("bob")
    bob.say("I was here")
    bob.until_event("delivered")
    name = next(line["sender_id"] for line in bob.lines if line["event"] == "joined")
    bob.kill(signal.SIGTERM)
    over = threading.Event()
    attack = threading.Thread(target=_acknowledge, args=(stage, [name, *(f"nobody {at}" for at in range(size))], over))
    attack.start()
    done = subprocess.run(
        command("send", CHANNEL, "who has this?", "--name", "ann", "--wait", "acked", *_WAIT, *stage.options),
        cwd=stage.home,
        env=environment(stage.home),
        capture_output=True,
        check=False,
        timeout=120,
    )
    over.set()
    attack.join()
    stage.saw("exit code of `send --wait acked`", done.returncode)
    stage.saw("it said", done.stderr.decode().strip().splitlines()[-1][:150])
    return done.returncode == NOT_IN_TIME


def _acknowledge(stage: Stage, names: list[str], over: threading.Event) -> None:
    """Name every message that is heard, and hold it in a filter, in each of the names."""
    told: set[str] = set()
    while not over.wait(0.1):
        for message_id in [each for each in stage.attacker.said if each not in told]:
            told.add(message_id)
            for name in names:
                stage.attacker.say(_CODEC.encode(_sync(name, message_id)))
        stage.attacker.flush()


def _sync(name: str, message_id: str) -> Message:
    packed = OwnFilter("compact", 256, 0.0001, 0)
    packed.add(message_id, now())
    return Message(name, "sync-1", CHANNEL, now(), (HistoryEntry(message_id),), packed.to_bytes())


if __name__ == "__main__":
    main(invented_acks, 8, "invented names")
