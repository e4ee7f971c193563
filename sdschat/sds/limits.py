"""Every bound of the engine, by name. Overflow costs the sender that causes it.

Unsigned sender ids cost nothing, so enough invented ones can use up what all senders share. About 22 fill the places
for missing dependencies (`MISSING_PER_CHANNEL`): then an honest message is shown at once with its gap named. See *Gaps*
in README.md.
"""

from __future__ import annotations

from sdschat.sds.values import Message, Reason, Refusal

KIB = 1024
MIB = 1024 * KIB

# Packets (checked by the decoder before anything changes).
MAX_ID_BYTES = 128
MAX_SENDER_BYTES = 128
MAX_CHANNEL_BYTES = 400  # 100 characters of four bytes
MAX_CAUSAL_HISTORY = 256  # other implementations send up to 200
MAX_REPAIR_ENTRIES = 256  # of which `ANSWERS_PER_SENDER` may be answered
MAX_HINT_BYTES = 64  # a longer hint is dropped, the entry is kept
ENTRY_BYTES = MAX_ID_BYTES + MAX_SENDER_BYTES + MAX_HINT_BYTES + 16  # a history entry at its longest, with its tags
ENVELOPE_BYTES = MAX_ID_BYTES + MAX_SENDER_BYTES + MAX_CHANNEL_BYTES + 64  # what stands once in a packet
MAX_UNKNOWN_BYTES = 512

# Clock.
CLOCK_PUT_RIGHT = 7 * 24 * 3_600_000  # ms by which our clock may have been fast when we joined
MAX_LAMPORT = 2**43  # the year 2248; larger values break other implementations' integers
FUTURE_DATED_PER_SENDER = 32
FUTURE_DATED_BYTES_PER_SENDER = 512 * KIB
FUTURE_DATED_PER_CHANNEL = 1024
FUTURE_DATED_BYTES_PER_CHANNEL = 8 * MIB

# Incoming buffer: messages with unmet dependencies.
BUFFERED_PER_SENDER = 256
BUFFERED_BYTES_PER_SENDER = 4 * MIB
BUFFERED_PER_CHANNEL = 2048
BUFFERED_BYTES_PER_CHANNEL = 32 * MIB

# Missing dependencies and gaps.
MISSING_PER_SENDER = 64
MISSING_PER_CHANNEL = 1024
GAPS_PER_SENDER = 512
GAPS_PER_CHANNEL = 4096

# Messages that exceed a limit of their sender, by their ids alone.
IDS_KEPT = 30 * 24 * 3_600_000  # milliseconds; older ones are not taken

# Repair and anti-entropy.
ANSWERS_PER_SENDER = 64
ANSWERS_PER_CHANNEL = 1024
PUSHES_PER_SENDER = 256
PUSHES_PER_CHANNEL = 1024
WANTED_BY = 32  # participants remembered to lack one message
PUSHES_PER_REVIEW = 64
ANSWER_BYTES_PER_MINUTE = 64 * KIB  # bounds what a request of 300 bytes can make us send
PUSH_BYTES_PER_MINUTE = 512 * KIB
REMEMBERED_MISSES = 512  # own messages in a row, from the newest, that a filter lacks before older ones are left alone
RESENDS_PER_SWEEP = 16
SENDS_PER_SWEEP = 1024  # of what was written offline: all of it may be more than fits into memory
MAX_FILTER_BYTES = 32 * KIB  # of a filter of ours with its range; a received one is bounded by the packet
RANGE_IDS = 512  # ids that one range of the history comparison covers
RANGE_LIMIT = 1024  # ids looked at to answer one range
QUESTIONED = 64  # own messages, from the oldest, that are asked about one after the other
RANGE_READS_PER_MINUTE = 120_000  # messages looked at for ranges of those who sign, and as many for others
ONE_DATE_LIMIT = 8192  # the same where all have one Lamport timestamp

# Messages that are here under ids of others.
DOUBTED_TRIES = 6  # requests for the true one before it gives its place to another one
DOUBTED_AT_A_TIME = 64
EARLY = 256  # true ones that come before the false ones are saved

# Memory.
RECENT_WINDOW = 1024  # newest messages of the log that the engine keeps at hand
MAX_PEERS = 1024
FILTER_REVIEW = 2048  # own unacknowledged messages that one received filter is compared with
UNACKED_KEPT = 65_536  # own messages that wait to be acknowledged; `send` refuses more
POSSIBLY_ACKED_KEPT = 2048  # own messages possibly acknowledged that stay in the outgoing buffer
RETIRED_KEPT = 2048  # own messages that left it possibly acknowledged, which a mention still acknowledges
SETTLED_KEPT = 64  # acknowledged own messages whose further evidence is still recorded
ARRIVALS_KEPT = 4096  # messages taken to be on their way to others, of all that came within `push.grace`
EPHEMERAL_SEEN = 256
MAX_EVIDENCE = 128  # peers remembered for each own message
MAX_UNPROVEN = 16  # the same of those who sign nothing: names are free, and the rows of own messages stay for good


def out_of_bounds(lamport: int) -> Reason | None:
    """Return the reason to refuse a timestamp that no honest clock makes, or None. The verdict is the same on every
    node, whatever its own clock says."""
    if lamport <= 0:
        return Reason.CLOCK_ZERO
    if lamport >= MAX_LAMPORT:
        return Reason.CLOCK_TOO_LARGE
    return None


def clock_refusal(message: Message) -> Refusal | None:
    """Return the refusal of a message whose timestamp is out of bounds, else None."""
    lamport = message.lamport_timestamp
    reason = None if lamport is None else out_of_bounds(lamport)
    if reason is None:
        return None
    detail = f"lamport_timestamp is {lamport}; 1 to {MAX_LAMPORT - 1} are allowed"
    return Refusal(reason, detail, message.sender_id, message.message_id)
