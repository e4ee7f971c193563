"""The largest accepted frames and pages, and the reasons for refusing the next larger ones."""

from __future__ import annotations

import pytest

from sdschat.catchup import values
from sdschat.catchup import values as v
from sdschat.wire import catchup_pb2 as pb
from sdschat.wire.catchup_codec import (
    MAX_FRAME_BYTES,
    MAX_PAGE_PACKETS,
    decode_extension,
    decode_page,
    encode_frame,
    encode_page,
)

LOW, HIGH = v.LogKey(5, ""), v.LogKey(values.MAX_LAMPORT, "x" * (values.MAX_ID_BYTES + 1))
QUESTION = v.Question(v.QuestionKind.CELLS, LOW, HIGH, 3)
PART = v.RangePart(HIGH, 1, b"12345678")
PACKED = b"\0" * values.SHORT_BYTES


def read(what: v.Ask | v.AnswerFrame | v.Want | v.Declined | v.Nudge) -> object:
    found = decode_extension(encode_frame(v.Frame(1, 1, what)))
    return found.what if isinstance(found, v.Frame) else found


@pytest.mark.parametrize(
    "what",
    [
        v.Ask(1, (QUESTION,) * values.QUESTIONS),
        v.Want((v.Stretch(LOW, HIGH),) * values.STRETCHES, 1),
        v.Want((v.Stretch(LOW, HIGH, (1,) * values.SHORTS),), 1),
        v.Want((v.Stretch(LOW, HIGH, (1,), True),) * values.STRETCHES, 1),
        v.AnswerFrame((v.RangeReply(equal=True),) * values.QUESTIONS),
        v.AnswerFrame((v.RangeReply(keys=(LOW,) * values.KEYS),)),
        v.AnswerFrame((v.RangeReply(parts=(PART,) * values.PARTS),)),
        v.AnswerFrame((v.RangeReply(cells=(2**64 - 1,) * values.CELLS_IN_ALL),)),
        v.Declined("x" * 64),
    ],
    ids=["ask", "stretches", "shorts", "sole", "replies", "keys", "parts", "cells", "declined"],
)
def test_the_largest_are_taken(what: v.Ask | v.AnswerFrame | v.Want | v.Declined) -> None:
    assert read(what) == what


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (v.Ask(1, ()), "0 questions"),
        (v.Ask(1, (QUESTION,) * 65), "65 questions"),
        (v.Ask(1, (QUESTION._replace(high=LOW),)), "a stretch that ends before it begins"),
        (v.Ask(1, (QUESTION._replace(fingerprint=b"1234567"),)), "a fingerprint of another length"),
        (v.AnswerFrame((v.RangeReply(),) * 65), "65 replies"),
        (v.AnswerFrame((v.RangeReply(keys=(LOW,) * 65),)), "65 keys"),
        (v.AnswerFrame((v.RangeReply(parts=(PART,) * 65),)), "65 parts with 520 bytes of fingerprints"),
        (
            v.AnswerFrame((v.RangeReply(parts=(PART._replace(fingerprint=b"1"),)),)),
            "1 parts with 1 bytes of fingerprints",
        ),
        (v.AnswerFrame((v.RangeReply(cells=(1,) * (values.CELLS_IN_ALL + 1)),)), "131080 bytes of short ids"),
        (v.Want((v.Stretch(LOW, HIGH),) * 1025, 1), "1025 stretches with 0 bytes of short ids"),
        (v.Want((v.Stretch(LOW, HIGH, (1,) * 8193),), 1), "65544 bytes of short ids"),
        (v.Want((v.Stretch(LOW, LOW),), 1), "a stretch that ends before it begins"),
        (v.Want((v.Stretch(LOW, HIGH, (), True),), 1), "a difference of fingerprints that is not alone"),
        (v.Want((v.Stretch(LOW, HIGH, (1, 2), True),), 1), "a difference of fingerprints that is not alone"),
        (v.Declined("x" * 65), "a long reason"),
        (v.Ask(1, (QUESTION._replace(high=v.LogKey(9, "x" * 130)),)), "an id that belongs to nothing, or is too long"),
    ],
)
def test_the_next_larger_are_refused_and_say_why(what: v.Ask | v.AnswerFrame | v.Want | v.Declined, why: str) -> None:
    assert read(what) == v.RefusedFrame(why)


def extension(**what: object) -> object:
    frame = pb.Frame(session=1, number=1, **what)  # type: ignore[arg-type]
    return decode_extension(pb.Extension(frame=frame).SerializeToString())


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (pb.Ask(kinds=[1], numbers=[1, 2], bounds=pb.Bounds(lamports=[0, 1])), "1 questions"),
        (pb.Ask(kinds=[4], numbers=[1], bounds=pb.Bounds(lamports=[0, 1])), "a question of an unknown kind"),
        (pb.Ask(kinds=[1], numbers=[1], bounds=pb.Bounds(lamports=[0])), "1 bounds where 2 are expected"),
        (pb.Ask(kinds=[1], numbers=[1], bounds=pb.Bounds(lamports=[-1, 5])), "a time out of bounds"),
        (
            pb.Ask(kinds=[1], numbers=[1], bounds=pb.Bounds(lamports=[0, 1], positions=[0])),
            "2 bounds where 2 are expected",
        ),
        (
            pb.Ask(kinds=[1], numbers=[1], bounds=pb.Bounds(lamports=[0, 1], positions=[2], ids=["a"])),
            "an id that belongs to nothing, or is too long",
        ),
        (
            pb.Ask(kinds=[1], numbers=[1], bounds=pb.Bounds(lamports=[0, 1], positions=[0, 0, 1], ids=["a"] * 3)),
            "2 bounds where 2 are expected",
        ),
        (
            pb.Ask(kinds=[1, 1], numbers=[1, 1], bounds=pb.Bounds(lamports=[0, 1, 0, 1]), fingerprint=b"12345678"),
            "a fingerprint of another length",
        ),
    ],
)
def test_columns_that_do_not_fit_are_refused(ask: pb.Ask, why: str) -> None:
    assert extension(ask=ask) == v.RefusedFrame(why)


def test_a_want_whose_columns_do_not_fit_is_refused() -> None:
    bounds = pb.Bounds(lamports=[0, 1])
    short = v.RefusedFrame("1 stretches with 8 bytes of short ids")
    assert extension(want=pb.Want(bounds=bounds, numbers=[2], shorts=PACKED)) == short
    assert extension(want=pb.Want(bounds=bounds, numbers=[1], shorts=PACKED + b"1")) == v.RefusedFrame(
        "9 bytes of short ids"
    )
    lonely = v.RefusedFrame("a difference of fingerprints that is not alone")
    assert extension(want=pb.Want(bounds=bounds, numbers=[1], shorts=PACKED, sole=[0, 0])) == lonely


def test_a_position_that_no_stretch_has_is_nothing() -> None:
    want = pb.Want(bounds=pb.Bounds(lamports=[0, 1]), numbers=[1], shorts=PACKED, sole=[1])
    stretch = v.Stretch(v.LogKey(0, ""), v.LogKey(1, ""), (0,), False)
    assert extension(want=want) == v.Frame(1, 1, v.Want((stretch,), 0))


def test_an_empty_frame_is_refused() -> None:
    assert extension() == v.RefusedFrame("a frame with nothing in it")


def test_a_frame_may_be_as_long_as_is_said() -> None:
    """The bound is for frames only: other packets of that topic have their own."""
    frame = encode_frame(v.Frame(1, 1, v.Nudge(5)))
    filler = MAX_FRAME_BYTES - len(frame)
    largest = frame + pb.Extension(signature=b"x" * (filler - 6)).SerializeToString()
    assert len(largest) == MAX_FRAME_BYTES
    assert decode_extension(largest) == v.Frame(1, 1, v.Nudge(5))
    larger = frame + pb.Extension(signature=b"x" * (filler - 5)).SerializeToString()
    assert decode_extension(larger) == v.RefusedFrame(f"a frame of {MAX_FRAME_BYTES + 1} bytes")


def test_a_page_may_have_as_many_packets_as_is_said() -> None:
    page = v.HistoryPage(1, 2, 3, (b"p",) * MAX_PAGE_PACKETS)
    assert decode_page(encode_page(page)) == page
    assert decode_page(encode_page(page._replace(packets=(b"p",) * 1025))) == v.RefusedFrame("1025 packets")
    assert decode_page(b"\xff") == v.RefusedFrame("unreadable")
    ids = tuple(v.IdOnly(v.LogKey(number, f"{number:064x}"), "a") for number in range(MAX_PAGE_PACKETS + 1))
    assert decode_page(encode_page(page._replace(ids=ids[1:]))) == page._replace(ids=ids[1:])
    assert decode_page(encode_page(page._replace(ids=ids))) == v.RefusedFrame("1025 ids with 32800 bytes")


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (pb.Page(id_lamports=[5], ids=b"i" * 31, id_senders=["a"], id_sender_at=[0]), "1 ids with 31 bytes"),
        (pb.Page(id_lamports=[5], ids=b"i" * 32, id_senders=["a"]), "1 ids with 32 bytes"),
        (pb.Page(id_lamports=[5], ids=b"i" * 32, id_senders=[""], id_sender_at=[0]), "senders of ids that are none"),
        (pb.Page(id_lamports=[5], ids=b"i" * 32, id_senders=["\n"], id_sender_at=[0]), "senders of ids that are none"),
        (pb.Page(id_senders=["a"]), "senders of ids that are none"),
        (pb.Page(id_lamports=[5], ids=b"i" * 32, id_senders=["a"], id_sender_at=[1]), "an id without a sender"),
        (pb.Page(id_lamports=[-1], ids=b"i" * 32, id_senders=["a"], id_sender_at=[0]), "a time out of bounds"),
    ],
)
def test_ids_in_a_page_that_do_not_fit_are_refused(page: pb.Page, why: str) -> None:
    assert decode_page(page.SerializeToString()) == v.RefusedFrame(why)
