"""Sentences for events, the same in the chat and in the commands. Texts of others in them must be made safe before."""

from __future__ import annotations

from sdschat.identity.signing import beginning_of
from sdschat.node.events import DeviceRenewed, EventBody, IdentityUsedElsewhere, UnsignedInOurName


def own_key_words(body: EventBody) -> str:
    """Return the sentence for an event about our own key or device; empty for any other event."""
    match body:
        case IdentityUsedElsewhere():
            return "somebody else uses your key: a message was signed with it that was not written here"
        case UnsignedInOurName():
            return (
                "somebody without your key says things in your name. They are not shown here; others may see them, "
                "as unsigned"
            )
        case DeviceRenewed():
            return (
                "this profile was restored or copied: messages of its own came that it does not have. "
                "It goes on as a new device"
            )
    return ""


def claim_words(nick: str, sender_id: str, held_as: str, held_by: str, *, verified: bool) -> str:
    """Return in words that two keys go by one nick, or by nicks that look alike. Who came first may still be the one
    who takes the name of another: only the alarm about somebody who was verified says who is not who."""
    first, later = beginning_of(held_by, (sender_id,)), beginning_of(sender_id, (held_by,))
    if verified:
        return f"ALARM: {nick} ({later}) is NOT the {held_as} whom you verified ({first}): it is another key"
    by = nick if nick == held_as else f"nicks that look alike, {held_as} and {nick}"
    return f"two keys go by {by}: {first} came first, {later} later; /verify tells who is who"


def saving_failed_words(why: str) -> str:
    return f"nothing can be saved, so nothing is sent or shown: {why}; it is tried again"
