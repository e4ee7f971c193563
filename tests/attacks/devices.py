"""Devices that a key invents: `python -m tests.attacks.devices [--size 2000]`."""

from __future__ import annotations

import secrets
import time

from sdschat.identity.content import seal
from sdschat.identity.place import filter_digest, history_digest
from sdschat.identity.signing import Identity
from sdschat.sds.ids import content_id
from sdschat.sds.values import Message
from sdschat.wire.chat_codec import DEVICE_BYTES, PLACED_NONCE_BYTES, Place
from sdschat.wire.sds_codec import SdsCodec
from tests.attacks.attacker import new_key, now
from tests.attacks.stage import CHANNEL, Stage, has_text, main, seconds_until

_MOST_ROWS = 32  # of the numbers of everybody here
_LATEST = 20.0  # seconds until an honest message is shown
_CODEC = SdsCodec()


def devices(stage: Stage, size: int) -> bool:
    """A key signs each message as another device, and leaves out a number of each.

    Defended if a few rows of its devices are kept, what an honest author leaves out is named all the same, and an
    honest message comes through at once.
    """
    bob = stage.pipe("bob")
    mallory, carol = new_key(), new_key()
    stage.attacker.say(_packet(carol, "carol", bytes(DEVICE_BYTES), 1))
    seconds_until(bob, has_text(bob, "carol 1"))
    for number in range(size // 2):
        device = secrets.token_bytes(DEVICE_BYTES)
        for sequence in (1, 3):
            stage.attacker.say(_packet(mallory, f"m{number}", device, sequence))
    stage.attacker.say(_packet(carol, "carol", bytes(DEVICE_BYTES), 3))
    stage.attacker.flush()
    delay = seconds_until(bob, has_text(bob, "carol 3"))
    bob.until_event("author_gap", sender_id=carol.sender_id)
    time.sleep(3.0)  # for gaps that are told late
    rows = stage.count("bob", "SELECT count(*) FROM setting WHERE name LIKE 'author/%'")
    told = sum(line["event"] == "author_gap" and line["sender_id"] == mallory.sender_id for line in bob.lines)
    stage.saw("messages sent, each two as another device", size)
    stage.saw("rows of the numbers of devices", rows)
    stage.saw("gaps of the attacker's that are told", told)
    stage.saw("seconds until an honest message is shown", f"{delay:.1f}")
    return rows <= _MOST_ROWS and delay < _LATEST


def _packet(key: Identity, nick: str, device: bytes, sequence: int) -> bytes:
    """Return a message that bears this number of this device."""
    lamport, previous = now(), b"" if sequence == 1 else secrets.token_bytes(32)
    place = Place(device, sequence, previous, lamport, history_digest(()), filter_digest(None))
    nonce = secrets.token_bytes(PLACED_NONCE_BYTES)
    content = seal(key, CHANNEL, f"{nick} {sequence}", nick=nick[:1], sent_time=lamport, nonce=nonce, place=place)
    return _CODEC.encode(Message(key.sender_id, content_id(content), CHANNEL, lamport, (), content=content))


if __name__ == "__main__":
    main(devices, 2000, "messages")
