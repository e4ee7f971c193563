"""Every bound of the engine, by name. Overflow hurts the peer that causes it, never the others."""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB

# Packets (checked by the decoder before anything changes).
ID_BYTES = 32
GROUP_BYTES = 32  # of fixed length, or the concatenation that is hashed into the message id would be ambiguous
MAX_PACKET_BYTES = 1 * MIB  # also the bound of the lists of ids in it, for each takes 34 bytes or more
MAX_MESSAGES = MAX_PACKET_BYTES // GROUP_BYTES  # each names its group, so more cannot be in order
MAX_PARENTS = 256
MAX_UNKNOWN_BYTES = 512

# State.
REQUESTS_PER_PEER = 4096  # each makes a row here, so a flood of offers must end somewhere
OFFERS_PER_PEER = 16_384  # ids that were offered and are not asked for yet; only in memory
PARENTS_PER_PEER = 65_536  # likewise, of parents
DECLINED_PER_PEER = 8192  # messages that came and could not be taken, and are not asked for again
SERVED_PER_PEER = 1000  # messages that wait for a peer because it asked without having been offered them
ACKS_PER_PEER = MAX_MESSAGES  # waiting for the next payload; one that is dropped costs the message once more
OFFER_WINDOW = 500  # offers without an answer; with as many messages on their way, all that a peer may request
EPHEMERAL_PER_PEER = 256  # waiting for the next payload
EPHEMERAL_SEEN = 256

# Messages that wait for their parents (causal mode), by the memory that they take up.
WAITING_BYTES_PER_PEER = 8 * MIB
WAITING_BYTES_TOTAL = 64 * MIB
WAITING_ROW_BYTES = 512  # of a message besides its body
WAITING_PARENT_BYTES = 128  # of each parent that it names

# The graph of a group.
MAX_HEADS = 64
MAX_AHEAD_MS = 60_000  # how far a parent may be dated ahead and still date its children
AHEAD_TOTAL = 4096  # parents that were named and are not here
