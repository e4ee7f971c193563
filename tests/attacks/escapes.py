"""Orders to terminals in whatever is shown: `python -m tests.attacks.escapes [--size 600]`."""

from __future__ import annotations

import secrets
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sdschat.sds.ids import content_id
from sdschat.sds.values import Message
from sdschat.wire.sds_codec import SdsCodec
from tests.attacks.attacker import new_key, now, presence, unsigned_packet
from tests.attacks.stage import CHANNEL, PATIENCE, Stage, has_text, main, seconds_until
from tests.cli.processes import command, environment, run
from tests.tui.hostile.attack import signed
from tests.tui.hostile.corpus import CORPUS
from tests.tui.hostile.judge import harmful, obeyed

_HERE = 4  # who say that they are here: ann, bob, carol and the Store
_KEYS = 12  # as many as are shown without being asked for
_STEP = 7  # of the texts that are alike, one after the other, some alone are sent where not all are
_LATEST = 20.0  # seconds until an honest message is shown
_SETTLE = 3.0  # seconds in which the last packets are told
_ALL = ("--set", "trust.messages_per_minute=0")  # show what is said, whoever says it
_LOCAL = ("--name", "bob")
_CODEC = SdsCodec()
_NO_TOPIC = str.maketrans("", "", "/+#\0")


def escapes(stage: Stage, size: int) -> bool:
    """Texts, nicks, ids and names of channels that are orders to terminals, in all that a broker carries.

    Defended if no command, whether it listens or reads what was kept, prints one of them. `size` is the number of each.
    """
    ann, bob = stage.pipe("ann"), stage.pipe("bob", *_ALL)
    written = {
        name: stage.home / f"{name}.txt" for name in ("the chat in lines", "a Store of all channels", "tap --lint")
    }
    listening = [
        _start(stage, written["the chat in lines"], "join", CHANNEL, "--plain", "--name", "carol", *_ALL),
        _start(stage, written["a Store of all channels"], "store", "#"),
        _start(stage, written["tap --lint"], "tap", CHANNEL, "--lint", "--for", "1m"),
    ]
    try:
        until = time.monotonic() + PATIENCE
        while len(stage.attacker.heard) < _HERE or not all(path.stat().st_size for path in written.values()):
            assert time.monotonic() < until, "a command is not ready"
            time.sleep(0.1)
        ann.say("before")
        seconds_until(bob, has_text(bob, "before"))
        for number in range(size):
            _hostile(stage, number % _KEYS, CORPUS[number * _STEP % len(CORPUS)])
            if number % 50 == 49:
                stage.attacker.flush()
        stage.attacker.flush()
        ann.say("after")
        delay = seconds_until(bob, has_text(bob, "after"), _LATEST)
        time.sleep(_SETTLE)
    finally:
        for process in listening:
            process.send_signal(signal.SIGINT)
        for process in listening:
            process.communicate(timeout=_LATEST)  # its input is closed by that
    shown = len(bob.texts())
    bob.kill(signal.SIGTERM)
    found = [_bad(path.read_bytes(), name) for name, path in written.items()]
    for name, arguments in _reading(stage.home).items():
        done = run(stage.home, *arguments, *_LOCAL)
        found.append(_bad((done.stdout + done.stderr).encode(), name))
    stage.saw("lines that were shown", shown)
    stage.saw("seconds until an honest message is shown", f"{delay:.1f}")
    for one in filter(None, found):
        stage.saw("an order to a terminal is printed by", one)
    return not any(found) and shown > size and delay < _LATEST


def _start(stage: Stage, output: Path, *arguments: str) -> subprocess.Popen[bytes]:
    with output.open("wb") as file:
        return subprocess.Popen(
            command(*arguments, *stage.options),
            cwd=stage.home,
            env=environment(stage.home),
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=file,
        )


def _reading(home: Path) -> dict[str, tuple[str, ...]]:
    """Return commands that read what was kept."""
    return {
        "log": ("log", CHANNEL),
        "log --format md": ("log", CHANNEL, "--format", "md"),
        "log --journal": ("log", CHANNEL, "--journal"),
        "inspect": ("inspect", CHANNEL),
        "channels": ("channels",),
        "export": ("export", CHANNEL, str(home / "out.txt")),
    }


def _hostile(stage: Stage, key: int, text: str) -> None:
    """Send one text in every place that a packet has for it, signed by the key of this number where it is signed."""
    attacker = stage.attacker
    tries: list[Callable[[], tuple[str, bytes]]] = [
        lambda: _presence(stage, text),
        lambda: (attacker.topics.msg, _signed(text, text, key)),
        lambda: (attacker.topics.msg, _signed(text, "mal", key)),
        lambda: (attacker.topics.msg, unsigned_packet(text[:60], CHANNEL, text, now())[1]),
        lambda: (attacker.topics.msg, _other_id(text)),
        lambda: (f"sds/1/{text[:60].translate(_NO_TOPIC) or 'x'}/msg", unsigned_packet("x", text[:60], text, now())[1]),
    ]
    for made in tries:
        try:
            topic, payload = made()
            attacker.publish(topic, payload)
        except ValueError:  # our own code makes no such packet, or no topic can be so
            continue


def _presence(stage: Stage, nick: str) -> tuple[str, bytes]:
    key = new_key()
    return stage.attacker.topics.who(key.sender_id), presence(key, CHANNEL, nick[:60])


def _signed(text: str, nick: str, number: int) -> bytes:
    """Return a message with a signature that is valid, whatever is in it."""
    at = now()
    content, identity = signed(CHANNEL, text, nick, number, at)
    return _CODEC.encode(Message(identity.sender_id, content_id(content), CHANNEL, at, content=content))


def _other_id(text: str) -> bytes:
    message = _CODEC.decode(unsigned_packet(secrets.token_hex(8), CHANNEL, "by an id", now())[1])
    assert isinstance(message, Message)
    return _CODEC.encode(replace(message, message_id=f"{text[:40]}{secrets.token_hex(4)}"))


def _bad(output: bytes, name: str) -> str:
    """Return the first line that has more than text in it, or nothing."""
    for line in output.decode("utf-8", "replace").replace("\r\n", "\n").split("\n"):
        text = line.replace("\t", " ")
        if found := harmful(text) or obeyed(text):
            return f"{name}: {found[0]}"
    return ""


if __name__ == "__main__":
    main(escapes, 600, "texts")
