"""A second of what `tests.sds.fuzz_decoder` does for five minutes."""

from __future__ import annotations

import random

from tests.sds.fuzz_decoder import corpus, play


def test_nothing_raises_and_nothing_refused_changes_anything() -> None:
    chance = random.Random(7)
    packets = corpus()
    counts = [play(chance, packets) for _ in range(3)]
    assert all(0 < refused < total for total, refused in counts)
