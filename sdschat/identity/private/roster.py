"""The members of a private channel: a function of the set of operations in its log, in log order. Pure.

Every node that has the same operations has the same roster, in whatever order they came. Contradictions are settled by
that order, and by rank: an operation of the creator that takes a right away also counts against an operation that its
creator had not seen, even if that one stands before it in the log. So nobody gains by dating an operation back.

An epoch is named by the removals that nobody has built upon: usually one, and two if two admins removed while apart.
The secret of such an epoch is made of both, so that each of the two who were removed lacks a part of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

from sdschat.identity.private.link import EpochName, epoch_mark
from sdschat.wire.private_codec import MAX_MEMBERS, MAX_SEEN, Admin, Genesis, Join, Operation, Remove, Renew

Position = tuple[int, str]  # of a message in the log: Lamport time and message id

WAITS: Final = "it builds upon an operation that is not here yet"
UNKNOWN_INVITER: Final = "the invite is by somebody who is not a member"
USED_UP: Final = "the invite was used up"
BANNED: Final = "the creator banned them"
UNKNOWN_EPOCH: Final = "the invite was made before the key of the channel was changed"
EPOCH_NOT_HERE: Final = "the change of the key that the invite was made after is not here yet"


class Rank(IntEnum):
    MEMBER = 0
    ADMIN = 1
    CREATOR = 2


class SignedOperation(NamedTuple):
    """An operation of the log whose author is proven. `problem`: why the signatures inside do not hold, or empty."""

    lamport: int
    message_id: str
    author_key: bytes
    operation: Operation
    problem: str = ""

    @property
    def position(self) -> Position:
        return self.lamport, self.message_id


class Member(NamedTuple):
    key: bytes
    rank: Rank
    silent: bool  # a Store: reads, and writes nothing
    since: Position = (0, "")  # place of the joining; where a channel gives no older history, nothing before is given


class _Change(NamedTuple):
    position: Position
    speaks: bool


@dataclass(slots=True)
class Roster:
    """The state after all operations. `outcomes` has the reason why an operation does not count, or an empty text."""

    members: dict[bytes, Member] = field(default_factory=dict)
    epoch: EpochName = ()
    removals: int = 0
    renewals: int = 0
    outcomes: dict[str, str] = field(default_factory=dict)
    epoch_before: dict[str, EpochName] = field(default_factory=dict)  # of each removal and renewal that counts
    epochs: list[tuple[Position, EpochName]] = field(default_factory=list)  # where each began
    open_to: set[bytes] = field(default_factory=lambda: {b""})  # marks of the epochs whose invites are of use
    seen: tuple[str, ...] = ()  # for the next operation: what it builds upon
    changes: dict[bytes, list[_Change]] = field(default_factory=dict)
    banned: set[bytes] = field(default_factory=set)
    users: dict[bytes, dict[bytes, Position]] = field(default_factory=dict)  # of each invite: who joined by it, where

    @property
    def epoch_number(self) -> int:
        """Return the number of the epoch for people, from 1."""
        return self.removals + self.renewals + 1

    def epochs_until(self, position: Position) -> list[EpochName]:
        """Return the epoch under whose key a message at this position of the log was sealed, and all before it, the
        newest first."""
        return [*reversed([name for begin, name in self.epochs if begin < position]), ()]

    def epochs_here(self) -> set[bytes]:
        """Return the marks of all epochs whose beginning is here."""
        single = ((one,) for one, problem in self.outcomes.items() if problem != WAITS)
        return set(map(epoch_mark, ((), *single, *(name for _, name in self.epochs), *self.epoch_before.values())))

    def speaks_at(self, key: bytes, position: Position) -> bool:
        """True if the holder of the key was a member with a voice at this position of the log."""
        speaks = False
        for change in self.changes.get(key, ()):
            if change.position > position:
                break
            speaks = change.speaks
        return speaks

    def rank(self, key: bytes) -> Rank | None:
        member = self.members.get(key)
        return None if member is None else member.rank


def idle_reason(genesis: Genesis, roster: Roster, each: SignedOperation) -> str:
    """Return the reason why a joining counts for nothing, whatever other operations come; empty if it may count.

    Whoever has a link can make any number of such joinings. So the rest of them need not be known: of an invite, only
    the first joinings in the log count. (Where admins alone invite, an appointment that comes late may change who was
    first.)
    """
    if not isinstance(each.operation, Join) or each.problem:
        return each.problem
    invite = each.operation.invite
    users = roster.users.get(invite.invite_key, {})
    before = sum(key != each.author_key and place < each.position for key, place in users.items())
    is_idle = invite.uses and before >= invite.uses and not genesis.admins_invite
    return USED_UP if is_idle else ""


def fold(genesis: Genesis, operations: Iterable[SignedOperation]) -> Roster:
    """Return the roster after these operations, whatever their order."""
    return _Fold(genesis, {each.message_id: each for each in operations}).run()


class _Fold:
    def __init__(self, genesis: Genesis, operations: Mapping[str, SignedOperation]) -> None:
        self._genesis = genesis
        self._all = operations
        self._ordered = sorted(operations.values(), key=lambda each: each.position)
        # Sets of operations are numbers with a bit for each: there may be thousands that build upon each other.
        self._bits = {each.message_id: 1 << number for number, each in enumerate(self._ordered)}
        self._pasts: dict[str, int | None] = {}
        self._of_creator = [
            each
            for each in self._ordered
            if each.author_key == genesis.creator_key and not isinstance(each.operation, Join)
        ]
        self._removals = self._set_of(one for one, each in operations.items() if isinstance(each.operation, Remove))
        self._renewals = defaultdict[bytes, int](int)  # by the mark of the epoch that they end
        for one, each in operations.items():
            if isinstance(each.operation, Renew):
                self._renewals[each.operation.before] |= self._bits[one]
        creator = genesis.creator_key
        self._state = Roster({creator: Member(creator, Rank.CREATOR, False)})
        self._state.changes[creator] = [_Change((0, ""), True)]
        self._heads: tuple[str, ...] = ()  # of all operations that count, removals or not

    def run(self) -> Roster:
        state = self._state
        for each in self._ordered:
            problem = each.problem or self._problem(each)
            state.outcomes[each.message_id] = problem
            if not problem:
                self._apply(each)
        state.seen = self._heads[-MAX_SEEN:]
        self._tell_unknown_epochs()
        return state

    def _tell_unknown_epochs(self) -> None:
        """Tell invites for a key that is not here yet from those for a key that was changed."""
        state = self._state
        refused = [one for one in self._ordered if state.outcomes[one.message_id] == UNKNOWN_EPOCH]
        if not refused:
            return
        here = state.epochs_here()
        for each in refused:
            if isinstance(each.operation, Join) and each.operation.invite.epoch not in here:
                state.outcomes[each.message_id] = EPOCH_NOT_HERE

    # What an operation builds upon.

    def _set_of(self, ids: Iterable[str]) -> int:
        return sum({self._bits.get(one, 0) for one in ids})

    def _is_in(self, message_id: str, past: int) -> bool:
        return self._bits.get(message_id, 0) & past != 0

    def _past(self, seen: tuple[str, ...]) -> int | None:
        """Return all operations that these build upon, themselves included. None if one is not here."""
        found = 0
        for message_id in seen:
            past = self._past_of(message_id)
            if past is None:
                return None
            found |= past
        return found

    def _past_of(self, message_id: str) -> int | None:
        """Return the same for one operation. Walks without recursion: a chain may be long."""
        stack, on_stack = [message_id], {message_id}
        while stack:
            at = stack[-1]
            if at in self._pasts:
                on_stack.discard(stack.pop())
                continue
            each = self._all.get(at)
            if each is None or isinstance(each.operation, Join):
                self._pasts[at] = None
                continue
            seen = each.operation.seen
            # An id is a hash over what it builds upon, so there are no circles; a made-up one is no operation.
            open_ones = [one for one in seen if one not in self._pasts and one not in on_stack]
            if open_ones:
                stack += open_ones
                on_stack.update(open_ones)
                continue
            pasts, found = [self._pasts.get(one) for one in seen], self._bits[at]
            for past in pasts:
                found |= past or 0
            self._pasts[at] = found if None not in pasts else None
        return self._pasts[message_id]

    def _epoch_of(self, past: int) -> EpochName:
        """Return the epoch after these operations, as far as they count: its removals that no other one has seen."""
        changes = [one for one in self._state.epoch_before if self._is_in(one, past)]
        built_upon = 0
        for one in changes:
            built_upon |= (self._past_of(one) or 0) & ~self._bits[one]
        return tuple(sorted(one for one in changes if not self._is_in(one, built_upon)))

    # Judging.

    def _problem(self, each: SignedOperation) -> str:
        match each.operation:
            case Join() as join:
                return self._problem_with_join(each, join)
            case Remove() as remove:
                return self._problem_with_removal(each, remove)
            case Renew() as renew:
                return self._problem_with_renewal(each, renew)
            case Admin() as admin:
                if each.author_key != self._genesis.creator_key:
                    return "only the creator of the channel appoints admins"
                if admin.target not in self._state.members or admin.target == self._genesis.creator_key:
                    return "it names nobody who is a member"
                return "" if self._past(admin.seen) is not None else WAITS

    def _problem_with_join(self, each: SignedOperation, join: Join) -> str:
        invite, state = join.invite, self._state
        inviter = state.members.get(invite.inviter_key)
        users = state.users.get(invite.invite_key, {})
        if inviter is None or inviter.silent:
            return UNKNOWN_INVITER
        if each.author_key in state.banned and inviter.rank is not Rank.CREATOR:
            return BANNED
        if self._genesis.admins_invite and inviter.rank < Rank.ADMIN:
            return "the invite is by somebody who may not invite"
        if invite.expires and each.lamport > invite.expires:
            return "the invite had expired"
        if invite.epoch not in state.open_to:
            return UNKNOWN_EPOCH
        if invite.uses and len(users.keys() - {each.author_key}) >= invite.uses:
            return USED_UP
        if join.silent and self._genesis.since_join:
            return "an archive would give what was written before somebody joined"
        if len(state.members) >= MAX_MEMBERS and each.author_key not in state.members:
            return "the channel is full"
        return ""

    def _problem_with_renewal(self, each: SignedOperation, renew: Renew) -> str:
        signer = self._state.members.get(each.author_key)
        if self._past(renew.seen) is None:
            return WAITS
        least = Rank.ADMIN if self._genesis.admins_invite else Rank.MEMBER
        if signer is None or signer.rank < least or not self._genesis.since_join:
            return "its author had no right to it"
        if renew.before != epoch_mark(self._state.epoch) or self._outranked(each, renew, signer.rank):
            return "the key was changed at the same time"
        return ""

    def _outranked(self, each: SignedOperation, renew: Renew, rank: Rank) -> bool:
        """True if somebody of a higher rank, who had not seen this renewal, built upon another change of the same key.
        So no member puts out whom others invited by dating a renewal back."""
        past = self._past(renew.seen) or 0
        rivals = self._renewals[renew.before] & ~self._bits[each.message_id] | self._removals & ~past
        for other in self._ordered if rivals else ():
            author = self._state.members.get(other.author_key)
            if isinstance(other.operation, Join) or author is None or author.rank <= rank:
                continue
            built_upon = self._past(other.operation.seen) or 0
            if not self._is_in(each.message_id, built_upon) and rivals & built_upon:
                return True
        return False

    def _problem_with_removal(self, each: SignedOperation, remove: Remove) -> str:
        members = self._state.members
        if remove.banned and each.author_key != self._genesis.creator_key:
            return "only the creator of the channel bans"
        signer, target = members.get(each.author_key), members.get(remove.target)
        if self._past(remove.seen) is None:
            return WAITS
        changes = self._state.changes.get(remove.target)
        if target is None and changes and not self._is_in(changes[-1].position[1], self._past(remove.seen) or 0):
            return "somebody else removed them already"
        below = Rank.MEMBER if target is None else target.rank  # of nobody's, too: who has the key by a link alone
        if signer is None or signer.rank <= below or self._overruled(each, remove):
            return "its author had no right to it"
        kept = {share.member_key for share in remove.shares}
        if any(member.rank >= signer.rank and key not in kept for key, member in members.items()):
            return "it leaves out members whom its author may not remove"
        return ""

    def _overruled(self, each: SignedOperation, remove: Remove) -> bool:
        """True if the creator, who had not seen this removal, took its author's right away or raised its target."""
        if each.author_key == self._genesis.creator_key:
            return False
        for other in self._of_creator:
            if other.position < each.position or isinstance(other.operation, Join | Renew):
                continue
            past = self._past(other.operation.seen)
            if past is None or self._is_in(each.message_id, past):
                continue
            raises = isinstance(other.operation, Admin) and other.operation.granted
            if other.operation.target == (remove.target if raises else each.author_key):
                return True
        return False

    # Applying.

    def _apply(self, each: SignedOperation) -> None:
        state = self._state
        match each.operation:
            case Join(invite, _, silent):
                state.users.setdefault(invite.invite_key, {}).setdefault(each.author_key, each.position)
                state.banned.discard(each.author_key)
                if each.author_key not in state.members:
                    state.members[each.author_key] = Member(each.author_key, Rank.MEMBER, silent, each.position)
                    self._note(each, each.author_key, not silent)
            case Remove(target, seen, _, shares, banned):
                if banned:
                    state.banned.add(target)
                past = self._past(seen) or 0
                state.epoch_before[each.message_id] = self._epoch_of(past)
                state.epoch = self._epoch_of(self._set_of(state.epoch) | self._bits[each.message_id])
                state.removals += 1
                state.epochs.append((each.position, state.epoch))
                state.open_to = {epoch_mark(state.epoch)}
                kept = {share.member_key for share in shares} - {target}
                for key in [key for key in state.members if key not in kept]:
                    del state.members[key]
                    self._note(each, key, False)
                self._add_head(each, past)
            case Renew(_, seen):
                state.epoch_before[each.message_id] = state.epoch
                state.epoch = (each.message_id,)
                state.renewals += 1
                state.epochs.append((each.position, state.epoch))
                state.open_to.add(epoch_mark(state.epoch))
                self._add_head(each, self._past(seen) or 0)
            case Admin(target, seen, granted):
                rank = Rank.ADMIN if granted else Rank.MEMBER
                state.members[target] = state.members[target]._replace(rank=rank)
                self._add_head(each, self._past(seen) or 0)

    def _add_head(self, each: SignedOperation, past: int) -> None:
        self._heads = (*(one for one in self._heads if not self._is_in(one, past)), each.message_id)

    def _note(self, each: SignedOperation, key: bytes, speaks: bool) -> None:
        self._state.changes.setdefault(key, []).append(_Change(each.position, speaks))
