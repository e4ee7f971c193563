"""Messages that are lost, or that name what is not there, for tests of the views of the Lens."""

from __future__ import annotations

from sdschat.node.events import PresenceChanged
from sdschat.node.settings import Value
from sdschat.node.tools.fault_injection import Injection
from sdschat.sds.values import HistoryEntry, Message
from sdschat.wire.sds_codec import SdsCodec
from tests.tui.lens.looking import ROOM, Looking

# What is lost comes back by a request alone, however long a busy machine takes: nothing is sent again unasked.
ONLY_REPAIR: dict[str, Value] = {
    "push.enabled": False,
    "sds.resend_unacked": 3_600_000,
    "sds.resend_possibly_acked": 3_600_000,
    "sds.resend_max": 3_600_000,
    "sds.lost_after": 3_600_000,
}
SLOW_REPAIR: dict[str, Value] = ONLY_REPAIR | {"repair.t_min": 300_000, "repair.t_max": 600_000}


async def lose_one(look: Looking) -> str:
    """Let bob send a message that ann does not receive, and one that names it. Return the id of the missing one."""
    await look.own.until(PresenceChanged)
    look.say("ann", "to begin with")
    await look["bob"].until_texts("to begin with")
    Injection(look.own.node, ROOM).share("loss", 1.0, "in")
    lost = look.say("bob", "the lost one")
    await look["eve"].until_texts("to begin with", "the lost one")
    Injection(look.own.node, ROOM).off()
    look.say("eve", "names it")
    return lost


def hear(look: Looking, message_id: str, lamport: int, *history: str) -> None:
    """Pass on a packet of a program that signs nothing."""
    entries = tuple(HistoryEntry(name) for name in history)
    packet = SdsCodec().encode(Message("Eve", message_id, ROOM, lamport, entries, None, (), b"text"))
    look.world.network.pass_on(f"sds/1/{ROOM}/msg", packet, False)


async def beginning(look: Looking) -> None:
    """Say something: the first message of a log waits for none."""
    await look.own.until(PresenceChanged)
    look.say("ann", "to begin with")
    await look["bob"].until_texts("to begin with")
