"""The compact filter, bit for bit, with any installed version of mmh3."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import mmh3
import pytest

from sdschat.sds.bloom import compact
from sdschat.sds.bloom.compact import CompactFilter, RangePrint, Shape, read_filter
from sdschat.sds.bloom.own import OwnFilter
from tests.vectors.cases.filters import DIGESTS, START
from tests.vectors.files import vectors
from tests.vectors.plain import filters

FILE = vectors("filters")
Case = dict[str, Any]
WINDOW = filters.window(DIGESTS[:4], 13, 616, START)


def window_of(case: Case) -> bytes:
    shape = Shape(case["hashes"], case["bits"])
    value = 0
    for item in case["ids"]:
        value |= compact.mask(item, *shape)
    return compact.encode_window(value, shape, shape.bits, case["floor"])


def read(packed: bytes) -> CompactFilter:
    found = read_filter(packed)
    assert isinstance(found, CompactFilter), found
    return found


@pytest.mark.parametrize("case", FILE["murmur"], ids=lambda case: f"{case['item'][:8]}-{case['seed']:x}")
def test_murmur(case: Case) -> None:
    """Failure of this test alone means that the library has changed."""
    found = mmh3.hash64(key=case["item"], seed=case["seed"], x64arch=True, signed=False)
    assert [f"{number:016x}" for number in found] == [case["one"], case["two"]]


@pytest.mark.parametrize("case", FILE["window"], ids=lambda case: f"{len(case['ids'])}-{case['bits']}")
def test_a_window_is_written(case: Case) -> None:
    packed = window_of(case)
    if "hex" in case:
        assert packed.hex() == case["hex"]
    else:
        assert sha256(packed).hexdigest() == case["sha256"]


@pytest.mark.parametrize("case", FILE["window"], ids=lambda case: f"{len(case['ids'])}-{case['bits']}")
def test_a_window_is_read(case: Case) -> None:
    packed = bytes.fromhex(case["hex"]) if "hex" in case else window_of(case)
    found = read(packed)
    assert (found.hashes, found.bits, found.floor) == (case["hashes"], case["bits"], case["floor"])
    assert all(map(found.holds, case["ids"]))
    assert not any(found.holds(f"other {at}") for at in range(20 if case["hashes"] > 1 else 0))


def test_a_folded_window_is_that_of_its_size() -> None:
    own = OwnFilter("compact", 256, 0.0001, START)
    for item in DIGESTS[:32]:
        own.add(item, START)
    assert own.to_bytes() == filters.window(DIGESTS[:32], 13, 616, START)


@pytest.mark.parametrize("case", FILE["print"], ids=lambda case: str(len(case["ids"])))
def test_a_print_is_written(case: Case) -> None:
    sum_of = compact.fingerprint(case["ids"])
    assert f"{sum_of:016x}" == case["fingerprint"]
    packed = compact.encode_print(RangePrint(case["low"], case["high"], len(case["ids"]), sum_of))
    assert packed.hex() == case["hex"]


@pytest.mark.parametrize("case", FILE["print"], ids=lambda case: str(len(case["ids"])))
def test_a_print_is_read(case: Case) -> None:
    found = read(WINDOW + bytes.fromhex(case["hex"])).range_print
    assert found == RangePrint(case["low"], case["high"], len(case["ids"]), int(case["fingerprint"], 16))


@pytest.mark.parametrize("case", FILE["range"], ids=lambda case: f"{len(case['ids'])}-{case['seed']:x}")
def test_the_body_of_a_range_is_written(case: Case) -> None:
    body = compact.body_of(case["ids"], case["hashes"], case["bits"], case["seed"])
    assert case["hex"].endswith(body.hex())
    assert len(case["hex"]) == 2 * (21 + len(body))


def test_a_range_is_written() -> None:
    packed = compact.encode_range(DIGESTS, START, 2**48 - 1, 0.0001, 2**32 - 1)
    assert packed.hex() in [case["hex"] for case in FILE["range"]]


@pytest.mark.parametrize("case", FILE["range"], ids=lambda case: f"{len(case['ids'])}-{case['seed']:x}")
def test_a_range_is_read(case: Case) -> None:
    found = read(WINDOW + bytes.fromhex(case["hex"])).range_filter
    assert found is not None
    assert (found.low, found.high, found.seed) == (case["low"], case["high"], case["seed"])
    assert (found.hashes, found.bits) == (case["hashes"], case["bits"])
    assert all(map(found.holds, case["ids"]))
    assert found.made_of(case["ids"]) == found.body
