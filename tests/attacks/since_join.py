"""A newcomer who wants what was written before: `python -m tests.attacks.since_join [--size 20]`."""

from __future__ import annotations

import signal
import time
from contextlib import closing

from sdschat.identity.keyfile import load_or_create
from sdschat.identity.signing import Identity
from sdschat.node.private.record import PrivateState, full_name, private_state
from sdschat.node.private.sealer import ChannelSealer
from sdschat.store.reader import Reader
from sdschat.store.store import Store
from sdschat.transport.sealing import OpenedPacket
from sdschat.wire.sds_codec import SdsCodec
from tests.attacks.replayed import Listener
from tests.attacks.stage import CHANNEL, Stage, has_text, main, seconds_until
from tests.cli.processes import run

_LATEST = 20.0  # seconds until an honest message is shown
_LENGTH_BYTES = 2


def since_join(stage: Stage, size: int) -> bool:
    """Carol recorded everything at the broker before she was invited. Then she joins, and asks for all there is.

    Her node asks for everything, as any newcomer's; bob, who was away, is sent it all beside her. Then she tries every
    secret and the key of her profile on every packet that ever passed. Defended if she has none of the old texts, on
    her disk or opened, and others have all.
    """
    done = run(stage.home, "create", CHANNEL, "--private", "--history", "since-join", "--name", "ann", *stage.options)
    assert done.returncode == 0, done.stderr
    old = [f"secret {number:05} of old" for number in range(size)]
    with closing(Listener(stage.port, 0)) as recorder:
        bob = stage.pipe("bob", channel=_invite(stage))
        ann = stage.pipe("ann")
        for number, text in enumerate(old[:-1]):
            (ann if number % 2 else bob).say(text)
        for pipe in (ann, bob):
            for text in old[:-1]:
                seconds_until(pipe, has_text(pipe, text))
        bob.kill(signal.SIGTERM)
        ann.say(old[-1])
        seconds_until(ann, has_text(ann, old[-1]))
        ann.kill(signal.SIGTERM)
        link = _invite(stage)
        ann, carol = stage.pipe("ann"), stage.pipe("carol", channel=link)
        carol.say("I am carol")
        seconds_until(ann, has_text(ann, "I am carol"))
        bob = stage.pipe("bob")
        seconds_until(bob, has_text(bob, old[-1]))
        ann.say("for all three")
        delay = max(seconds_until(pipe, has_text(pipe, "for all three")) for pipe in (bob, carol))
        time.sleep(5)
        opened = _opened(stage, recorder)
    on_disk = b"".join(each.read_bytes() for each in stage.database("carol").parent.iterdir() if each.is_file())
    given = sum(line.get("messages", 0) for line in carol.lines if line["event"] == "over_limit")
    stage.saw("packets that carol recorded", len(recorder.heard))
    stage.saw("old texts that she opens in them", sum(text.encode() in opened for text in old))
    stage.saw("old texts on her disk", sum(text.encode() in on_disk for text in old))
    stage.saw("messages named to her as not given", given)
    stage.saw("old texts that bob has, who was away for one", sum(text in bob.texts() for text in old[-1:]))
    stage.saw("seconds until an honest message is shown", f"{delay:.1f}")
    leaked = any(text.encode() in opened + on_disk for text in old)
    return not leaked and given == len(old) and old[-1] in bob.texts() and delay < _LATEST


def _invite(stage: Stage) -> str:
    done = run(stage.home, "invite", CHANNEL, "--name", "ann", *stage.options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _opened(stage: Stage, recorder: Listener) -> bytes:
    """Return everything that carol opens with all secrets of her profile, and what is in boxes for her."""
    path = stage.database("carol")
    with Store.open_read_only(path, SdsCodec()) as reader:
        assert isinstance(reader, Reader)
        state = private_state(reader, full_name(reader, CHANNEL))
    assert state is not None
    return b"".join(_opened_with(state, load_or_create(path.parent), recorder))


def _opened_with(state: PrivateState, identity: Identity, recorder: Listener) -> list[bytes]:
    record, found = state.record, list[bytes]()
    for secret in {*record.secrets.values(), *record.shared.values()}:
        sealer = ChannelSealer(bytes(20), record.genesis.salt, secret)
        for topic, payload in recorder.heard:
            opened = sealer.open(topic, payload)
            if isinstance(opened, OpenedPacket):
                plain = opened.plain
                inside = plain[_LENGTH_BYTES + int.from_bytes(plain[:_LENGTH_BYTES]) :]
                found += [plain, identity.unseal(inside) or b""]
    return found


if __name__ == "__main__":
    main(since_join, 20, "old lines")
