"""Messages that exceed what is kept of their sender: only the id goes into the log.

    receive_id(s, message)              one message that its caller has verified and does not want in full
    receive_told(s, lamport, id, sender)  a message of which another participant keeps no more, and that nobody gave
    refuse_claim(s, message, reason, why)   one that nobody signed, in the name of somebody who signs

So the logs of all participants who hear the message stay equal as sets, and their comparisons stay quiet, while nothing
is spent on the message: it does not wait for dependencies, none of them is asked for, nothing that it says about its
sender is reviewed, it is not sent again for anybody, and none of our messages names it. Messages that wait for it are
released.

The message is checked like any other, and a refused one changes nothing, but that the id of one that is not dated after
what it names is kept all the same. What is no message of the log, or is dated too far ahead to be in it now, cannot be
kept as an id, and is refused; so is what is dated before `IDS_KEPT`, since ids of that age are deleted everywhere.

Whoever cannot tell a claim from a message of that sender has it in the log, and names it. So a refused claim leaves its
id: else what names it would wait for it until `sds.lost_after`, and comparisons would never end.
"""

from __future__ import annotations

from sdschat.sds.events import DuplicateReceived, KeptAsId
from sdschat.sds.limits import IDS_KEPT, out_of_bounds
from sdschat.sds.state import ChannelState
from sdschat.sds.steps.deliver import keep_id, refuse_child, release, verify_dependencies
from sdschat.sds.steps.due_sends import heard_copy
from sdschat.sds.values import Message, Reason


def receive_id(s: ChannelState, message: Message) -> None:
    """Put the id of a message into the log, unless it is there already."""
    message_id, lamport = message.message_id, message.lamport_timestamp or 0
    reason = _refused(s, message, lamport)
    if reason is not None:
        s.reject(reason, message.sender_id, message_id)
        return
    if s.holds(message_id):
        heard_copy(s, message_id)
        s.events.append(DuplicateReceived(message_id, message.sender_id))
        return
    parent = verify_dependencies(s, message, lamport).parent_too_new
    if parent:
        release(s, refuse_child(s, message, parent))
        return
    keep_id(s, message)
    s.events.append(KeptAsId(message))
    s.note_arrival(message_id)
    release(s, s.incoming.meet(message_id, gap=False))


def receive_told(s: ChannelState, lamport: int, message_id: str, sender_id: str, *, of_any_age: bool = False) -> None:
    """Put the id of a message into the log that was never seen here. Nothing happens if it is here, or cannot be.
    `of_any_age`: ids are not deleted, since the messages are not for us."""
    message = Message(sender_id, message_id, s.channel_id, lamport)
    _take_told(s, message, 0 if of_any_age else s.now.wall - IDS_KEPT, [KeptAsId(message, True)])


def refuse_claim(s: ChannelState, message: Message, reason: Reason, why: str) -> bool:
    """Refuse a message, and keep its id as one that was told, since it proves no more. True if the id is here now."""
    s.reject(reason, message.sender_id, message.message_id, why)
    if s.never_in_log(message) is not None:
        return False
    return s.holds(message.message_id) or _take_told(s, message, s.now.wall - IDS_KEPT, [])


def _take_told(s: ChannelState, message: Message, oldest: int, told: list[KeptAsId]) -> bool:
    message_id, lamport = message.message_id, message.lamport_timestamp or 0
    dated = oldest <= lamport <= s.now.wall + s.config.max_skew
    if s.holds(message_id) or not dated or out_of_bounds(lamport) is not None:
        return False
    keep_id(s, message)
    s.events += told
    release(s, s.incoming.meet(message_id, gap=False))
    return True


def _refused(s: ChannelState, message: Message, lamport: int) -> Reason | None:
    reason = s.never_in_log(message)
    if reason is not None:
        return Reason.OVER_LIMIT if reason is Reason.NO_KIND else reason
    if message.sender_id == s.participant_id and not s.holds(message.message_id):
        return Reason.OWN_ID_UNKNOWN
    dated = s.now.wall - IDS_KEPT <= lamport <= s.now.wall + s.config.max_skew
    return None if dated else Reason.OVER_LIMIT
