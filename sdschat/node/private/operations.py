"""Messages of a private channel: operations among them, in words; joinings by invite, and why one is of no use.

Where those who join get nothing older: who may have a message, and the key that it is sealed with.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, NamedTuple

from sdschat.identity.content import ContentKind, OpenedContent, is_of_kind
from sdschat.identity.packets import epoch_key
from sdschat.identity.private.link import epoch_mark, problem_with_join, read_link, secret_for
from sdschat.identity.private.roster import (
    BANNED,
    EPOCH_NOT_HERE,
    UNKNOWN_INVITER,
    Position,
    Roster,
    SignedOperation,
)
from sdschat.identity.signing import Identity, sender_id_of
from sdschat.sds.values import Message, MessageKind, Refusal
from sdschat.transport.sealing import NO_EPOCH
from sdschat.wire.private_codec import Admin, Genesis, Join, Operation, Remove, Renew, decode_operation


def position_of(message: Message) -> Position:
    return message.lamport_timestamp or 0, message.message_id


def has_operation(message: Message) -> bool:
    """True if a message changes who is a member. Everybody gets these: from them the members follow."""
    return is_of_kind(message.content or b"", ContentKind.OPERATION)


def signed_operation(genesis: Genesis, message: Message, opened: OpenedContent) -> SignedOperation | None:
    """Return the operation in a message, if there is one and its author signed it."""
    if opened.kind != ContentKind.OPERATION or not opened.verdict.signed:
        return None
    operation = decode_operation(opened.text or "")
    if operation is None:
        return None
    key = opened.author_key
    problem = problem_with_join(genesis, operation, key) if isinstance(operation, Join) else ""
    return SignedOperation(message.lamport_timestamp or 0, message.message_id, key, operation, problem)


def is_given(roster: Roster, sender_id: str, message: Message) -> bool:
    """True if a participant may have a message: of what was written before they joined only the operations."""
    if has_operation(message):
        return True
    member = next((one for key, one in roster.members.items() if sender_id_of(key) == sender_id), None)
    return member is not None and position_of(message) >= member.since


def epoch_of_message(
    roster: Roster, secrets: Mapping[bytes, bytes], message: Message | Refusal, joined: Position
) -> bytes | None:
    """Return the epoch in which a message was written, to seal it with when it is sent again: nobody opens it then who
    joined later. None for a packet that is no message of the log, or that everybody gets; `NO_EPOCH` for an old one of
    an epoch whose secret is not here. `joined`: place of the last invite that we took."""
    if isinstance(message, Refusal):
        return NO_EPOCH
    if message.kind is not MessageKind.CONTENT:
        return None
    known = (secrets.get(epoch_mark(name)) for name in roster.epochs_until(position_of(message)))
    secret = next((one for one in known if one is not None), None)
    if secret is not None:
        return epoch_key(secret).epoch_id
    return None if position_of(message) >= joined or has_operation(message) else NO_EPOCH


def is_older_than_epoch(roster: Roster, message: Message) -> bool:
    """True if a message was written before the present epoch, so that it is sent with an earlier key."""
    began = roster.epochs[-1][0] if roster.epochs else (0, "")
    return message.kind is MessageKind.CONTENT and position_of(message) <= began


def has_present_key(roster: Roster, each: SignedOperation) -> bool:
    """True if a joining that does not count shows that its author has a link with the key in use."""
    join = each.operation
    return (
        isinstance(join, Join)
        and not each.problem
        and join.invite.epoch in roster.open_to
        and each.author_key not in roster.members
    )


def operation_words(
    operation: Operation, problem: str, name_of: Callable[[bytes], str], *, reader: str, unanswered: bool
) -> str:
    """Return the line for an operation. `problem`: the reason why it does not count, or empty; `reader`: the name of
    its author, if that has the key in use by a link alone; `unanswered`: it may count once a member has answered."""
    match operation:
        case Join() if unanswered:
            return "joined; waits until a member confirms it"
        case Join(silent=silent):
            done = "keeps an archive of the channel from now on" if silent else "joined the channel"
            reads = (
                f". The link has the key: {reader} can read what is written here, until the creator or an admin makes "
                f"a new key with /remove {reader}"
            )
            return f"could not join: {problem}{reads if reader else ''}" if problem else done
        case Remove(target, banned=banned):
            name, (tried, done) = name_of(target), ("ban", "banned") if banned else ("remove", "removed")
            return f"tried to {tried} {name}: {problem}" if problem else f"{done} {name}, and changed the key"
        case Renew():
            return f"tried to invite somebody: {problem}" if problem else "invited somebody, and changed the key"
        case Admin(target, _, granted):
            name = name_of(target)
            done = f"made {name} an admin" if granted else f"made {name} a member without rights"
            return f"tried to appoint {name}: {problem}" if problem else done


NO_KEY: Final = (
    ", but gave you none that opens: you cannot read what is written from here on, until the creator or an admin "
    "removes somebody, or you come by a new invite"
)


def withholds_key(identity: Identity, operation: Operation) -> bool:
    """True for a removal that leaves us a member, and has no key for us that opens. Nobody else can see that."""
    return (
        isinstance(operation, Remove)
        and any(share.member_key == identity.public_key for share in operation.shares)
        and secret_for(identity, operation) is None
    )


class Joining(NamedTuple):
    """An operation by which somebody joined, or tried to."""

    position: Position
    operation: Join


def joinings_of(key: bytes, operations: Iterable[SignedOperation]) -> list[Joining]:
    return [
        Joining(each.position, each.operation)
        for each in operations
        if each.author_key == key and isinstance(each.operation, Join)
    ]


def last_joining(key: bytes, operations: Iterable[SignedOperation]) -> Position:
    """Return the place of the last joining by this key; the end of the log if there is none."""
    return max((each.position for each in joinings_of(key, operations)), default=(1 << 64, ""))


def removed_between(
    before: Roster, after: Roster, operations: Iterable[SignedOperation]
) -> tuple[tuple[str, ...], str]:
    """Return who is no member any more because somebody removed them, and who removed the last one; as sender ids."""
    removals = [
        (each.position, each.operation.target, each.author_key)
        for each in operations
        if isinstance(each.operation, Remove) and not after.outcomes.get(each.message_id)
    ]
    gone = sorted(each for each in removals if each[1] in before.members and each[1] not in after.members)
    removed = dict.fromkeys(sender_id_of(target) for _, target, _ in gone)
    return tuple(removed), sender_id_of(gone[-1][2]) if gone else ""


def refusal_words(channel: str, roster: Roster, key: bytes, operations: Collection[SignedOperation]) -> str:
    """Say why we are no member though we had an invite, for a person. Empty if nothing is known to be wrong."""
    own = (each for each in operations if each.author_key == key and isinstance(each.operation, Join))
    newest = max(own, key=lambda each: each.position, default=None)
    why = "" if newest is None else roster.outcomes.get(newest.message_id, "")
    if newest is None or not why:
        return ""
    if is_unanswered(roster, key, newest.operation, why):
        return not_answered(channel)
    if why == BANNED:
        return f"the creator of {channel} banned your key: only an invite of the creator lets it in again"
    by_link = has_present_key(roster, newest)
    reads = ". Until then you read by the link alone, and nobody is shown what you write" if by_link else ""
    return f"your invite is of no use: {why}. Ask for a new one{reads}"


def is_unanswered(roster: Roster, key: bytes, operation: Operation, why: str) -> bool:
    """True if a joining that does not count for us, `why`, may count once a member has answered.

    The beginning of the epoch that the invite is for is not here, or nothing tells whether the inviter joined: others
    who are here may be newcomers, who know no better.
    """
    if key in roster.members or not isinstance(operation, Join):
        return False
    return why == EPOCH_NOT_HERE or (why == UNKNOWN_INVITER and operation.invite.inviter_key not in roster.changes)


def removal_words(channel: str, *, banned: bool) -> str:
    """Say, for a person, that we were removed and what that means."""
    new = "a new one of its creator" if banned else "a new one"
    kept = "you have what was written before the key was changed, and nothing of yours is sent"
    return f"you were removed from {channel}: {kept}. An invite from before lets nobody in; {new} does"


def not_answered(channel: str) -> str:
    """Say, for a person, that it is not known yet if our invite is of use."""
    return f"no member of {channel} has confirmed your invite yet: you are in once one does, if it is of use"


def is_of_later_key(link: str, roster: Roster) -> bool:
    """True if a link has a key whose beginning is not here: by then we may be no member any more."""
    return read_link(link, 0).invite.epoch not in roster.epochs_here()


class Outsider(NamedTuple):
    """Somebody who came by a link that lets nobody in: no member, but with the key that is in the link."""

    key: bytes
    nick: str


def outsiders(roster: Roster, operations: Iterable[tuple[SignedOperation | None, str]]) -> dict[str, Outsider]:
    """Return by sender id those who are no members, and have the key in use by a link. `operations`: with the nicks of
    authors."""
    return {
        sender_id_of(each.author_key): Outsider(each.author_key, nick)
        for each, nick in operations
        if each is not None and has_present_key(roster, each)
    }
