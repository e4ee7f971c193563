"""The field numbers of nim-sds, and the rules by which its packets and its clocks are recognised."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final

from sdschat.wire.protobuf_scan import BYTES

MESSAGE_ID, LAMPORT, CAUSAL, CHANNEL, CONTENT, FILTER, SENDER, REPAIR = 1, 2, 3, 4, 5, 6, 7, 13
TO_SPEC: Final[Mapping[int, int]] = {
    SENDER: 1,
    MESSAGE_ID: 2,
    CHANNEL: 3,
    LAMPORT: 10,
    CAUSAL: 11,
    FILTER: 12,
    REPAIR: 13,
    CONTENT: 20,
}
FROM_SPEC: Final[Mapping[int, int]] = {spec: nim for nim, spec in TO_SPEC.items()}
_MARKS: Final = {(MESSAGE_ID, BYTES), (CHANNEL, BYTES)}
# Field 2 is a number in nim-sds, if it has a value, and the text message_id in the specification.
SPEC_MARK: Final = (2, BYTES)
LEAST_MS: Final = 10**11  # an epoch time below is in seconds: in milliseconds it would be before 1974


def is_nim(marks: Set[tuple[int, int]]) -> bool:
    """True if fields with these numbers and wire types are those of nim-sds."""
    return marks >= _MARKS and SPEC_MARK not in marks
