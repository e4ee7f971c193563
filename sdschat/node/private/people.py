"""Members of a private channel by the name that a person types, and who may remove any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdschat.identity.signing import beginning_of, ids_called, sender_id_of
from sdschat.node.members.record import is_members_channel
from sdschat.node.private.record import private_state
from sdschat.node.private.rights import former_members, require_right_to_remove

_CHOOSE = "Choose one of those with --name or --profile, or ask them."

if TYPE_CHECKING:
    from sdschat.node.private.membership import PrivateChannel
    from sdschat.node.profile import Profile


def member_called(private: PrivateChannel, name: str) -> str:
    """Return the sender id of the one member with this nick, or whose sender id begins so. Raises ValueError."""
    return one_called(private, name, _members(private))


def removable_called(private: PrivateChannel, name: str, *, banned: bool = False) -> str:
    """Return the sender id of the one with this nick, or whose sender id begins so: a member, or one who has the key by
    a link alone; for a ban also one who was removed before. Raises ValueError."""
    known = _members(private) | {sender_id: each.nick for sender_id, each in private.outsiders().items()}
    former = {sender_id_of(key): private.nick_of(key) for key in former_members(private.roster)} if banned else {}
    return one_called(private, name, known if ids_called(name, known.items()) else known | former)


def _members(private: PrivateChannel) -> dict[str, str]:
    return {sender_id_of(key): private.nick_of(key) for key in private.roster.members}


def one_called(private: PrivateChannel, name: str, known: dict[str, str]) -> str:
    """Return the sender id of the only one who is called so, of these with their nicks. Raises ValueError."""
    found = ids_called(name, known.items())
    if len(found) == 1:
        return found[0]
    listed = (
        f"{known[one] or 'somebody without a nick'} ({beginning_of(one, known)})" for one in found or _members(private)
    )
    if found:
        raise ValueError(f"{len(found)} people are called {name}: {', '.join(listed)}. Give the beginning of an id.")
    raise ValueError(f"No member of {private.record.name} is called {name}. There are: {', '.join(listed)}.")


def no_removal_words(channel: str, creates: str) -> str:
    """Say how members go from a members' channel that is not private. `creates`: the command that makes a private
    one."""
    return (
        f"Nobody can be removed from {channel} by one of its members: who is silent for long is voted out. "
        f"/mute hides for you what somebody says. In one that is made by {creates}, the creator and admins remove "
        "people."
    )


def require_may_remove(private: PrivateChannel) -> None:
    """Raise ValueError, for a person, if we may not remove members of this channel."""
    try:
        require_right_to_remove(private.roster, private.own_key, private.record.name)
    except ValueError as error:
        raise ValueError(f"{error} {_CHOOSE}") from error


def may_remove(profile: Profile, channel: str) -> bool:
    """Return True if this profile may remove members, by what it has saved of the channel (its full name); False for a
    member without rights, who may have been made an admin meanwhile. Raise ValueError for whoever is no member."""
    state = private_state(profile.store, channel)
    if state is None and is_members_channel(profile.store, channel):
        raise ValueError(no_removal_words(channel, "sdschat create NAME --private --members"))
    if state is None:
        raise ValueError(
            f"{channel} is no private channel of this profile, and nobody is removed from an open one. Choose who made "
            "it with --name or --profile; sdschat channels lists the channels of a profile."
        )
    try:
        require_right_to_remove(state.roster, profile.identity.public_key, channel)
    except ValueError as error:
        if state.roster.rank(profile.identity.public_key) is not None:
            return False
        raise ValueError(f"{error} {_CHOOSE}") from error
    return True
