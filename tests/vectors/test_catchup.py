"""Catching up, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest

from sdschat.catchup import values as v
from sdschat.catchup.sketch import Shortener, differ, fill
from sdschat.mvds.values import Payload
from sdschat.wire.catchup_codec import (
    PAGES,
    Records,
    SyncCodec,
    decode_extension,
    decode_page,
    encode_frame,
    encode_page,
    lane_mark,
    split_signature,
    with_signature,
)
from tests.vectors.files import vectors

FILE = vectors("catchup")
Case = dict[str, Any]


def key(place: list[Any]) -> v.LogKey:
    return v.LogKey(*place)


def frame(case: Case) -> v.Frame:
    return v.Frame(case["session"], case["number"], _MAKERS[case["what"]](case))


def _ask(case: Case) -> v.Ask:
    questions = [
        v.Question(
            v.QuestionKind[one["kind"].upper()],
            key(one["low"]),
            key(one["high"]),
            one["number"],
            bytes.fromhex(one["fingerprint"]),
        )
        for one in case["questions"]
    ]
    return v.Ask(case["session"], tuple(questions), case["messages"])


def _answer(case: Case) -> v.AnswerFrame:
    return v.AnswerFrame(tuple(_reply(one) for one in case["replies"]))


def _reply(reply: Case) -> v.RangeReply:
    parts = [
        v.RangePart(key(one["high"]), one["messages"], bytes.fromhex(one["fingerprint"]))
        for one in reply.get("parts", [])
    ]
    keys = tuple(key(place) for place in reply.get("keys", []))
    return v.RangeReply(
        tuple(parts), numbers(reply.get("cells", "")), reply.get("listed", False), keys, reply.get("equal", False)
    )


def numbers(cells: str) -> tuple[int, ...]:
    return tuple(int(cells[at : at + 16], 16) for at in range(0, len(cells), 16))


def _want(case: Case) -> v.Want:
    stretches = [
        v.Stretch(key(one["low"]), key(one["high"]), numbers("".join(one["shorts"])), one["sole"])
        for one in case["stretches"]
    ]
    return v.Want(tuple(stretches), case["limit"], case["newest_first"])


_MAKERS: dict[str, Any] = {
    "ask": _ask,
    "answer": _answer,
    "want": _want,
    "declined": lambda case: v.Declined(case["why"]),
    "nudge": lambda case: v.Nudge(case["lacking"]),
}


@pytest.mark.parametrize("case", FILE["digests"], ids=lambda case: str(case["place"][0]))
def test_digests(case: Case) -> None:
    assert f"{v.digest(key(case['place'])):064x}" == case["digest"]


@pytest.mark.parametrize("case", FILE["fingerprints"], ids=lambda case: f"{len(case['log'])}-{case['salt']:x}")
def test_fingerprints(case: Case) -> None:
    whole = v.summarise([key(place) for place in case["log"]])
    assert whole.fingerprint(case["salt"]).hex() == case["fingerprint"]
    by_steps = v.RangeSummary()
    for place in reversed(case["log"]):
        by_steps = by_steps.with_key(key(place))
    assert by_steps == whole


@pytest.mark.parametrize("case", FILE["shorts"], ids=lambda case: f"{case['id'][:8]}-{case['salt']:x}")
def test_short_ids(case: Case) -> None:
    assert f"{Shortener(case['salt']).short(case['id']):016x}" == case["short"]


@pytest.mark.parametrize("case", FILE["cells"], ids=lambda case: str(len(case["ids"])))
def test_cells(case: Case) -> None:
    shortener, cells = Shortener(case["salt"]), numbers(case["cells"])
    shorts = [shortener.short(item) for item in case["ids"]]
    assert tuple(fill(shorts, len(cells))) == cells
    assert differ(shorts, cells).whole
    assert differ(shorts[1:], cells).theirs == tuple(shorts[:1])


@pytest.mark.parametrize("case", FILE["frames"], ids=lambda case: f"{case['what']}-{case['number']}")
def test_frames(case: Case) -> None:
    packed = bytes.fromhex(case["hex"])
    assert encode_frame(frame(case)).hex() == case["hex"]
    assert decode_extension(packed) == frame(case)
    assert SyncCodec().decode(packed) == frame(case)


@pytest.mark.parametrize("case", FILE["pages"], ids=lambda case: str(case["number"]))
def test_pages(case: Case) -> None:
    packets = tuple(map(bytes.fromhex, case["packets"]))
    made = v.HistoryPage(case["session"], case["want"], case["number"], packets, case["last"])
    assert encode_page(made).hex() == case["hex"]
    assert decode_page(bytes.fromhex(case["hex"])) == made


@pytest.mark.parametrize("case", FILE["lanes"], ids=lambda case: str(case["lane"]))
def test_lanes(case: Case) -> None:
    assert lane_mark(case["lane"]).hex() == case["hex"]
    assert decode_extension(bytes.fromhex(case["hex"])) == case["lane"]


def test_records_of_pages_bear_the_lane_behind_them() -> None:
    payload = Payload(acks=(bytes(32),))
    packed = SyncCodec().encode_records(payload)
    assert packed.hex().endswith(FILE["lanes"][0]["hex"])
    assert SyncCodec().decode(packed) == Records(PAGES, payload)


def test_a_signature_stands_behind_the_payload() -> None:
    signature = bytes.fromhex(FILE["signature"]["signature"])
    packed = b"payload" + bytes.fromhex(FILE["signature"]["hex"])
    assert with_signature(b"payload", signature) == packed
    assert split_signature(packed) == (b"payload", signature)
