"""Tests of a log from which the messages with wanted bodies are left out."""

from __future__ import annotations

from sdschat.catchup import HIGHEST, LOWEST, LogKey
from sdschat.catchup.wanted_bodies import WantedBodies
from sdschat.sim.companion import MemoryLog
from tests.catchup.compare import some_keys

KEYS = some_keys(600)
WANTED = KEYS[100:400:7]


def test_it_answers_as_a_log_without_them() -> None:
    wanted, without = WantedBodies(MemoryLog(KEYS)), MemoryLog([key for key in KEYS if key not in WANTED])
    assert wanted.want([*WANTED, WANTED[0]]) == len(WANTED)
    for low, high in ((LOWEST, HIGHEST), (LogKey(*KEYS[90]), LogKey(*KEYS[300])), (LogKey(*WANTED[0]), HIGHEST)):
        assert wanted.summary(low, high) == without.summary(low, high)
        for limit in (-1, 0, 50, 10**6):
            assert list(wanted.keys(low, high, limit)) == list(without.keys(low, high, limit))
    assert WANTED[0] in wanted
    assert KEYS[0] not in wanted


def test_what_was_found_or_given_up_is_in_it_again() -> None:
    wanted, whole = WantedBodies(MemoryLog(KEYS)), MemoryLog(KEYS)
    wanted.want(WANTED)
    wanted.found(WANTED[0])
    wanted.found(KEYS[0])
    assert len(wanted) == len(WANTED) - 1
    assert WANTED[0] not in wanted
    assert wanted.give_up() == len(WANTED) - 1
    assert wanted.summary(LOWEST, HIGHEST) == whole.summary(LOWEST, HIGHEST)
