"""The two filter formats."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import mmh3
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdschat.sds.bloom import compact, waku
from sdschat.sds.bloom.compact import CompactFilter, RangePrint, read_filter
from sdschat.sds.bloom.own import OwnFilter
from sdschat.sds.limits import MAX_FILTER_BYTES

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "sds_js.json").read_text())
FIXED = [vector for vector in VECTORS["bloom"] if vector["bytes"] == waku.BYTES]
ids = st.lists(st.text(min_size=1, max_size=64), unique=True, max_size=60)
shapes = st.tuples(st.sampled_from([8, 64, 256]), st.sampled_from([0.1, 0.01, 0.0001]))


def hash_n(item: str, n: int, bound: int) -> int:
    """Return the n-th hash of an item, as `@waku/sds` has it."""
    first = abs(mmh3.hash(item)) % bound
    second = abs(mmh3.hash(item + " b")) % bound
    return (first + n * second) % bound


def own_filter(items: list[str], capacity: int = 256, error_rate: float = 0.0001, layout: str = "compact") -> OwnFilter:
    own = OwnFilter(layout, capacity, error_rate, 0)
    for item in items:
        own.add(item, 0)
    return own


def received(own: OwnFilter) -> CompactFilter:
    found = compact.decode(own.to_bytes())
    assert isinstance(found, CompactFilter)
    return found


def numbered(prefix: str, count: int) -> list[str]:
    return [sha256(f"{prefix}{place}".encode()).hexdigest() for place in range(count)]


@pytest.mark.parametrize("vector", VECTORS["hashN"], ids=lambda vector: f"{vector['n']}-{vector['max']}")
def test_waku_positions_are_those_of_the_reference(vector: dict[str, Any]) -> None:
    assert hash_n(vector["item"], vector["n"], vector["max"]) == vector["value"]


@pytest.mark.parametrize("vector", VECTORS["bloom"], ids=lambda vector: f"{vector['capacity']}-{vector['count']}")
def test_positions_make_the_filters_of_the_reference_at_every_size(vector: dict[str, Any]) -> None:
    body = bytearray(vector["bytes"])
    for place in range(vector["count"]):
        item = sha256(f"{vector['item_prefix']}{place}".encode()).hexdigest()
        for n in range(vector["k"]):
            bit = hash_n(item, n, vector["m_bits"])
            body[(bit >> 3) ^ 7] |= 1 << (bit & 7)
    assert sha256(body).hexdigest() == vector["sha256"]


@pytest.mark.parametrize("vector", FIXED, ids=lambda vector: f"{vector['count']}-ids")
def test_waku_filters_are_those_of_the_reference(vector: dict[str, Any]) -> None:
    items = [sha256(f"{vector['item_prefix']}{place}".encode()).hexdigest() for place in range(vector["count"])]
    body = bytearray(waku.BYTES)
    for item in items:
        waku.add(body, item)
    assert sha256(body).hexdigest() == vector["sha256"]
    found = waku.WakuFilter(bytes(body))
    assert [found.holds(item) for item, _ in vector["probes"]] == [held for _, held in vector["probes"]]


@given(ids, shapes)
@settings(max_examples=80, deadline=None)
def test_compact_has_no_false_negatives(items: list[str], shape: tuple[int, float]) -> None:
    found = received(own_filter(items, *shape))
    assert all(found.holds(item) for item in items)


@given(ids, shapes, st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_folding_is_building_small(items: list[str], shape: tuple[int, float], folds: int) -> None:
    full = compact.shape_for(*shape)
    small = full.bits >> folds
    large_value = small_value = 0
    for item in items:
        large_value |= compact.mask(item, full.hashes, full.bits)
        small_value |= compact.mask(item, full.hashes, small)
    assert compact.fold(large_value, full.bits, small) == small_value


@pytest.mark.parametrize(("capacity", "error_rate"), [(256, 0.01), (256, 0.001), (1000, 0.01)])
def test_compact_errs_at_most_twice_as_often_as_designed(capacity: int, error_rate: float) -> None:
    shape = compact.shape_for(capacity, error_rate)
    value = 0
    for item in numbered("held", capacity):
        value |= compact.mask(item, shape.hashes, shape.bits)
    found = CompactFilter(shape.hashes, shape.bits, 0, value)
    wrong = sum(found.holds(item) for item in numbered("other", 20_000))
    assert wrong / 20_000 <= 2 * error_rate


@pytest.mark.parametrize(("folds", "ids"), [(3, 10), (3, 20), (2, 40), (0, 160)])
def test_compact_errs_as_seldom_as_its_bits_say_while_it_is_young(folds: int, ids: int) -> None:
    """Ids that shared all their bits, rather than each bit by chance, would make it err in one of 3,000."""
    shape = compact.shape_for(256, 0.0001)
    bits = shape.bits >> folds
    value = 0
    for item in numbered("held", ids):
        value |= compact.mask(item, shape.hashes, bits)
    found = CompactFilter(shape.hashes, bits, 0, value)
    assert found.fill**found.hashes < 2e-6
    assert sum(found.holds(item) for item in numbered("other", 60_000)) <= 1


def test_compact_at_the_default_design_hardly_errs_in_a_hundred_thousand() -> None:
    found = received(own_filter(numbered("held", 255)))
    assert sum(found.holds(item) for item in numbered("other", 100_000)) <= 20


def test_compact_with_256_ids_fits_into_640_bytes() -> None:
    assert len(own_filter(numbered("held", 256)).to_bytes()) <= 640


@pytest.mark.parametrize(("count", "most"), [(0, 90), (32, 90), (64, 170), (128, 330)])
def test_compact_is_small_while_young(count: int, most: int) -> None:
    assert len(own_filter(numbered("held", count)).to_bytes()) <= most


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_a_filter_or_a_reason(packed: bytes) -> None:
    for candidate in (packed, b"\xc4" + packed):
        found = read_filter(candidate)
        if not isinstance(found, str):
            assert isinstance(found.holds("m1"), bool)
            assert 0 <= found.fill <= 1


@given(st.binary(max_size=60), st.integers(1, 20))
@settings(max_examples=200, deadline=None)
def test_a_damaged_filter_is_a_filter_or_a_reason(noise: bytes, at: int) -> None:
    good = own_filter(["m1", "m2"]).to_bytes() + compact.encode_print(RangePrint(5, 9, 2, 77))
    found = read_filter(good[:-at] + noise)
    assert isinstance(found, str) or found.fill >= 0


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"\xc4",
        bytes(16),
        b"\xc4\x00\x00\x00\x08" + bytes(6) + b"\x01",
        b"\xc4\x21\x00\x00\x08" + bytes(7),
        b"\xc4\x03\x00\x00\x09" + bytes(8),
        b"\xc4\x03\xff\xff\xf8" + bytes(100),
        bytes(waku.BYTES - 1),
    ],
    ids=["empty", "tag-only", "unknown", "no-hashes", "33-hashes", "odd-bits", "cut-short", "short-waku"],
)
def test_impossible_filters_are_refused(packed: bytes) -> None:
    assert isinstance(read_filter(packed), str)


def test_sections_come_back() -> None:
    print_of = RangePrint(2**40, 2**41, 300, 2**63 + 1)
    found = compact.decode(own_filter(["m1"]).to_bytes() + compact.encode_print(print_of))
    assert isinstance(found, CompactFilter)
    assert found.range_print == print_of


def test_a_range_filter_comes_back() -> None:
    packed = compact.encode_range(["m1", "m2"], 5, 2**41, 0.0001, 2**32 - 1)
    found = compact.decode(own_filter([]).to_bytes() + packed)
    assert isinstance(found, CompactFilter)
    answer = found.range_filter
    assert answer is not None
    assert (answer.low, answer.high, answer.seed) == (5, 2**41, 2**32 - 1)
    assert [answer.holds(item) for item in ("m1", "m2", "m3")] == [True, True, False]


def test_a_section_of_a_later_version_is_left_alone() -> None:
    assert isinstance(compact.decode(own_filter(["m1"]).to_bytes() + b"\xc9anything"), CompactFilter)


def test_fingerprints_do_not_depend_on_the_order() -> None:
    assert compact.fingerprint(["a", "b", "c"]) == compact.fingerprint(["c", "a", "b"])


def test_fingerprints_count_doubles() -> None:
    assert compact.fingerprint(["a", "a"]) != compact.fingerprint([])


def test_the_largest_filter_we_send_is_one_we_accept() -> None:
    largest = own_filter(numbered("held", 100), 4096, 1e-6).to_bytes()
    full = own_filter(numbered("held", 4095), 4096, 1e-6).to_bytes()
    for packed in (largest, full):
        assert len(packed) <= MAX_FILTER_BYTES
        assert isinstance(read_filter(packed), CompactFilter)


def test_compare_tells_who_has_more() -> None:
    ours, theirs = own_filter(["m1", "m2"]), own_filter(["m2", "m3"])
    compared = ours.compare(received(theirs))
    assert compared is not None
    ours_only, theirs_only = compared
    assert ours_only
    assert theirs_only


def test_a_waku_filter_goes_beyond_another_by_what_is_neither_there_nor_explained() -> None:
    ours = OwnFilter("waku", 64, 0.001, 0)
    for message_id in ("one", "two", "three"):
        ours.add(message_id, 1)
    body = bytearray(waku.BYTES)
    waku.add(body, "one")
    theirs = waku.WakuFilter(bytes(body))
    assert ours.beyond(theirs, ())
    assert ours.beyond(theirs, ("two",))
    assert not ours.beyond(theirs, ("two", "three", "four"))
    waku.add(body, "five")
    for message_id in ("two", "three"):
        waku.add(body, message_id)
    assert not ours.beyond(waku.WakuFilter(bytes(body)), ())


def test_filters_of_other_shapes_do_not_compare() -> None:
    assert own_filter(["m1"]).compare(received(own_filter(["m1"], 64, 0.1))) is None


def test_filters_of_ever_other_shapes_leave_nothing_in_memory() -> None:
    before = compact.mask.cache_info().currsize
    for hashes in range(1, compact.MAX_HASHES + 1):
        found = compact.decode(strange_window(hashes, compact.MAX_BITS - 8 * hashes))
        assert not isinstance(found, str)
        assert not any(found.holds(item) for item in numbered("held", 50))
    assert compact.mask.cache_info().currsize == before


def test_a_filter_of_a_strange_shape_holds_what_was_put_in() -> None:
    ids = numbered("held", 300)
    body = compact.body_of(ids, 20, 1 << 15, 0)
    found = compact.decode(strange_window(20, 1 << 15, body))
    assert not isinstance(found, str)
    assert all(found.holds(item) for item in ids)
    assert not any(found.holds(item) for item in numbered("other", 300))


def test_more_hashes_than_any_error_rate_needs_are_refused() -> None:
    assert compact.decode(strange_window(32, 1 << 15)) == "impossible shape: 32 hashes, 32768 bits"


def test_a_range_filter_of_half_a_byte_is_refused() -> None:
    good = own_filter(["m1"]).to_bytes()
    answer = bytearray(compact.encode_range(["m1"], 5, 9, 0.0001, 77))
    answer[3] |= 1  # the lowest bits of the bit count
    assert compact.decode(good + bytes(answer)) == "range filter of an impossible shape"


def strange_window(hashes: int, bits: int, body: bytes = b"") -> bytes:
    head = bytes([compact.WINDOW, hashes]) + bits.to_bytes(3, "big") + (5).to_bytes(6, "big")
    return head + (body or bytes(bits >> 3))
