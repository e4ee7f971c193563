"""The bytes of nim-sds: numbers, clock, frame of the filter, and missing values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sdschat.sds.limits import MAX_UNKNOWN_BYTES
from sdschat.sds.values import HistoryEntry, Message, MessageKind, Reason, Refusal
from sdschat.wire.nim_codec import ANONYMOUS, EitherCodec, NimCodec
from sdschat.wire.protobuf_scan import fields
from tests.wire.samples import BYTES, CODEC, FIXED32, VARINT, digest, field, full_message, least, tag, varint

NIM = NimCodec()
SECONDS = 1_760_331_342


def numbers(packet: bytes) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = {}
    for each in fields(packet):
        found.setdefault(each.number, []).append(packet[each.body : each.end])
    return found


def from_nim(*more: bytes, lamport: int = SECONDS) -> bytes:
    """Return a message as nim-sds writes it, after the code of its `encode`."""
    frame = field(1, bytes(18_752)) + field(2, 10_000) + field(3, 1000) + field(4, 10) + field(5, 150_000)
    parents = field(3, field(1, digest("one"))) + field(3, field(1, digest("two")) + field(3, "bob"))
    packet = field(1, digest("m")) + field(2, lamport) + parents + field(4, "lobby") + field(5, b"hello")
    return packet + field(6, frame) + b"".join(more)


def test_what_is_written_is_read() -> None:
    message = full_message()
    assert NIM.decode(NIM.encode(message)) == message
    for bare in (Message("s", "m", "c", 10**12, (), b"\xc4filter", (), None), Message("s", "e", "c", content=b"x")):
        assert NIM.decode(NIM.encode(bare)) == bare


def test_the_numbers_are_those_of_nim_sds() -> None:
    message = full_message()
    found = numbers(NIM.encode(message))
    assert sorted(found) == [1, 2, 3, 4, 5, 6, 7, 13]
    assert found[1] == [message.message_id.encode()]
    assert found[2] == [varint(message.lamport_timestamp or 0)]
    assert [numbers(entry)[1][0].decode() for entry in found[3]] == [digest("one"), digest("two")]
    assert numbers(found[3][0])[3] == [digest("bob")[:32].encode()]
    assert (found[4], found[5], found[7]) == ([b"lobby"], [message.content], [message.sender_id.encode()])
    assert numbers(found[13][0])[1] == [digest("three").encode()]


def test_the_frame_of_a_filter_has_all_that_nim_sds_asks_for_and_holds_nothing() -> None:
    frame = numbers(numbers(NIM.encode(full_message()))[6][0])
    assert {1, 2, 3, 4, 5} <= frame.keys()
    assert not any(frame[1][0])
    bits = int.from_bytes(frame[5][0], "little")
    assert len(frame[1][0]) * 8 >= bits > 0


def test_a_message_of_nim_sds_is_read() -> None:
    entries = (HistoryEntry(digest("one")), HistoryEntry(digest("two"), None, "bob"))
    got = NIM.decode(from_nim(field(7, "nim participant")))
    assert got == Message("nim participant", digest("m"), "lobby", SECONDS * 1000, entries, None, (), b"hello")


def test_a_clock_in_milliseconds_stays() -> None:
    got = NIM.decode(from_nim(lamport=SECONDS * 1000 + 7))
    assert isinstance(got, Message)
    assert got.lamport_timestamp == SECONDS * 1000 + 7


def test_a_sender_without_a_name_has_one_here() -> None:
    for packet in (from_nim(), from_nim(field(7, ""))):
        got = NIM.decode(packet)
        assert isinstance(got, Message)
        assert got.sender_id == ANONYMOUS


def test_a_packet_of_the_specification_is_refused_with_the_reason() -> None:
    got = NIM.decode(CODEC.encode(full_message()))
    assert isinstance(got, Refusal)
    assert got.reason is Reason.FOREIGN_DIALECT
    assert got.message_id == full_message().message_id


def test_bad_packets_are_refused_for_the_reasons_of_the_specification() -> None:
    twice = NIM.decode(from_nim(field(5, b"again")))
    nameless = NIM.decode(field(2, SECONDS) + field(4, "lobby") + field(5, b"x") + field(7, "s"))
    large = NimCodec(100).decode(from_nim())
    padded = NIM.decode(from_nim(field(99, bytes(1000))))
    found = [got.reason for got in (twice, nameless, large, padded) if isinstance(got, Refusal)]
    assert found == [Reason.DUPLICATE_FIELD, Reason.FIELD_MISSING, Reason.TOO_LARGE, Reason.UNREADABLE]


def test_our_sync_messages_lack_what_nim_sds_insists_on() -> None:
    packet = NIM.encode(Message("s", "sync", "c", 10**12, (), b"f", (), None))
    assert 5 not in numbers(packet)  # without content nim-sds drops them, as it must: they belong to no history
    got = NIM.decode(packet)
    assert isinstance(got, Message)
    assert got.kind is MessageKind.SYNC


def test_the_bytes_of_a_message() -> None:
    """By hand: in the order of the numbers, and lengths in as few bytes as possible."""
    content = b"x" * 127
    frame = field(1, bytes(8)) + field(2, 1) + field(3, 1000) + field(4, 1) + field(5, 64) + field(100, b"ours")
    made = NIM.encode(Message("s", "m", "c", 10**12, (HistoryEntry("p"),), b"ours", (HistoryEntry("q"),), content))
    parts = (field(1, "m"), field(2, 10**12), field(3, field(1, "p")), field(4, "c"), field(5, content))
    assert made == b"".join(parts) + field(6, frame) + field(7, "s") + field(13, field(1, "q"))


def test_a_clock_is_in_seconds_up_to_1973() -> None:
    seconds, milliseconds = NIM.decode(from_nim(lamport=10**11 - 1)), NIM.decode(from_nim(lamport=10**11))
    assert isinstance(seconds, Refusal | Message)
    assert isinstance(milliseconds, Message)
    assert milliseconds.lamport_timestamp == 10**11
    earlier = NIM.decode(from_nim(lamport=8 * 10**9))
    assert isinstance(earlier, Message)
    assert earlier.lamport_timestamp == 8 * 10**12


def test_a_packet_at_its_bounds_is_read_and_one_beyond_is_refused() -> None:
    packet = from_nim(field(7, "nim participant"))
    known = NIM.decode(packet)
    assert NimCodec(len(packet)).decode(packet) == known
    beyond = NimCodec(len(packet) - 1).decode(packet)
    assert isinstance(beyond, Refusal)
    assert beyond.reason is Reason.TOO_LARGE

    unknown = field(99, bytes(MAX_UNKNOWN_BYTES - 4))
    assert len(unknown) == MAX_UNKNOWN_BYTES
    assert NIM.decode(packet + unknown) == known
    assert isinstance(NIM.decode(packet + field(99, bytes(MAX_UNKNOWN_BYTES - 3))), Refusal)

    nameless = field(7, "") * (2560 - len(list(fields(packet))))
    assert NIM.decode(nameless + packet) == known
    assert isinstance(NIM.decode(field(7, "") + nameless + packet), Refusal)


def test_a_clock_of_another_wire_type_is_refused_as_such() -> None:
    got = NIM.decode(field(1, "m") + tag(2, FIXED32) + b"\xff" * 4 + field(4, "c") + field(5, b"x") + field(7, "s"))
    assert isinstance(got, Refusal)
    assert "lamport_timestamp" in got.detail


def test_what_was_saved_is_read_whatever_its_dialect() -> None:
    either = EitherCodec()
    for packet in (CODEC.encode(full_message()), NIM.encode(full_message())):
        assert either.decode(packet) == full_message()
    assert isinstance(either.decode(b"\xff"), Refusal)
    assert either.encode(full_message()) == CODEC.encode(full_message())


pieces = st.one_of(
    st.builds(field, st.integers(1, 21), st.binary(max_size=40)),
    st.builds(field, st.integers(1, 21), st.integers(0, 2**64 - 1)),
    st.builds(lambda number, wire, rest: tag(number, wire) + rest, st.integers(0, 21), st.integers(0, 7), st.binary()),
)


@given(st.lists(pieces, max_size=8).map(b"".join), st.binary(max_size=60), st.booleans())
def test_any_bytes_give_a_message_or_a_reason(some: bytes, junk: bytes, complete: bool) -> None:
    for packet in (junk, some, least(some), (from_nim() if complete else b"") + some):
        for codec in (NIM, EitherCodec()):
            got = codec.decode(packet)
            if isinstance(got, Message):
                if (got.lamport_timestamp or 10**12) >= 10**11:
                    assert NIM.decode(NIM.encode(got)) == got
            else:
                assert got.reason in Reason
                assert got.detail


def test_numbers_that_fill_every_byte() -> None:
    got = NIM.decode(field(1, "m") + tag(2, VARINT) + b"\xff" * 9 + b"\x7f" + field(4, "c") + tag(5, BYTES) + b"\x01x")
    assert isinstance(got, Message | Refusal)


def test_what_follows_an_unknown_field_is_read() -> None:
    unknown = NIM.decode(field(9, "of a later version") + from_nim(field(7, "nim participant")))
    assert unknown == NIM.decode(from_nim(field(7, "nim participant")))


def test_what_follows_an_empty_sender_is_read() -> None:
    got = NIM.decode(from_nim(field(7, ""), field(13, field(1, digest("three")))))
    assert isinstance(got, Message)
    assert (got.sender_id, got.repair_request) == (ANONYMOUS, (HistoryEntry(digest("three")),))


def test_empty_fields_may_be_left_off() -> None:
    """nim-sds 0.4 writes an entry with an id alone, and content, filter, sender and requests only if not empty."""
    least_of_all = field(1, "m") + field(2, SECONDS) + field(4, "lobby")
    got = NIM.decode(least_of_all + field(5, b"hello"))
    assert got == Message(ANONYMOUS, "m", "lobby", SECONDS * 1000, (), None, (), b"hello")
    sync = NIM.decode(least_of_all + field(13, field(1, "wanted")) + field(7, "s"))
    assert sync == Message("s", "m", "lobby", SECONDS * 1000, (), None, (HistoryEntry("wanted"),), None)


def test_an_entry_without_an_id_is_never_sent() -> None:
    """nim-sds 0.4 drops the whole message for such an entry."""
    empty, known = HistoryEntry("", b"hint", "bob"), HistoryEntry(digest("one"))
    packet = NIM.encode(Message("s", "m", "c", 10**12, (empty, known), b"f", (known, empty), b"x"))
    got = NIM.decode(packet)
    assert isinstance(got, Message)
    assert (got.causal_history, got.repair_request) == ((known,), (known,))


def test_a_message_with_an_entry_without_an_id_is_refused() -> None:
    for number in (3, 13):
        got = NIM.decode(from_nim(field(number, field(3, "bob"))))
        assert isinstance(got, Refusal)
        assert got.reason is Reason.FIELD_MISSING
