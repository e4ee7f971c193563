"""Private channels for an interface: state, invites, and the operations on members."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final, NamedTuple

from sdschat.node.private.links import is_for_here_alone, is_near
from sdschat.node.private.people import member_called, no_removal_words, removable_called
from sdschat.node.private.record import create_private, load_record
from sdschat.sds.values import AckState
from sdschat.timber.values import sender_of

if TYPE_CHECKING:
    from sdschat.node.channel.session import ChannelSession
    from sdschat.node.node import Node
    from sdschat.node.private.membership import PrivateChannel

__all__ = [
    "Privacy",
    "appoint",
    "create",
    "halt_words",
    "invite",
    "is_for_here_alone",
    "is_only_member",
    "is_private",
    "is_shut_out",
    "join_command",
    "members_of_these",
    "privacy",
    "removable",
    "remove",
]

_HALTS: Final = (
    "The committee would count them for ever, since more than half of it has to remain to put somebody out: nothing "
    "would settle, and nobody could be let in any more."
)


class Privacy(NamedTuple):
    """The state of a private channel."""

    epoch: int  # number of the key in use, from 1
    members: int
    is_member: bool
    of_posts: bool  # a members' channel as well
    since_join: bool = False  # who joins gets nothing that was written before
    unconfirmed: bool = False  # we came by an invite, and no member acknowledged that yet

    @property
    def shut_out(self) -> bool:
        """True if we are no member, as far as is known."""
        return not self.is_member and not self.unconfirmed


def privacy(node: Node, channel: str) -> Privacy | None:
    """Return the state of a joined private channel; None for an open one."""
    session = node.sessions.get(channel)
    if session is None or session.private is None:
        return None
    private = session.private
    return Privacy(
        private.roster.epoch_number,
        len(private.roster.members),
        private.is_member,
        session.members is not None,
        private.gives_since_join,
        _is_unconfirmed(session, private),
    )


def _is_unconfirmed(session: ChannelSession, private: PrivateChannel) -> bool:
    """True if we came by an invite, and no member has acknowledged that we joined. A member who is heard may know that
    others used the invite up before us."""
    own = private.roster.members.get(private.own_key)
    if own is None:
        return private.is_unanswered
    joining = session.channel.state.outgoing.open.get(own.since[1])
    return joining is not None and joining.state is AckState.UNACKED


def is_private(node: Node, channel: str) -> bool:
    """True if a channel, joined or not, is a private one."""
    session = node.sessions.get(channel)
    if session is not None:
        return session.private is not None
    return load_record(node.profile.store, channel) is not None


def join_command(node: Node, channel: str) -> str:
    """Return the command with which others join an open channel or a members' channel. USER stands for their own name
    where the broker knows us by ours."""
    broker = node.broker.replace("://", "://USER@", 1) if node.broker_wants_user else node.broker
    where = f" --broker {broker}" if broker else ""
    timing = f" --timing {node.settings.timing}" if node.settings.timing != "spec" else ""
    options = f"{where}{node.broker_options}{timing}"
    if channel.startswith("-"):  # it would be taken for an option
        return f"sdschat join{options} -- {shlex.quote(channel)}"
    return f"sdschat join {shlex.quote(channel)}{options}"


def create(node: Node, name: str, *, since_join: bool = False) -> str:
    """Make a private channel, and return its full name. `since_join`: who joins gets nothing that was written before.
    Raises ValueError for a name that cannot be used."""
    identity = node.gate.identity
    return create_private(node.profile.store, identity, name, since_join=since_join, broker=node.broker)


def invite(node: Node, channel: str, uses: int = 0, lasts: int = 0) -> str:
    """Return a link that lets others into a channel; `lasts` in milliseconds. It leads to the broker that we use now,
    unless that is one of this machine and the channel has another. Raises ValueError."""
    private = _private(node, channel)
    broker = "" if is_near(node.broker) and private.record.broker else node.broker
    return private.invite(node.clock.now().wall, uses=uses, lasts=lasts, broker=broker)


def removable(node: Node, channel: str, who: str, *, banned: bool = False) -> str:
    """Return the sender id of the one with this nick, or whose id begins so, whom we may remove: a member, or somebody
    who has the key by a link alone. Raises ValueError."""
    session = node.sessions.get(channel)
    if session is not None and session.private is None:
        if session.members is not None:
            raise ValueError(no_removal_words(channel, "/create NAME private members"))
        raise ValueError(
            f"Nobody can be put out of {channel}, which is an open channel. /mute and /ignore hide for you what "
            "somebody says; /create makes a private channel."
        )
    private = _private(node, channel)
    sender_id = removable_called(private, who, banned=banned)
    private.removable(sender_id, banned=banned)
    return sender_id


def halt_words(node: Node, channel: str, sender_id: str) -> str:
    """Say what becomes of a private members' channel whose committee could not put out whoever is removed, this one
    among them: more than half of it has to remain. Empty if it could, and in a channel of another kind."""
    session = node.sessions.get(channel)
    if session is None or session.members is None:
        return ""
    members = [sender_of(one.member) for one in session.members.engine.members()]
    gone = [one for one in members if one == sender_id or session.is_outsider(one)]
    return _HALTS if sender_id in gone and 2 * len(gone) >= len(members) else ""


def remove(node: Node, channel: str, sender_id: str, *, banned: bool = False) -> None:
    """Remove a member. Raises ValueError."""
    _private(node, channel).remove(sender_id, banned=banned)


def is_only_member(node: Node, channel: str) -> bool:
    """True for a private channel with no member but us. A members' channel says by itself who has what."""
    found = privacy(node, channel)
    return found is not None and found.is_member and found.members == 1 and not found.of_posts


def is_shut_out(node: Node, channel: str) -> bool:
    """True for a private channel of which we are no member, as far as is known."""
    found = privacy(node, channel)
    return found is not None and found.shut_out


def members_of_these(node: Node, channel: str, ids: frozenset[str]) -> frozenset[str]:
    """Return those of these participants who are members; of an open channel all of them."""
    session = node.sessions.get(channel)
    if session is None or session.private is None:
        return ids
    return frozenset(one for one in ids if not session.is_outsider(one))


def appoint(node: Node, channel: str, who: str, granted: bool) -> None:
    """Make a member an admin, or a member without rights. Raises ValueError."""
    private = _private(node, channel)
    private.appoint(member_called(private, who), granted)


def _private(node: Node, channel: str) -> PrivateChannel:
    session = node.sessions.get(channel)
    if session is None or session.private is None:
        raise ValueError(
            f"{channel} is an open channel: whoever reaches the broker joins it, with {join_command(node, channel)}. "
            "/create makes a private one."
        )
    return session.private
