"""Members' channels for an interface: the conversation, the verbs of a member, and what the engine knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sdschat.identity.content import ContentKind, Verdict
from sdschat.node.events import MemberPost
from sdschat.node.members.ids import sender_of
from sdschat.node.members.record import is_members_channel
from sdschat.node.node import Node
from sdschat.node.view.channel import ChannelConversation
from sdschat.node.view.values import AckState, Key, OwnFate, Shown, SyncStatus

if TYPE_CHECKING:
    from sdschat.node.members.channel import MembersChannel

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
    from sdschat.node.members.creating import create_members  # only where members' channels are used

    return create_members(node.profile.store, node.gate.identity, name, node.settings.timber).channel


def members_of(node: Node, channel: str) -> MembersChannel:
    """Return the joined members' channel. Raises ValueError, for a person, for a channel of another kind."""
    session = node.sessions.get(channel)
    if session is None or session.members is None:
        raise ValueError(f"{channel} is no members' channel: nothing is changed or taken back there.")
    return session.members


def shown_post(post: MemberPost, at: int) -> Shown:
    """Return a post as a message of the log. `at`: where it stands."""
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
        state=state,
    )


class MembersConversation(ChannelConversation):
    """A `Conversation` with the members of a channel: its log holds the posts that are alive."""

    def say(self, text: str, kind: ContentKind, reply_to: str) -> None:
        if kind is not ContentKind.TEXT:
            raise ValueError("In a members' channel there are texts alone, and no /me.")
        self._node.say(self.name, text, reply_to=reply_to)

    def delivery(self, message_id: str) -> str:
        """Return what became of an own post, in a word, with the number of members who know it."""
        session = self.session
        if session is None or session.members is None:
            return ""
        word, known, members = session.members.delivery(message_id)
        return f"known {known} of {members}" if word == "known" else word

    # The log.

    def _shown_posts(self) -> list[Shown]:
        """Return all posts, in order. Their keys follow the order of the log, and are near the times of writing."""
        session = self.session
        if session is not None and session.members is not None:
            posts = session.members.posts()
        else:
            from sdschat.node.members.saved import saved_posts  # likewise

            posts = saved_posts(self._reader, self.name, self._node.sender_id)
        found: list[Shown] = []
        at = 0
        for post in posts:
            at = max(at + 1, post.sent_at)
            found.append(shown_post(post, at))
        return found

    def messages(self, *, before: Key | None = None, after: Key | None = None, limit: int = 100) -> list[Shown]:
        found = [
            shown
            for shown in self._shown_posts()
            if (before is None or shown.key < before) and (after is None or shown.key > after)
        ]
        return found[:limit] if after is not None else found[-limit:]

    def message(self, message_id: str) -> Shown | None:
        return next((shown for shown in self._shown_posts() if shown.message_id == message_id), None)

    def search(
        self, words: str, *, limit: int = 50, before: Key | None = None, after: Key | None = None
    ) -> list[Shown]:
        wanted = words.casefold().split()
        found = self.messages(before=before, after=after, limit=self.count() or 1)
        matching = [shown for shown in found if all(word in (shown.text or "").casefold() for word in wanted)]
        return matching[:limit] if after is not None else matching[-limit:]

    def find_ids(self, prefix: str, limit: int = 10) -> list[str]:
        found = [shown.message_id for shown in self._shown_posts() if shown.message_id.startswith(prefix)]
        return sorted(found)[:limit]

    def raw(self, message_id: str) -> bytes | None:
        """Return None: a post is no packet."""
        return None

    def count(self) -> int:
        return len(self._shown_posts())

    def rank(self, message_id: str) -> int:
        ids = [shown.message_id for shown in self._shown_posts()]
        return ids.index(message_id) + 1 if message_id in ids else 0

    def at_rank(self, rank: int) -> Key | None:
        found = self._shown_posts()
        return found[rank - 1].key if 1 <= rank <= len(found) else None

    def dated(self, moment: int) -> Key | None:
        return next((shown.key for shown in self._shown_posts() if shown.lamport >= moment), None)

    # Own posts.

    def remembered(self, message_id: str) -> OwnFate | None:
        session = self.session
        if session is None or session.members is None:
            return None
        word = session.members.delivery(message_id)[0]
        return OwnFate(_STATES[word], int(word != "queued"), 0, ())

    def own(self, message_id: str) -> OwnFate | None:
        return self.remembered(message_id)

    def open_messages(self) -> list[str]:
        return [shown.message_id for shown in self._shown_posts() if shown.own and shown.state is AckState.UNACKED]

    def sync(self) -> SyncStatus:
        unsettled = self.open_messages()
        queued = sum(self.delivery(message_id) == "queued" for message_id in unsettled)
        return SyncStatus(0, 0, 0, len(unsettled), queued)

    def unread(self) -> int:
        """Return 0: what came while nobody looked is not counted over a restart."""
        return 0


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


class MembersPeek(NamedTuple):
    """The state of a members' channel at one moment. `is_member`: we may write."""

    data_set: str
    is_member: bool
    number: int
    hash: str
    posts: int
    waiting_for: tuple[str, ...]
    committee: tuple[CommitteeMember, ...]
    tree: tuple[TreeRow, ...]
    ballot: tuple[tuple[str, ...], int, int] | None  # who is to be put out, how many agree, how many have to
    refused: dict[str, int]


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
        committee,
        tuple(rows),
        None if ballot is None or not removed else (removed, ballot.agree, ballot.need),
        {str(reason): count for reason, count in engine.refusals.items()},
    )
