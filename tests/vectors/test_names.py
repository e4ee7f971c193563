"""Ids, groups, hints and fingerprints of logs, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest

from sdschat.node.store_client.hint import Hint, hint_of, read_hint
from sdschat.node.sync import history_sync
from sdschat.node.sync.direct import pair_group
from sdschat.sds.ids import content_id, text_id
from sdschat.store.journal import fingerprint_step
from tests.fingerprints import fingerprint_of
from tests.vectors.files import vectors

FILE = vectors("names")
Case = dict[str, Any]


@pytest.mark.parametrize("case", FILE["content_ids"], ids=lambda case: str(len(case["content"])))
def test_content_ids(case: Case) -> None:
    assert content_id(bytes.fromhex(case["content"])) == case["id"]


@pytest.mark.parametrize("case", FILE["text_ids"], ids=lambda case: str(case["lamport"]))
def test_text_ids(case: Case) -> None:
    made = text_id(case["channel"], case["sender"], case["lamport"], bytes.fromhex(case["content"]))
    assert made == case["id"]


@pytest.mark.parametrize("case", FILE["history_groups"], ids=lambda case: case["channel"])
def test_the_group_of_pages(case: Case) -> None:
    assert history_sync.history_group(case["channel"]).hex() == case["group"]


@pytest.mark.parametrize("case", FILE["pair_groups"], ids=lambda case: case["channel"] + case["pair"][0][0])
def test_the_group_of_two(case: Case) -> None:
    assert pair_group(case["channel"], *case["pair"]).hex() == case["group"]


@pytest.mark.parametrize("case", FILE["hints"], ids=lambda case: f"{case['place']:x}")
def test_hints(case: Case) -> None:
    assert hint_of(case["store"], case["place"]).hex() == case["hex"]
    assert read_hint(bytes.fromhex(case["hex"])) == Hint(case["store"], case["place"])


@pytest.mark.parametrize("case", FILE["logs"], ids=lambda case: str(len(case["log"])))
def test_the_fingerprint_of_a_log(case: Case) -> None:
    assert fingerprint_of([(lamport, name) for lamport, name in case["log"]]) == case["fingerprint"]
    found = 0
    for lamport, name in reversed(case["log"]):
        found = fingerprint_step(found, lamport, name)
    assert f"{found:032x}" == case["fingerprint"]
