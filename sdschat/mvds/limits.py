"""All bounds of the engine, by name. Overflow costs the peer that causes it.

All peers share two bounds. Only many of them together reach `WAITING_BYTES_TOTAL`. One can reach `AHEAD_TOTAL`; then a
message that comes after its child counts as a head, which is one parent too many.
"""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB

# Packets (checked by the decoder before anything changes).
ID_BYTES = 32
GROUP_BYTES = 32  # of fixed length, or the concatenation that is hashed into the message id would be ambiguous
MAX_PACKET_BYTES = 1 * MIB  # also bounds the lists of ids in it, because each id takes 34 bytes or more
MAX_MESSAGES = MAX_PACKET_BYTES // GROUP_BYTES  # each names its group, so a valid packet has no more
MAX_PARENTS = 256  # of one message
MAX_UNKNOWN_BYTES = 512  # bytes of unknown fields in one packet

# State.
REQUESTS_PER_PEER = 4096  # REQUEST records; each is a row on disk, so a flood of offers must be bounded
OFFERS_PER_PEER = 16_384  # offered ids that are not requested yet; in memory only
PARENTS_PER_PEER = 65_536  # ids of parents that are not requested yet; in memory only
DECLINED_PER_PEER = 8192  # refused messages that are remembered, so that they are not requested again
DECLINED_PARENTS = 8  # of each: once they are delivered it is requested again, and refused for the others
SERVED_PER_PEER = 1000  # MESSAGE records beyond which a request is served only if we offered the message
ACKS_PER_PEER = MAX_MESSAGES  # acks for the next payload; for each one dropped the peer sends the message again
OFFER_WINDOW = 500  # our offers without an answer, and messages being sent: as many as a peer may request
EPHEMERAL_PER_PEER = 256  # ephemeral messages for the next payload
EPHEMERAL_SEEN = 256  # ids of ephemeral messages remembered, to recognise duplicates

# Messages that wait for their parents (causal mode), by the memory that they take up.
WAITING_BYTES_PER_PEER = 8 * MIB
WAITING_BYTES_TOTAL = 64 * MIB
WAITING_ROW_BYTES = 512  # charged for a message in addition to its body
WAITING_PARENT_BYTES = 128  # charged for each parent that it names

# The graph of a group.
MAX_HEADS = 64  # messages without children, for each group
MAX_AHEAD_MS = 60_000  # milliseconds by which a parent may be dated ahead and still date its children
AHEAD_TOTAL = 4096  # parents that were named and are not delivered
