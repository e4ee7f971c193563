"""Members' channels for an interface: the conversation, the verbs of a member, and what the engine knows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from sdschat.node.members.record import is_members_channel
from sdschat.node.node import Node
from sdschat.node.view.channel import ChannelConversation
from sdschat.node.view.values import AckState, ContentKind, Key, OwnFate, Participant, Shown, SyncStatus, Verdict
from sdschat.store.display_rows import UNREAD_COUNTED
from sdschat.store.reader import Reader
from sdschat.timber.values import Reason, sender_of
from sdschat.timber.views import MemberStanding

if TYPE_CHECKING:
    from sdschat.node.members.channel import MembersChannel
    from sdschat.node.members.post_log import PlacedPost, PostLog

_STATES = {
    "queued": AckState.UNACKED,
    "sent": AckState.UNACKED,
    "written": AckState.UNACKED,
    "known": AckState.POSSIBLY_ACKED,
    "settled": AckState.ACKED,
}


def has_members(node: Node, channel: str) -> bool:
    """True if a channel, joined or not, is one of members. A joined one is asked itself, without the database."""
    session = node.sessions.get(channel)
    if session is not None:
        return session.members is not None
    return is_members_channel(node.profile.store, channel)


def create(node: Node, name: str) -> str:
    """Make a members' channel, and return its name. Raises ValueError for a name that cannot be used."""
    from sdschat.node.members.saved import create_members  # only where members' channels are used

    return create_members(node.profile.store, node.gate.identity, name, node.settings.timber).channel


def create_private(node: Node, name: str) -> str:
    """Make a members' channel that is private as well, and return its full name. Raises ValueError likewise."""
    from sdschat.node.members.saved import create_private_members  # likewise

    profile, gate = node.profile, node.gate
    return create_private_members(profile.store, gate.identity, name, node.settings.timber, broker=node.broker)


_STANDINGS: Final = {
    MemberStanding.OUTSIDE: "you knock",
    MemberStanding.INVITED: "you are invited",
    MemberStanding.MEMBER: "",
    MemberStanding.LEAVING: "you have left",
    MemberStanding.LEFT: "you have left",
    MemberStanding.REMOVED: "you were put out",
}


_OUTSIDE: Final = {
    MemberStanding.OUTSIDE: "no member",
    MemberStanding.INVITED: "invited",
    MemberStanding.MEMBER: "",
    MemberStanding.LEAVING: "left",
    MemberStanding.LEFT: "left",
    MemberStanding.REMOVED: "put out",
}


def fork_words(name: str, seq: int, *, own: bool) -> str:
    """Return in words that somebody, or we, signed two operations of one number in a members' channel."""
    if own:
        return (
            "another program writes here with your key: a copy of this profile, or an older one that was restored. "
            "The others take what only one of them writes: end the other one"
        )
    return (
        f"{name} signed two operations with the number {seq}: their profile was copied, or an older one restored, or "
        "they cheat"
    )


def standing_words(node: Node, channel: str) -> str:
    """Say why we do not write in a joined members' channel; empty if we do, and in a channel of another kind."""
    session = node.sessions.get(channel)
    return "" if session is None or session.members is None else _STANDINGS[session.members.engine.standing()]


def members_of(node: Node, channel: str) -> MembersChannel:
    """Return the joined members' channel. Raises ValueError, for a person, for a channel of another kind."""
    session = node.sessions.get(channel)
    if session is None or session.members is None:
        raise ValueError(f"{channel} is no members' channel: nothing is changed or taken back there.")
    return session.members


def shown_post(placed: PlacedPost) -> Shown:
    """Return a post as a message of the log."""
    at, post = placed
    text = f"{post.text} (edited)" if post.edited else post.text
    state = None if not post.own else AckState.ACKED if post.settled else AckState.UNACKED
    return Shown(
        post.message_id,
        at,
        post.sender_id,
        post.nick,
        text,
        str(Verdict.KNOWN),
        post.own,
        post.sent_at,
        post.sent_at,
        "live",
        reply_to=post.reply_to,
        state=state,
    )


class PostJourney(NamedTuple):
    """The way of an own post so far. `writer`: who wrote it into the log, None while nobody did and where it is
    settled; `lacking`: others who have not shown that they have it; `removed`: those who never will, and whom the
    committee still counts; `next_at`: when we ask next, epoch milliseconds, 0 if we do not."""

    word: str  # queued, sent, written, known or settled
    writer: Participant | None = None
    lacking: tuple[Participant, ...] = ()
    let_in: bool = True  # we are a member, and may write
    next_at: int = 0
    removed: tuple[Participant, ...] = ()
    cut_off: bool = False  # we were removed, and hear no more of it


class MembersConversation(ChannelConversation):
    """A `Conversation` with the members of a channel: its log holds the posts that are alive."""

    def __init__(self, node: Node, reader: Reader, name: str) -> None:
        super().__init__(node, reader, name)
        self._on_disk: PostLog | None = None  # as it was read from the disk, while the channel is not joined

    def say(self, text: str, kind: ContentKind, reply_to: str) -> None:
        if kind is not ContentKind.TEXT:
            raise ValueError("In a members' channel there are texts alone, and no /me.")
        self._node.say(self.name, text, reply_to=reply_to)

    def history_since(self) -> int:
        """Return 0: what was written before one came is taken with the checkpoint, whatever the join horizon."""
        return 0

    def delivery(self, message_id: str) -> str:
        """Return what became of an own post, in a word, with the number of members who know it."""
        session = self.session
        if session is None or session.members is None:
            found = self._log().get(message_id)
            return "" if found is None else "queued" if found.post.waiting else "settled" if found.post.settled else ""
        word, known, members, writer, _ = session.members.delivery(message_id)
        if word == "written" and writer == session.members.engine.me:
            return "written here"
        return f"known {known} of {members}" if word == "known" else word

    def journey(self, message_id: str) -> PostJourney:
        """Return how far an own post has come."""
        session = self.session
        if session is None or session.members is None:
            return PostJourney(self.delivery(message_id))
        engine, found = session.members.engine, session.members.delivery(message_id)
        people = {person.sender_id: person for person in self.people()}

        def person(slot: int) -> Participant:
            one = sender_of(engine.person(slot))
            nick = self.nick_of(one)
            return people.get(one) or Participant(one, nick, False, 0, False, tag=self.tag_of(one, nick))

        writer = None if found.writer is None else person(found.writer)
        others = [one for one in map(person, found.lacking) if not one.own]
        removed = tuple(one for one in others if session.is_outsider(one.sender_id))
        lacking = tuple(one for one in others if one not in removed)
        next_at = 0 if (wake := engine.next_wake()) is None else self._node.clock.now().to_wall(wake)
        cut_off = session.private is not None and not session.private.is_member
        return PostJourney(found.word, writer, lacking, engine.me is not None, next_at, removed, cut_off)

    def people(self) -> list[Participant]:
        found, session = super().people(), self.session
        if session is None or session.members is None:
            return found
        engine = session.members.engine
        if not engine.members():  # they are not known here before we are let in
            return found
        return [one._replace(outside="" if one.own else _OUTSIDE[engine.standing(one.sender_id)]) for one in found]

    # The log.

    def _log(self) -> PostLog:
        session = self.session
        if session is not None and session.members is not None:
            self._on_disk = None
            return session.members.log
        if self._on_disk is None:
            from sdschat.node.members.saved import saved_log  # only where members' channels are used

            self._on_disk = saved_log(self._reader, self.name, self._node.sender_id, self._node.nick)
        return self._on_disk

    def messages(self, *, before: Key | None = None, after: Key | None = None, limit: int = 100) -> list[Shown]:
        return self._page(lambda placed: True, limit, before, after)

    def search(
        self, words: str, *, limit: int = 50, before: Key | None = None, after: Key | None = None
    ) -> list[Shown]:
        wanted = words.casefold().split()

        def matches(placed: PlacedPost) -> bool:
            text = placed.post.text.casefold()
            return all(word in text for word in wanted)

        return self._page(matches, limit, before, after)

    def _page(
        self, wanted: Callable[[PlacedPost], bool], limit: int, before: Key | None, after: Key | None
    ) -> list[Shown]:
        """Return the first of the wanted posts after a key, or else the last of those before another; in order."""
        log, gate = self._log(), self._node.gate

        def is_listed(placed: PlacedPost) -> bool:
            return wanted(placed) and not gate.is_muted(placed.post.sender_id)

        if after is not None:
            below = takewhile(lambda placed: before is None or placed.key < before, log.after(after))
            return [shown_post(placed) for placed in islice(filter(is_listed, below), limit)]
        found = list(islice(filter(is_listed, log.before(before)), limit))
        return [shown_post(placed) for placed in reversed(found)]

    def uncovered(self, message_id: str) -> Shown | None:
        found = self._log().get(message_id)
        return None if found is None else shown_post(found)

    def find_ids(self, prefix: str, limit: int = 10) -> list[str]:
        return self._log().find_ids(prefix.lower())[:limit]

    def raw(self, message_id: str) -> bytes | None:
        """Return None: a post is no packet."""
        return None

    def count(self) -> int:
        return len(self._log())

    def rank(self, message_id: str) -> int:
        return self._log().rank(message_id)

    def at_rank(self, rank: int) -> Key | None:
        return self._log().at_rank(rank)

    def dated(self, moment: int) -> Key | None:
        return next((placed.key for placed in self._log().after((moment, ""))), None)

    def settled_until(self) -> Key | None:
        """Return the key of the newest post that all members settled; None if there is none."""
        return self._log().settled_until()

    # Own posts.

    def remembered(self, message_id: str) -> OwnFate | None:
        session = self.session
        if session is None or session.members is None:
            return None
        word = session.members.delivery(message_id).word
        return OwnFate(_STATES[word], int(word != "queued"), 0, ())

    def own(self, message_id: str) -> OwnFate | None:
        return self.remembered(message_id)

    def open_messages(self) -> list[str]:
        return [placed.post.message_id for placed in self._log().waiting() if placed.post.own]

    def sync(self) -> SyncStatus:
        unsettled = self.open_messages()
        queued = sum(self.delivery(message_id) == "queued" for message_id in unsettled)
        return SyncStatus(0, 0, len(unsettled), queued)

    def unread(self) -> int:
        """Return the number of posts of others below the place up to which the log was read; at most
        `UNREAD_COUNTED`."""
        below, gate = self._log().after(self.read_mark() or (0, "")), self._node.gate
        of_others = (one for one in below if not (one.post.own or gate.is_muted(one.post.sender_id)))
        return sum(1 for _ in islice(of_others, UNREAD_COUNTED))


class CommitteeMember(NamedTuple):
    """A member, for the views of the Lens."""

    slot: int
    sender_id: str
    seq: int
    missed: int
    limit: int
    clock: dict[int, int]


class TreeRow(NamedTuple):
    """An operation in front of the compaction. `branches`: it stands on another than the one before it."""

    writer: str
    seq: int
    what: str  # kind of its event; empty where it has none
    settled: bool
    dead: bool
    branches: bool


class AwaitedOperation(NamedTuple):
    """An operation that others name, and that is not here. `waiting`: number of operations that wait for it."""

    writer: str
    seq: int
    millis: int
    waiting: int


_REFUSED: Final = {
    Reason.UNREADABLE: "not readable",
    Reason.TOO_LARGE: "too large",
    Reason.TOO_MANY: "with too many parts",
    Reason.MALFORMED: "out of bounds",
    Reason.SIGNATURE: "not signed by their writer",
    Reason.STRANGER: "from strangers",
    Reason.FORK: "with a number that was used before",
    Reason.PARENT: "in the wrong place",
    Reason.CHECKSUM: "that name other operations than those here",
    Reason.CLOCK: "that say what their writer cannot know",
    Reason.TURN: "that name decisions which there were not",
    Reason.BALLOT: "that say on a ballot what they may not",
    Reason.AFTER_LEAVE: "from members that had left",
    Reason.REMOVED: "from members that were put out",
    Reason.NOT_AUTHOR: "in the name of another",
    Reason.MISROUTED: "sent past the nearest members",
    Reason.BUFFER_FULL: "because there is no room",
    Reason.OTHER_STATE: "with a state that does not fit",
}


class MembersPeek(NamedTuple):
    """The state of a members' channel at one moment. `is_member`: we may write."""

    data_set: str
    is_member: bool
    number: int
    hash: str
    posts: int
    waiting_for: tuple[str, ...]
    missing: tuple[AwaitedOperation, ...]
    committee: tuple[CommitteeMember, ...]
    tree: tuple[TreeRow, ...]
    ballot: tuple[tuple[str, ...], int, int] | None  # who is to be put out, how many agree, how many have to
    refused: dict[str, int]  # number of packets and operations, by the reason in words


def peek_members(node: Node, channel: str) -> MembersPeek | None:
    """Return the state of a joined members' channel; None for a channel of another kind."""
    session = node.sessions.get(channel)
    if session is None or session.members is None:
        return None
    members, engine = session.members, session.members.engine
    committee = tuple(
        CommitteeMember(
            one.slot, sender_of(one.member), one.seq, one.missed, one.limit, {**dict(one.clock), one.slot: one.seq}
        )
        for one in engine.members()
    )
    slots = {member.slot for member in committee}
    rows: list[TreeRow] = []
    before = None
    for item in engine.operations():
        body = item.operation.body
        what = "" if body.event is None else body.event.body.kind.name.lower()
        branches = before is not None and item.parent is not before
        rows.append(TreeRow(sender_of(engine.person(body.slot)), body.seq, what, item.settled, item.dead, branches))
        before = item
    ballot = engine.ballot()
    removed = () if ballot is None else tuple(sender_of(engine.person(slot)) for slot, _ in ballot.removed)
    return MembersPeek(
        members.data_set,
        engine.me is not None,
        engine.checkpoint.number,
        engine.checkpoint.hash.hex(),
        engine.alive(),
        tuple(sender_of(engine.person(slot)) for slot in engine.waiting_for()),
        tuple(
            AwaitedOperation(
                sender_of(engine.person(one.slot)), one.seq, node.clock.now().mono - one.since, one.waiting
            )
            for one in engine.missing()
            if one.slot in slots
        ),
        committee,
        tuple(rows),
        None if ballot is None or not removed else (removed, ballot.agree, ballot.need),
        {_REFUSED[reason]: count for reason, count in engine.refusals.items()},
    )
