"""Settings are checked once, in words that name the setting, the value and what would do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sdschat.sds.config import DEMO, SPEC, Config

WRONG: list[tuple[str, Any, str]] = [
    ("causal_history", 0, "sds.causal_history is 0, and must be from 1 to 10"),
    ("causal_history", 11, "sds.causal_history is 11, and must be from 1 to 10"),
    ("resend_unacked", 0, "sds.resend_unacked is 0"),
    ("resend_max", 1000, "sds.resend_max is 1000, and must be from 120000"),
    ("sync_interval", 9, "sds.sync_interval is 9"),
    ("sweep_interval", 0, "sds.sweep_interval is 0"),
    ("lost_after", 0, "sds.lost_after is 0"),
    ("max_skew", -1, "sds.max_skew is -1"),
    ("max_message_bytes", 1023, "sds.max_message_bytes is 1023"),
    ("bloom_capacity", 7, "bloom.capacity is 7"),
    ("bloom_error_rate", 0.2, "bloom.error_rate is 0.2, and must be from 1e-06 to 0.1"),
    ("t_min", -1, "repair.t_min is -1"),
    ("t_max", 30_000, "repair.t_max is 30000, and must be more than repair.t_min, which is 30000"),
    ("lost_after", 120_000, "sds.lost_after is 120000, and must be more than repair.t_max, which is 120000"),
    ("max_message_bytes", 20_000, "sds.max_message_bytes is 20000, and must be at least 21408 with bloom.layout auto"),
    ("max_requests", 17, "repair.max_requests is 17, and must be from 1 to 16"),
    ("num_response_groups", 0, "repair.num_response_groups is 0"),
    ("push_delay_max", 999, "push.delay_max is 999, and must be from 1000"),
]


@pytest.mark.parametrize(("field", "value", "words"), WRONG, ids=[f"{field}={value}" for field, value, _ in WRONG])
def test_a_wrong_value_is_named(field: str, value: Any, words: str) -> None:
    with pytest.raises(ValueError, match="^" + words.replace(".", r"\.")):
        replace(SPEC, **{field: value})


@pytest.mark.parametrize("config", [SPEC, DEMO], ids=["spec", "demo"])
def test_the_presets_are_right(config: Config) -> None:
    assert config.problems() == []


def test_small_packets_need_the_compact_format() -> None:
    assert replace(SPEC, bloom_layout="compact", max_message_bytes=4096).problems() == []


def test_the_compact_format_needs_room_for_its_filter_too() -> None:
    small = replace(SPEC, bloom_layout="compact", max_message_bytes=4096)
    with pytest.raises(ValueError, match=r"must be at least 17395 with bloom\.layout compact: its filter"):
        replace(small, bloom_capacity=4096, bloom_error_rate=1e-6)


def test_without_repair_there_is_nothing_to_wait_for() -> None:
    assert replace(SPEC, repair_enabled=False, lost_after=1000).problems() == []
