"""Groups with Stores, direct messages, joiners and month-long absences, over many seeds: CI sets
SDSCHAT_HISTORY_SEEDS."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable

import pytest

from sdschat.catchup.exchange import Exchange
from sdschat.node.store_client import client as store_client
from sdschat.node.store_client import requests
from sdschat.node.store_client.client import StoreClient
from sdschat.node.store_client.verify import Checked, VerifiedAnswer
from sdschat.sds.channel import Channel
from sdschat.sds.values import Now
from sdschat.sim.companion import Companion
from sdschat.sim.history_run import run, run_seeds
from sdschat.sim.phases import Outcome
from tests.sim_history.equipped import Equipped
from tests.sim_history.world import SITUATIONS, StoreWorld

SEEDS = int(os.environ.get("SDSCHAT_HISTORY_SEEDS", "40"))
PARTS = 2  # that run side by side
ENOUGH = 500  # seeds in a part, to meet everything
REGRESS = (
    75,  # offline, with a source that had failed before, it asked to be woken for ever
    1160,  # killed before it was saved that the join horizon had moved
    158,  # a page of long messages
    122,  # a direct message expired just when its reader came
    312,  # the same
    460014312,  # done with the only one it compared with, while the one who has more was let go first
)


def _play(seed: int) -> Outcome:
    return run(seed, StoreWorld)[0]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
def test_whoever_comes_late_ends_up_with_everything(part: int) -> None:
    tally: Counter[str] = Counter()
    met: Counter[str] = Counter()

    class Counted(StoreWorld):
        def check(self) -> None:
            super().check()
            tally.update(pages=self.from_stores, letters=len(self.letters.told))
            met.update(self.reached)

    seeds = range(part, SEEDS, PARTS)
    summary = run_seeds(seeds, Counted)
    assert [(outcome.seed, outcome.rule, outcome.what) for outcome in summary.failures] == []
    assert summary.fetched > 5 * len(seeds)
    assert tally["letters"] > 2 * len(seeds)
    assert tally["pages"] > 0
    if len(seeds) >= ENOUGH:
        assert [situation for situation in SITUATIONS if not met[situation]] == []


@pytest.mark.parametrize("seed", [4, 37])
def test_a_store_whose_pages_are_in_disorder_is_found_out_and_left(seed: int) -> None:
    noticed = 0

    class Noting(StoreWorld):
        def check(self) -> None:
            nonlocal noticed
            noticed += self.noticed

    assert run(seed, Noting)[0].good
    assert noticed


@pytest.mark.parametrize("seed", REGRESS)
def test_a_seed_that_once_failed(seed: int) -> None:
    outcome = _play(seed)
    assert outcome.good, f"{outcome.rule}: {outcome.what}"


def test_a_seed_gives_the_same_run_every_time() -> None:
    assert [_play(seed).trace for seed in range(3)] == [_play(seed).trace for seed in range(3)]


# The invariants can fail.


def test_with_nobody_who_answers_a_newcomer_lacks_what_is_older_than_its_joining(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Exchange, "frame", lambda *_: None)
    assert "I5" in {_play(seed).rule for seed in range(10)}


def test_who_takes_whatever_a_store_sends_ends_up_with_what_nobody_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def believe(query: object, answer: object, channel: str, codec: object) -> VerifiedAnswer:
        items = answer.items  # type: ignore[attr-defined]
        decoded = [(codec.decode(item.packet), item) for item in items if item.packet]  # type: ignore[attr-defined]
        return VerifiedAnswer(tuple(Checked(message, item.packet, item.hint) for message, item in decoded))

    monkeypatch.setattr(requests, "judge", believe)
    assert not all(_play(seed).good for seed in (0, 126, 128))


def test_who_asks_a_store_for_ever_is_not_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_client, "HINTS_TRIES", 10**6)
    monkeypatch.setattr(store_client.StoreClient, "_ask_for_hints", _always(store_client.StoreClient._ask_for_hints))
    assert "H4" in {_play(seed).rule for seed in (13, 21)}


def _always(ask: Callable[[StoreClient, Now], None]) -> Callable[[StoreClient, Now], None]:
    """As often as at the first time."""

    def again(client: StoreClient, now: Now) -> None:
        client._hints_tries = 0
        ask(client, now)

    return again


def test_who_goes_on_waiting_does_not_show_what_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Channel, "end_history", lambda *_: None)
    assert _play(466).rule == "H5"


def test_direct_messages_that_are_not_heard_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Equipped, "records", Companion.records)
    assert "D2" in {_play(seed).rule for seed in range(2)}
