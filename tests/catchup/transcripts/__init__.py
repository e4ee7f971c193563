"""Worlds of which a transcript is kept: peers that catch up, with losses, silence, lies and messages that come
meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from random import Random

from sdschat.catchup import LogKey
from tests.catchup.compare import some_keys
from tests.catchup.world import Keys, Peer, World
from tests.transcripts import Say
from tests.transcripts import World as Kept


class Told(World):
    """A world that says every packet, and how far everybody is."""

    def __init__(self, say: Say, logs: dict[str, Keys], *, loss: float = 0.0, delay: int = 5) -> None:
        self.say = say
        super().__init__(logs, loss=loss, delay=delay)

    def _collect(self) -> None:
        for peer in self.peers.values():
            if peer.exchange.frames:
                self.say(self.mono, peer.name, peer.exchange.next_wake(), self.state(peer), list(peer.exchange.frames))
        super()._collect()

    def state(self, peer: Peer) -> tuple[object, ...]:
        session = peer.exchange.session
        return (
            *session.progress(),
            session.active,
            session.source,
            session.reach,
            session.ascending,
            dict(session.lacked_by),
        )


def apart(seed: int, count: int, loss: float, *, bare: int = 0, lies: bool = False, silent: bool = False) -> Kept:
    """Three who each lack some of the others' messages; one comes later, and may lie or fall silent."""

    def world(say: Say) -> None:
        draw = Random(seed)
        keys = some_keys(count, seed)
        begin, end = sorted(draw.sample(range(count), 2))
        logs = {
            "ann": [key for key in keys if draw.random() < 0.98],
            "bob": keys[:begin] + keys[end:],
            "cid": keys[: count // 2] + [(lamport + 10**9, name) for lamport, name in some_keys(40, seed + 1)],
        }
        made = Told(say, logs, loss=loss, delay=20)
        ann, _, cid = made.peers.values()
        ann.bare.update(ann.log._keys[-bare:] if bare else [])
        cid.lies = lies
        made.begin("ann")
        made.begin("bob", LogKey(keys[count // 10][0], ""))
        made.present("ann", "bob")
        made.run(draw.randrange(200, 900))
        made.present("ann", "bob", "cid")
        made.begin("cid")
        for step in range(4):
            made.run(made.mono + draw.randrange(300, 3000))
            new = [(lamport + 10**10, name) for lamport, name in some_keys(7, seed + 10 + step)]
            made.peers[draw.choice(["ann", "bob"])].log.add(new)
            if step == 1 and silent:
                made.kill("bob")
            if step == 2:
                cid.exchange.offline()
                ann.exchange.session.pause()
                made.run(made.mono + 500)
                ann.exchange.session.resume(made.mono)
                made.present("ann", "bob", "cid")
            for name in made.peers:
                made.peers[name].put_told()
        made.run(made.mono + 120_000)
        for peer in made.peers.values():
            made.say(made.mono, peer.name, made.state(peer), peer.log._keys, peer.twice, peer.order)
            own = peer.log._keys[::7]
            made.say(made.mono, peer.name, peer.exchange.proven(partial(list, own)))

    return world


WORLDS: Mapping[str, Kept] = {
    "small": apart(1, 900, 0.0),
    "losses": apart(2, 1500, 0.2, bare=100),
    "large": apart(3, 6000, 0.05),
    "lies": apart(4, 2500, 0.0, lies=True),
    "silence": apart(5, 2500, 0.1, silent=True),
}
