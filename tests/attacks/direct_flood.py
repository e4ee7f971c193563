"""Direct messages of somebody to whom nobody wrote: `python -m tests.attacks.direct_flood [--size 100]`."""

from __future__ import annotations

import secrets

from sdschat.identity.content import seal_direct, sign_link
from sdschat.identity.presence import decode_presence
from sdschat.identity.signing import Identity, sender_id_of
from sdschat.mvds.values import Message, Payload
from sdschat.node.sync.direct import pair_group
from sdschat.wire.catchup_codec import DIRECT, SyncCodec, with_signature
from tests.attacks.attacker import new_key, now, presence
from tests.attacks.stage import CHANNEL, Stage, has_text, main, seconds_until

_TEXT = 60_000  # bytes of each
_AT_ONCE = 10
_MOST = 2_000_000  # bytes of direct messages that may be kept of one key that nobody wrote to
_LATEST = 20.0  # seconds until an honest message is shown
_CODEC = SyncCodec()


def direct_flood(stage: Stage, size: int) -> bool:
    """A new key sends large direct messages, which are kept for good, beside every limit of the channel.

    Defended if a share of them is kept, and an honest message comes through at once.
    """
    ann, bob = stage.pipe("ann"), stage.pipe("bob")
    ann.say("before")
    seconds_until(bob, has_text(bob, "before"))
    key, reader = new_key(), _key_of(stage, "bob")
    stage.attacker.publish(stage.attacker.topics.who(key.sender_id), presence(key, CHANNEL, "mal"), retain=True)
    stage.attacker.flush()
    bob.until_event("presence", nick="mal")
    topic = stage.attacker.topics.sync(sender_id_of(reader), key.sender_id)
    for number in range(size):
        stage.attacker.publish(topic, _packet(key, reader, f"{number} {'x' * _TEXT}"))
        if number % _AT_ONCE == _AT_ONCE - 1:
            stage.attacker.flush()
    stage.attacker.flush()
    ann.say("after")
    delay = seconds_until(bob, has_text(bob, "after"))
    kept = stage.count("bob", "SELECT coalesce(sum(length(body)), 0) FROM mvds_message")
    told = sum(line["event"] == "direct_refused" for line in bob.lines)
    stage.saw("bytes sent", size * _TEXT)
    stage.saw("bytes kept", kept)
    stage.saw("times that the user is told so", told)
    stage.saw("seconds until an honest message is shown", f"{delay:.1f}")
    return 0 < kept <= _MOST and delay < _LATEST


def _key_of(stage: Stage, nick: str) -> bytes:
    """Return the key of somebody who is here, by their presence."""
    found = (decode_presence(payload) for payload in list(stage.attacker.heard.values()))
    return next(one.author_key for one in found if one is not None and one.nick == nick)


def _packet(key: Identity, reader: bytes, text: str) -> bytes:
    wall, name = now(), sender_id_of(reader)
    sealed = seal_direct(
        key,
        reader,
        CHANNEL,
        text,
        reader=name,
        nick="mal",
        sent_time=wall,
        nonce=secrets.token_bytes(16),
    )
    group = pair_group(CHANNEL, key.sender_id, name)
    raw = _CODEC.encode_records(Payload(messages=(Message(group, wall, sealed),)), DIRECT)
    return with_signature(raw, sign_link(key, CHANNEL, name, raw))


if __name__ == "__main__":
    main(direct_flood, 100, "direct messages")
