"""2/MVDS with 4/MVDS-META: pairwise synchronization of one node with its peers, without I/O.

`Engine` is the interface. Give it received payloads (`receive`), messages to send (`send`, `share`) and presence
(`peer_online`, `peer_offline`); call `advance` at the time that `next_wake` returns; after each of these, carry out the
result of `take`: the writes in one transaction, then the packets, then the events.
"""

from sdschat.mvds.config import Config
from sdschat.mvds.engine import Engine, Ready
from sdschat.mvds.values import Message, Metadata, Mode, Now, Packet, Payload, Reason, Refusal, message_id

__all__ = [
    "Config",
    "Engine",
    "Message",
    "Metadata",
    "Mode",
    "Now",
    "Packet",
    "Payload",
    "Ready",
    "Reason",
    "Refusal",
    "message_id",
]
