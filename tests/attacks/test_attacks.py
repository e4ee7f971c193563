"""Short forms of the attacks, against real processes and the embedded broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.altered import altered
from tests.attacks.attacker import MOST, Attacker
from tests.attacks.borrowed_names import borrowed_names
from tests.attacks.devices import devices
from tests.attacks.direct_flood import direct_flood
from tests.attacks.equal_logs import equal_logs
from tests.attacks.escapes import escapes
from tests.attacks.false_states import false_states
from tests.attacks.hostile_files import hostile_files
from tests.attacks.invented_acks import invented_acks
from tests.attacks.junk import junk
from tests.attacks.long_names import long_names
from tests.attacks.lying_broker import lying_broker
from tests.attacks.made_to_send import made_to_send
from tests.attacks.many_keys import many_keys
from tests.attacks.overrun import overrun
from tests.attacks.presences import emptied
from tests.attacks.replayed import replayed, replayed_private
from tests.attacks.rings import rings
from tests.attacks.silenced import silenced
from tests.attacks.since_join import since_join
from tests.attacks.stage import CHANNEL, Attack, stage
from tests.attacks.strangers import strangers
from tests.attacks.taken_ids import taken_ids
from tests.attacks.unsigned_names import unsigned_names
from tests.attacks.used_link import used_link
from tests.needs import needs_module

needs_module("iotcore")


@pytest.mark.parametrize(
    ("attack", "size"),
    [
        (altered, 6),
        (borrowed_names, 3),
        (invented_acks, 3),
        (devices, 100),
        (direct_flood, 40),
        (emptied, 3),
        (equal_logs, 30),
        (escapes, 20),
        (false_states, 2),
        (hostile_files, 2),
        (junk, 300),
        (long_names, 40),
        (lying_broker, 3),
        (made_to_send, 6),
        (many_keys, 40),
        (overrun, 4000),
        (replayed, 300),
        (replayed_private, 300),
        (rings, 1),
        (silenced, 2100),
        (since_join, 6),
        (strangers, 300),
        (taken_ids, 8),
        (unsigned_names, 60),
        (used_link, 60),
    ],
)
def test_an_attack_is_defended(attack: Attack, size: int, tmp_path: Path) -> None:
    with stage(tmp_path, quiet=True) as made:
        assert attack(made, size)


def test_an_attack_is_bounded(tmp_path: Path) -> None:
    with stage(tmp_path, quiet=True) as made:
        attacker = Attacker(made.port, CHANNEL)
        attacker.sent = MOST
        with pytest.raises(RuntimeError, match="at most"):
            attacker.say(b"one more")
        attacker.close()
