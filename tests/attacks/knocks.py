"""Knocks and announcements of members' channels by anybody: `python -m tests.attacks.knocks [--size 200]`."""

from __future__ import annotations

import time
from contextlib import closing

from sdschat.identity.key_book import PEOPLE_A_MINUTE
from sdschat.identity.members import DataSet, read_announcement, seal_packet
from sdschat.identity.signing import sender_id_of
from sdschat.node.members.saved import create_members
from sdschat.store.store import Store
from sdschat.timber.config import Config
from sdschat.transport.base import Topics
from sdschat.wire.sds_codec import SdsCodec
from tests.attacks.attacker import new_key
from tests.attacks.replayed import Listener
from tests.attacks.stage import CHANNEL, Stage, has_text, main, seconds_until
from tests.cli.processes import Line, Pipe, run

_MEMBERS = "garden"
_MINUTE = 60.0


def knocks(stage: Stage, size: int) -> bool:
    """New keys knock at a members' channel, and announce others under the name of an open one. Each was a line.

    Defended if a minute brings twenty knocks and one line of an announcement, whatever comes.
    """
    done = run(stage.home, "create", _MEMBERS, "--members", "--name", "ann", *stage.options)
    assert done.returncode == 0, done.stderr
    with closing(Listener(stage.port, 0)) as outside:
        ann, bob = stage.pipe("ann", channel=_MEMBERS), stage.pipe("bob")
        bob.say("before")
        seconds_until(bob, has_text(bob, "before"))
        began = time.monotonic()
        announced = _announced(outside)
        keys = [new_key() for _ in range(size)]
        for key in keys:
            topic = Topics(_MEMBERS).timber(sender_id_of(announced.creator), key.sender_id)
            outside.publish(topic, seal_packet(key, _MEMBERS, announced.data_set, "let me in", b""))
        for number, key in enumerate(keys):
            with Store.open(stage.home / f"made{number}" / "sdschat.db", SdsCodec()) as store:
                outside.publish(
                    Topics(CHANNEL).announcement, create_members(store, key, CHANNEL, Config()).announcement
                )
        ann.until(lambda lines: _count(lines, "knock") > 0, "no knock")
        bob.until(lambda lines: _count(lines, "kind_refused") > 0, "no announcement")
        bob.say("after")
        delay = seconds_until(bob, has_text(bob, "after"))
        minutes = 1 + int((time.monotonic() - began) / _MINUTE)
    told = _told(ann, "knock"), _told(bob, "kind_refused")
    stage.saw("knocks that ann is told", told[0])
    stage.saw("announcements that bob is told", told[1])
    stage.saw("seconds until an honest message is shown", f"{delay:.1f}")
    return told[0] <= PEOPLE_A_MINUTE * minutes and told[1] <= minutes and delay < 20


def _announced(outside: Listener) -> DataSet:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        for topic, payload in list(outside.heard):
            found = read_announcement(payload, _MEMBERS) if topic == Topics(_MEMBERS).announcement else None
            if found is not None:
                return found
        time.sleep(0.05)
    raise TimeoutError("nothing is announced")


def _told(pipe: Pipe, event: str) -> int:
    return _count(list(pipe.lines), event)


def _count(lines: list[Line], event: str) -> int:
    return sum(line["event"] == event for line in lines)


if __name__ == "__main__":
    main(knocks, 200, "keys")
