"""Every bound of a comparison, by name. What a peer asks for beyond them is refused as a whole by the decoder."""

from __future__ import annotations

from typing import Final

MAX_LAMPORT: Final = 2**63 - 1
MAX_ID_BYTES: Final = 128
FINGERPRINT_BYTES: Final = 8
SHORT_BYTES: Final = 8

QUESTIONS: Final = 64  # in one packet
PARTS: Final = 64  # that one stretch is cut into
PARTS_IN_ALL: Final = 1024  # in one packet
LEAF: Final = 1024  # messages of a stretch that is looked at one by one
CELLS_IN_ALL: Final = 16_384  # sums of short ids in one packet
KEYS: Final = 64  # messages of a stretch that are told in full
STRETCHES: Final = 1024  # in one request for messages
SHORTS: Final = 8192  # in one request for messages

# The index. A bucket is split when it holds more than it may; the parts are half as large.
BUCKET: Final = 512
BUCKET_PART: Final = 256
