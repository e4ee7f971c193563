"""Creator, admins and members of a private or members' channel, for an interface."""

from __future__ import annotations

from typing import Final, NamedTuple

from sdschat.identity.private.roster import Rank
from sdschat.identity.signing import sender_id_of
from sdschat.node.node import Node
from sdschat.timber.values import sender_of

_RANKS: Final = {Rank.CREATOR: "creator", Rank.ADMIN: "admin", Rank.MEMBER: "member"}
_MEMBER: Final = "member"
_OUTSIDE: Final = "no member"
_WAITS: Final = "not let in yet"  # joined by a link, and no member of the data set


class Roles(NamedTuple):
    """The roles in a channel, by sender id. `creator`: the sender id of who made it, member or not."""

    creator: str
    words: dict[str, str]
    whole: bool  # the members are known here

    @property
    def admins(self) -> list[str]:
        return [one for one, words in self.words.items() if words.startswith(_RANKS[Rank.ADMIN])]

    def of(self, sender_id: str) -> str:
        """Return the role of a participant in words; empty while it is not known."""
        if not self.whole:
            return _RANKS[Rank.CREATOR] if sender_id == self.creator else ""
        made = f"creator, {_OUTSIDE} now" if sender_id == self.creator else _OUTSIDE
        return self.words.get(sender_id, made)


def roles_of(node: Node, channel: str) -> Roles | None:
    """Return the roles in a joined channel; None for an open one."""
    session = node.sessions.get(channel)
    if session is None or (session.private is None and session.members is None):
        return None
    creator, words, whole = "", {}, True
    if session.private is not None:
        creator = sender_id_of(session.private.record.genesis.creator_key)
        for key, member in session.private.roster.members.items():
            words[sender_id_of(key)] = "Store" if member.silent else _RANKS[member.rank]
    if session.members is not None:
        creator = creator or session.members.creator
        let_in = [sender_of(one.member) for one in session.members.engine.members()]
        if session.private is None:
            words = {one: _RANKS[Rank.CREATOR] if one == creator else _MEMBER for one in let_in}
            whole = bool(let_in)
        elif let_in:
            words = {one: word if one in let_in else f"{word}, {_WAITS}" for one, word in words.items()}
    return Roles(creator, words, whole)
