"""Members of a private channel by the name that a person types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdschat.identity.signing import sender_id_of

if TYPE_CHECKING:
    from sdschat.node.private.membership import PrivateChannel


def member_called(private: PrivateChannel, name: str) -> str:
    """Return the sender id of the one member with this nick, or whose sender id begins so. Raises ValueError."""
    named = {sender_id_of(key): private.nick_of(key) for key in private.roster.members}
    found = [sender_id for sender_id, nick in named.items() if nick == name] or [
        sender_id for sender_id in named if len(name) >= 4 and sender_id.startswith(name)
    ]
    if len(found) == 1:
        return found[0]
    known = ", ".join(f"{nick or 'somebody without a nick'} ({sender_id[:8]})" for sender_id, nick in named.items())
    if found:
        raise ValueError(f"{len(found)} members are called {name}. Give the beginning of an id: {known}.")
    raise ValueError(f"No member of {private.record.name} is called {name}. There are: {known}.")
