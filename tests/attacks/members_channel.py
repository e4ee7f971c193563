"""A members' channel under attack: its honest processes, and a member whose packets an attacker makes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from sdschat.identity.keyfile import load_or_create
from sdschat.identity.members import DataSet, open_packet, read_announcement, seal_packet
from sdschat.identity.signing import Identity, sender_id_of, verify
from sdschat.node.settings import TIMBER
from sdschat.timber.core import Signer
from sdschat.timber.engine import TimberEngine
from sdschat.timber.values import Message, Now, Refusal, member_id, sender_of
from sdschat.transport.base import Topics
from sdschat.wire.timber_codec import TimberCodec
from tests.attacks.attacker import new_key
from tests.attacks.replayed import Listener
from tests.attacks.stage import PATIENCE, Stage, has_text, seconds_until
from tests.cli.processes import run

CHANNEL = "garden"
LATEST = 30.0  # seconds until an honest post is shown
CODEC = TimberCodec()
_TOPICS = Topics(CHANNEL)


class MembersTarget:
    """ann made the channel, and let bob and cas in."""

    def __init__(self, stage: Stage, listener: Listener) -> None:
        self.stage, self.listener = stage, listener
        done = run(stage.home, "create", CHANNEL, "--members", "--name", "ann", *stage.options)
        assert done.returncode == 0, done.stderr
        self.pipes = {"ann": stage.pipe("ann", "--json-input", channel=CHANNEL)}
        self.announced = self._announcement()
        for name in ("bob", "cas"):
            self.pipes[name] = pipe = stage.pipe(name, "--json-input", channel=CHANNEL)
            who = self.sender_id(name)
            self.let_in(who)
            pipe.until_event("member", sender_id=who, status="member")

    def sender_id(self, name: str) -> str:
        return load_or_create(self.stage.database(name).parent).sender_id

    def let_in(self, who: str) -> None:
        ann = self.pipes["ann"]
        ann.until(lambda lines: any(one["event"] == "knock" and one["sender_id"] == who for one in lines), "no knock")
        ann.say(json.dumps({"invite": who}))

    def say(self, name: str, text: str) -> float:
        """Let a member say something. Return the seconds until the two others show it."""
        self.pipes[name].say(json.dumps({"say": text}))
        others = (pipe for other, pipe in self.pipes.items() if other != name)
        return max(seconds_until(pipe, has_text(pipe, text), LATEST) for pipe in others)

    def texts(self, name: str) -> list[str]:
        """Return the posts that are alive for a member, from its database."""
        done = run(self.stage.home, "log", CHANNEL, "--json", "--name", name)
        assert done.returncode == 0, done.stderr
        return [line["message"]["text"] for line in map(json.loads, done.stdout.splitlines()) if "message" in line]

    def told(self, event: str, **fields: object) -> int:
        """Return how many such lines the members printed in all."""
        lines = (line for pipe in self.pipes.values() for line in list(pipe.lines) if line["event"] == event)
        return sum(all(line.get(key) == value for key, value in fields.items()) for line in lines)

    def _announcement(self) -> DataSet:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for topic, payload in list(self.listener.heard):
                found = read_announcement(payload, CHANNEL) if topic == _TOPICS.announcement else None
                if found is not None:
                    return found
            time.sleep(0.05)
        raise TimeoutError("nothing is announced")


class FalseMember:
    """An engine with a key of its own, which the attacker drives: what it sends is what the attacker likes."""

    def __init__(self, target: MembersTarget) -> None:
        self.target, self.key = target, new_key()
        creator = target.announced.creator
        self._at = 0
        self.engine = TimberEngine(TIMBER["demo"], Signer(self.key.public_key, self.key.sign), CODEC, verify, _now())
        self.engine.join(target.announced.data_set, [member_id(creator)], _now())
        send(target, self.key, sender_id_of(creator), None)
        target.let_in(self.key.sender_id)
        self.run(lambda: self.engine.me is not None and len(self.engine.members()) == len(target.pipes) + 1)

    def run(self, until: Callable[[], bool], patience: float = PATIENCE) -> None:
        """Take part as an honest member would, until something holds."""
        end = time.monotonic() + patience
        while not until():
            if time.monotonic() > end:
                raise TimeoutError("the false member does not come so far")
            heard = list(self.target.listener.heard)
            for topic, payload in heard[self._at :]:
                self._take(topic, payload)
            self._at = len(heard)
            self.engine.advance(_now())
            for packet in self.engine.take().packets:
                send(self.target, self.key, sender_of(packet.peer), packet.message)
            time.sleep(0.02)

    def take_part(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self.run(lambda: time.monotonic() > end)

    def _take(self, topic: str, payload: bytes) -> None:
        place = _TOPICS.place(topic)
        if place is None or place.what != "timber" or place.to != self.key.sender_id:
            return
        envelope = open_packet(payload, CHANNEL, self.target.announced.data_set, place.frm)
        if not isinstance(envelope, str):
            found = CODEC.decode(envelope.packet)
            assert not isinstance(found, Refusal)
            self.engine.receive(member_id(envelope.author_key), found, _now())

    def others(self) -> list[bytes]:
        """Return the member ids of the honest members."""
        return [one.member for one in self.engine.members() if one.key != self.key.public_key]


def send(target: MembersTarget, key: Identity, to: str, message: Message | None) -> None:
    """Send a packet to one member, in an envelope that this key signs. None: an empty one, which knocks."""
    raw = b"" if message is None else CODEC.encode(message)
    payload = seal_packet(key, CHANNEL, target.announced.data_set, "let me in", raw)
    target.listener.publish(_TOPICS.timber(to, key.sender_id), payload)


def _now() -> Now:
    return Now(time.time_ns() // 1_000_000, time.monotonic_ns() // 1_000_000)
