"""Payloads of MVDS, byte for byte, in both dialects."""

from __future__ import annotations

from typing import Any

import pytest

from sdschat.mvds.values import Message, Metadata, Payload, message_id
from sdschat.wire.mvds_codec import Dialect, MvdsCodec
from tests.vectors.files import vectors

FILE = vectors("mvds")
Case = dict[str, Any]


def message(case: Case) -> Message:
    about = case["metadata"]
    metadata = None if about is None else Metadata(raw(about["parents"]), about["ephemeral"])
    return Message(bytes.fromhex(case["group_id"]), case["timestamp"], bytes.fromhex(case["body"]), metadata)


def raw(ids: list[str]) -> tuple[bytes, ...]:
    return tuple(map(bytes.fromhex, ids))


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("case", FILE["payloads"], ids=["ids", "messages"])
def test_payloads(case: Case, dialect: Dialect) -> None:
    made = Payload(raw(case["acks"]), raw(case["offers"]), raw(case["requests"]), tuple(map(message, case["messages"])))
    assert MvdsCodec(dialect).encode(made).hex() == case[str(dialect)]
    assert MvdsCodec(dialect).decode(bytes.fromhex(case[str(dialect)])) == made


@pytest.mark.parametrize("case", FILE["message_ids"], ids=lambda case: str(case["timestamp"]))
def test_message_ids(case: Case) -> None:
    assert message_id(message(case)).hex() == case["id"]
