"""Rows to test with."""

from __future__ import annotations

from sdschat.node.view.values import MissingMessage, RetrievalState, Shown, WaitingMessage
from sdschat.sds.values import AckState
from sdschat.tui.model.from_events import entry_of
from sdschat.tui.model.items import MessageItem

NOON = 1_763_640_000_000  # 2025-11-20 12:00 UTC
BOB = "b0b" + "0" * 29


def shown(number: int, text: str | None = "", **more: object) -> Shown:
    """Return the message with this number, dated a second after the one before."""
    values: dict[str, object] = {
        "message_id": f"{number:04x}" + "f" * 60,
        "lamport": NOON + 1000 * number,
        "sender_id": BOB,
        "nick": "bob",
        "text": f"text {number}" if text == "" else text,
        "verdict": "known",
        "own": False,
        "received_at": NOON + 1000 * number,
    }
    return Shown(**(values | more))  # type: ignore[arg-type]


def entry(number: int, text: str | None = "", **more: object) -> MessageItem:
    return entry_of(shown(number, text, **more), lambda found: False)


def own(number: int, text: str = "", state: AckState = AckState.UNACKED, **more: object) -> MessageItem:
    return entry(number, text, own=True, state=state, **more)


def missing(number: int, asking: RetrievalState = RetrievalState.WAITING, **more: object) -> MissingMessage:
    values: dict[str, object] = {
        "message_id": f"{number:04x}" + "e" * 60,
        "sender_id": "ca401",
        "since": NOON,
        "lost_at": NOON + 600_000,
        "asking": asking,
        "due": NOON + 12_000,
        "counts_from": NOON - 8_000,
        "attempts": 0,
        "answerers": (BOB,),
        "named_by": (WaitingMessage(f"{number + 1:04x}" + "f" * 60, BOB, NOON + 1000 * (number + 1)),),
    }
    return MissingMessage(**(values | more))  # type: ignore[arg-type]
