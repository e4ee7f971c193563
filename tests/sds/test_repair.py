"""SDS-R arithmetic against the vectors of the reference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sdschat.sds.repair import determine_t_req, determine_t_resp, in_response_group, sds_hash
from tests.sds.group import QUIET, START, Group, forge

FILE = Path(__file__).parents[1] / "vectors" / "sds_js.json"
VECTORS: list[dict[str, Any]] = json.loads(FILE.read_text())["repair"]
NOW = 1_700_000_000_000


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["message_id"][:8])
def test_the_reference_computes_the_same(vector: dict[str, Any]) -> None:
    who, sender, message_id = vector["participant_id"], vector["sender_id"], vector["message_id"]
    t_min, t_max = vector["t_min"], vector["t_max"]
    assert sds_hash(who) == int(vector["hash_participant"])
    assert sds_hash(who, message_id) == int(vector["combined_hash"])
    assert determine_t_req(NOW, who, message_id, t_min, t_max) - NOW == vector["t_req_offset"]
    assert determine_t_resp(NOW, who, sender, message_id, t_max) - NOW == vector["t_resp_offset"]
    assert in_response_group(who, sender, message_id, vector["num_response_groups"]) == vector["in_response_group"]


def test_the_sender_itself_has_no_distance() -> None:
    assert determine_t_resp(NOW, "a", "a", "m1", 120_000) == NOW


def test_others_are_spread_over_t_max() -> None:
    found = [determine_t_resp(0, f"p{place}", "a", "m1", 120_000) for place in range(1000)]
    assert max(found) < 120_000
    assert max(found) - min(found) > 100_000


def test_an_id_that_is_no_utf8_does_not_raise() -> None:
    assert sds_hash("\ud800") >= 0


def test_the_time_until_it_is_asked_for_again_counts_from_the_request() -> None:
    """It counted from the end of the pause after the request: the bar of the countdown stood still till then."""
    group = Group("a", settle=2000)
    group.give("a", forge("b", "after", START + 2, "m1"))
    missing = group["a"].channel.state.requests.missing["m1"]
    while not missing.attempts:
        group.tick(QUIET.sweep_interval)
    assert missing.t_req is not None
    assert missing.counts_from <= group.now.mono < missing.t_req
