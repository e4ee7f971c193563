"""Every bound of the engine, by name. Overflow hurts the peer that causes it, never the others."""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB

# Packets (checked by the decoder before anything changes).
ID_BYTES = 32
GROUP_BYTES = 32  # of fixed length, or the concatenation that is hashed into the message id would be ambiguous
MAX_PACKET_BYTES = 1 * MIB
MAX_IDS = 4096  # in one list of one packet
MAX_MESSAGES = 4096
MAX_PARENTS = 256
MAX_UNKNOWN_BYTES = 512

# State.
REQUESTS_PER_PEER = 1000  # each offer makes a row here, so a flood of offers must end somewhere
SERVED_PER_PEER = 1000  # messages that wait for a peer because it asked without having been offered them
ACKS_PER_PEER = 4096  # waiting for the next payload; one that is dropped is asked for again by the next message
OFFER_WINDOW = 500  # offers without an answer; with as many messages on their way, all that a peer may request
EPHEMERAL_PER_PEER = 256  # waiting for the next payload
EPHEMERAL_SEEN = 256

# Messages that wait for their parents (causal mode).
WAITING_PER_PEER = 1024
WAITING_BYTES_PER_PEER = 4 * MIB
WAITING_TOTAL = 8192
WAITING_BYTES_TOTAL = 32 * MIB

# The graph of a group.
MAX_HEADS = 64
MAX_AHEAD_MS = 60_000  # how far a parent may be dated ahead and still date its children
AHEAD_TOTAL = 4096  # parents that were named and are not here
