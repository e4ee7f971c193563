"""Timber: an operation log of a committee, with checkpoints behind which only the state is kept, without I/O.

`TimberEngine` is the interface. Give it received messages (`receive`), and what is said, changed and taken back (`say`,
`edit`, `delete`, `invite`, `leave`); call `advance` at the time that `next_wake` returns; after each of these, carry
out the result of `take`: the writes in one transaction, then the packets, then the events.
"""

from sdschat.timber.config import Config
from sdschat.timber.core import Signer
from sdschat.timber.engine import Ready, TimberEngine
from sdschat.timber.values import Message, Now, Packet, PostId, Reason, Refusal

__all__ = ["Config", "Message", "Now", "Packet", "PostId", "Ready", "Reason", "Refusal", "Signer", "TimberEngine"]
