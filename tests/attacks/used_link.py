"""A link that was used up, in other hands: `python -m tests.attacks.used_link [--size 1000]`."""

from __future__ import annotations

import secrets
import signal
from contextlib import closing

from sdschat.identity.content import ContentKind, seal
from sdschat.identity.place import place_of
from sdschat.identity.private.link import accept, channel_name, genesis_digest, read_link
from sdschat.identity.signing import Identity
from sdschat.node.private.sealer import ChannelSealer
from sdschat.sds.ids import content_id
from sdschat.sds.values import Draft, Message
from sdschat.transport.base import Topics
from sdschat.transport.sealing import SealedTopics
from sdschat.wire.chat_codec import DEVICE_BYTES, PLACED_NONCE_BYTES
from sdschat.wire.private_codec import Remove, encode_operation
from sdschat.wire.sds_codec import SdsCodec
from tests.attacks.attacker import new_key, now, presence
from tests.attacks.flood import memory_of
from tests.attacks.replayed import Listener
from tests.attacks.stage import CHANNEL, Stage, has_text, main, seconds_until
from tests.cli.processes import Line, run

_PRESENCES = 50
_LATEST = 20.0  # seconds until an honest message is shown
_MOST_LINES = 50  # about the attacker, shown to a member
_MOST_ROWS = 300  # of the attacker's messages and joinings that are kept
_CODEC = SdsCodec()


class Outsider:
    """Somebody who has a link: the key of the channel, and no voice in it."""

    def __init__(self, listener: Listener, link: str) -> None:
        self.link = read_link(link, 0)
        genesis = self.link.genesis
        self.channel = channel_name(genesis)
        self.topics = Topics(self.channel)
        self._listener = listener
        self._sealer = ChannelSealer(genesis_digest(genesis), genesis.salt, self.link.epoch_secret)
        self._names = SealedTopics(self._sealer, self.topics)
        self._removals: tuple[str, ...] = ()

    def publish(self, topic: str, packet: bytes) -> None:
        outside = self._names.outside(topic)
        self._listener.publish(outside, self._sealer.seal(outside, self._names.frame(topic, packet)))

    def say(self, key: Identity, text: str, kind: ContentKind = ContentKind.TEXT) -> str:
        lamport = now()
        place = place_of(secrets.token_bytes(DEVICE_BYTES), 1, "", Draft(lamport, (), None))
        nonce = secrets.token_bytes(PLACED_NONCE_BYTES)
        content = seal(key, self.channel, text, nick="mal", sent_time=lamport, nonce=nonce, place=place, kind=kind)
        message = Message(key.sender_id, content_id(content), self.channel, lamport, (), content=content)
        self.publish(self.topics.msg, _CODEC.encode(message))
        return message.message_id

    def join(self, key: Identity) -> None:
        self.say(key, encode_operation(accept(self.link, key)), ContentKind.OPERATION)

    def remove(self, key: Identity) -> None:
        """Remove the creator, without the right to, and build upon the removal before."""
        removal = Remove(self.link.genesis.creator_key, self._removals[-1:], bytes(8), ())
        self._removals = (self.say(key, encode_operation(removal), ContentKind.OPERATION),)

    def show(self, key: Identity) -> None:
        self.publish(self.topics.who(key.sender_id), presence(key, self.channel, "not invited"))


def used_link(stage: Stage, size: int) -> bool:
    """Somebody has a link that bob used up, and so the key of the channel: texts, joinings, removals, presences follow.

    Defended if little of it is kept and shown, nobody is shown as here who is no member, and an honest message comes
    through at once.
    """
    stage.private(CHANNEL, "ann")
    done = run(stage.home, "invite", CHANNEL, "--uses", "1", "--name", "ann", *stage.options)
    assert done.returncode == 0, done.stderr
    link = done.stdout.strip()
    bob = stage.pipe("bob", channel=link)
    ann = stage.pipe("ann")
    for pipe, other, text in ((ann, bob, "I am ann"), (bob, ann, "I am bob")):
        pipe.say(text)
        seconds_until(other, has_text(other, text))
    memory = memory_of(ann.process.pid)
    with closing(Listener(stage.port, 0)) as listener:
        outsider, mallory = Outsider(listener, link), new_key()
        for number in range(_PRESENCES):
            outsider.show(new_key() if number else mallory)
        for number in range(size):
            outsider.say(mallory, f"text {number} {'x' * 500}")
            outsider.join(new_key())
            outsider.remove(mallory)
        bob.say("after")
        delay = seconds_until(ann, has_text(ann, "after"))
    here = sum(line["event"] == "presence" and line.get("nick") == "not invited" for line in ann.lines)
    lines = sum(_is_told(line) for line in ann.lines)
    rows = stage.count("ann", "SELECT count(*) FROM body") - 4
    grown = memory_of(ann.process.pid) - memory
    stage.saw("texts, and as many joinings and removals, sent", size)
    stage.saw("lines about them", lines)
    stage.saw("bodies of them that are kept", rows)
    stage.saw("shown as here", here)
    stage.saw("seconds until an honest message is shown", f"{delay:.1f}")
    stage.saw("MB of memory more", f"{grown:.0f}")
    ann.kill(signal.SIGTERM)
    return lines <= _MOST_LINES and rows <= _MOST_ROWS and not here and delay < _LATEST


def _is_told(line: Line) -> bool:
    """True for an event about the attacker that is a line on a screen."""
    if line["event"] == "withheld":
        return True
    text = str(line["message"].get("text", "")) if line["event"] == "delivered" else ""
    return text.startswith(("could not join", "tried to"))


if __name__ == "__main__":
    main(used_link, 1000, "texts, and as many joinings and removals")
