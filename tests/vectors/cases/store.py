"""Questions to Stores, answers, and the signed letters that both come in."""

from __future__ import annotations

from typing import Any

from tests.vectors.cases.content import SEEDS
from tests.vectors.cases.filters import DIGESTS, START
from tests.vectors.plain import signed

Case = dict[str, Any]
STORE = "ab" * 16
QUERY_ID = "0102030405060708"
HINT = "5331" + STORE + "0000000000000007"


def file() -> Case:
    queries = [{**case, "hex": signed.query(case).hex()} for case in _queries()]
    answers = [{**case, "hex": signed.answer(case).hex()} for case in _answers()]
    return {
        "notes": "Questions to Stores and their answers (proto/store.proto), and both in signed letters. Hex.",
        "queries": queries,
        "answers": answers,
        "letters": [
            _letter("sdschat/store-query/v1", queries[0]["hex"]),
            _letter("sdschat/store-answer/v1", answers[0]["hex"]),
        ],
    }


def _query(**more: object) -> Case:
    usual: Case = {"query_id": QUERY_ID, "store": STORE, "sent_time": START, "wanted": [], "range": None}
    return {**usual, "confirm": False, **more}


def _range(**more: object) -> Case:
    return {"low": 0, "high": START, "after": None, "newest_first": False, "limit": 1024, **more}


def _queries() -> list[Case]:
    return [
        _query(wanted=[[DIGESTS[0], ""], ["🙂", HINT], ["", HINT]]),
        _query(wanted=[[DIGESTS[1], HINT]], confirm=True, sent_time=0),
        _query(range=_range()),
        _query(range=_range(low=START, high=2**43, after=[START, DIGESTS[2]], newest_first=True, limit=1)),
        _query(range=_range(high=0, after=[0, "a"])),
    ]


def _answer(**more: object) -> Case:
    usual: Case = {"query_id": QUERY_ID, "items": [], "unknown": [], "more": False, "floor": 0, "refused": ""}
    return {**usual, "last": None, **more}


def _answers() -> list[Case]:
    return [
        _answer(items=[[DIGESTS[0], "00ff", ""], ["", "0a0161", HINT]], more=True, last=[START, DIGESTS[0]]),
        _answer(items=[["🙂", "", HINT]], unknown=[DIGESTS[1], "m"], floor=START),
        _answer(refused="busy"),
        _answer(),
    ]


def _letter(tag: str, body: str) -> Case:
    packed = signed.letter(bytes.fromhex(SEEDS[0]), tag, "lobby", STORE, bytes.fromhex(body))
    return {"seed": SEEDS[0], "tag": tag, "channel": "lobby", "to": STORE, "body": body, "hex": packed.hex()}
