"""Members of a private channel, and who may remove whom."""

from __future__ import annotations

from sdschat.identity.private.roster import Rank, Roster
from sdschat.identity.signing import sender_id_of


def former_members(roster: Roster) -> list[bytes]:
    """Return the keys of those who were removed and are not banned: they can be."""
    return [key for key in roster.changes if key not in roster.members and key not in roster.banned]


def member_key(roster: Roster, sender_id: str, channel: str, *, former: bool = False) -> bytes:
    """Return the key of a member, or with `former` of one who was removed. Raises ValueError."""
    keys = list(roster.members) + (former_members(roster) if former else [])
    found = next((key for key in keys if sender_id_of(key) == sender_id), None)
    if found is None:
        raise ValueError(f"That is no member of {channel}.")
    return found


def require_right_to_remove(roster: Roster, own_key: bytes, channel: str) -> None:
    """Raise ValueError where we may remove nobody."""
    own = roster.rank(own_key)
    if own is None:
        raise ValueError(f"You are no member of {channel}: only its creator and admins remove members.")
    if own < Rank.ADMIN:
        raise ValueError(f"Only the creator of {channel} and admins remove members; you are a member without rights.")


def require_rank_above(roster: Roster, own_key: bytes, target: bytes, channel: str) -> None:
    """Raise ValueError where we may not remove this member."""
    require_right_to_remove(roster, own_key, channel)
    own, other = roster.rank(own_key), roster.rank(target)
    if target == own_key:
        raise ValueError("You cannot remove yourself. Ask an admin, or leave with /leave.")
    if own is not None and other is not None and own <= other:
        raise ValueError("You cannot remove the creator, nor another admin unless you are the creator.")
