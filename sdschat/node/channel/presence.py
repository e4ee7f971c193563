"""The participants online in a channel: presences that are signed and fresh, and those of programs that sign nothing.

A presence is repeated while its participant is connected, and counts for two minutes. So an old one that somebody sends
again brings nobody back; and only what a participant signed ends its presence before that.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Callable, Set
from typing import Final, NamedTuple

from sdschat.identity.content import Keys
from sdschat.identity.lookalikes import skeleton
from sdschat.identity.presence import CHANCE_BYTES, PresenceKind, SignedPresence, decode_presence, seal_presence
from sdschat.identity.signing import Identity
from sdschat.node.events import ClockDiffers, PresenceChanged
from sdschat.sds.values import Now
from sdschat.store.journal import HERE, LEFT, JournalRow

DOUBT: Final = 5000  # after connecting anew, who has not shown up within so many milliseconds is taken to be gone
EVERY: Final = 45_000  # milliseconds between two presences of ours
FRESH: Final = 120_000  # a presence counts while its date is at most this old
SKEW: Final = 600_000  # by which a clock may be wrong; then two presences must show that it runs
STRANGERS: Final = 256  # presences of keys that never said anything; keys cost nothing to make
READERS: Final = 1024  # the same, of keys that sign sync messages
STORE: Final = "store"  # answers queries for what it has archived
ROLES: Final = frozenset({STORE})
_AGAIN: Final = 1_000  # milliseconds between two of our presences where somebody overwrites ours
_SWEEP: Final = 5_000
_PUT_RIGHT: Final = 10_000  # by which our clock jumps
_IN_STEP: Final = 5_000  # by which a clock that runs may differ from ours between two presences
_APART: Final = 10_000  # two presences of a clock that is wrong, at least
_DIFFERING: Final = 8  # participants of whom it is told that their clock differs: keys cost nothing to make
_LEFT_KEPT: Final = 4096
ROWS: Final = 256  # of the journal, in a minute; as many keys that never said anything are shown at most
ROWS_MINUTE: Final = 60_000
_UNSIGNED: Final = (0, 0, 0)  # the order of a presence that is not signed

PresenceNews = PresenceChanged | ClockDiffers


class _Seen(NamedTuple):
    """The last presence of a participant that was accepted. Times are on the monotonic clock."""

    order: tuple[int, int, int]  # of `SignedPresence`
    until: int  # when it ends unless it is repeated


class PresenceRows:
    """Rows of the journal for those who come and go in one channel, which wait to be saved with the next turn.

    Anybody can come and go any number of times, so that a minute has a limited number of them.
    """

    def __init__(self, channel: str) -> None:
        self._channel = channel
        self._here: set[str] = set()
        self._rows: list[JournalRow] = []
        self._since = -ROWS_MINUTE  # on the monotonic clock
        self._count = 0  # rows since then

    def came(self, sender_id: str, now: Now) -> None:
        """Note that we are here ourselves: whoever was here in an earlier run is not known to be here."""
        self._rows.append(self._row(HERE, sender_id, now))

    def went(self, sender_id: str, now: Now) -> None:
        """Note that we leave: from now on nobody is known to be here."""
        self._rows.append(self._row(LEFT, sender_id, now))

    def changed(self, changed: PresenceChanged, now: Now) -> None:
        """Note that somebody came or went. Another nick of somebody who is here has no row."""
        if changed.online == (changed.sender_id in self._here):
            return
        if now.mono - self._since >= ROWS_MINUTE:
            self._since, self._count = now.mono, 0
        if self._count >= ROWS:
            return
        self._count += 1
        (self._here.add if changed.online else self._here.discard)(changed.sender_id)
        self._rows.append(self._row(HERE if changed.online else LEFT, changed.sender_id, now))

    def take(self) -> list[JournalRow]:
        rows, self._rows = self._rows, []
        return rows

    def _row(self, event: str, sender_id: str, now: Now) -> JournalRow:
        return JournalRow(event, self._channel, now.wall, now.mono * 1000, sender=sender_id)


class ChannelPresence:
    """The participants of one channel that are online, by sender id."""

    def __init__(
        self, channel: str, identity: Identity, keys: Keys, signs_sync: Callable[[str], bool] = lambda _: False
    ) -> None:
        self.signs_sync = signs_sync
        self.online: dict[str, str] = {}
        self.came: dict[str, int] = {}  # since when they are online, as far as we know: epoch milliseconds
        self.left: dict[str, str] = {}  # nicks of the last that left, so that they keep their names
        self.roles: dict[str, str] = {}  # of those online that proved to have one
        self.keys: dict[str, bytes] = {}  # of those online whose presence is signed
        self.keys_left: dict[str, bytes] = {}  # of the last that left, so that one can write to them alone
        self.role = ""  # our own
        self._channel = channel
        self._identity = identity
        self._keys = keys
        self._seen: dict[str, _Seen] = {}
        self._called: dict[str, set[str]] | None = (
            None  # ids by how their nicks look; None: somebody came or went since
        )
        self._strangers: set[str] = set()
        self._silent: set[str] = set()  # who sign nothing, and whose presence ended because they said nothing
        self._readers: set[str] = set()  # who sign sync messages, and said nothing
        self._left: dict[str, tuple[tuple[int, int, int], int]] = {}  # order, and until when to remember it
        self._wrong: dict[str, tuple[int, int]] = {}  # date and time of arrival, of those whose clock is wrong
        self._differing: set[str] = set()  # it was told that their clock differs
        self._doubted: set[str] = set()
        self._doubt_until: int | None = None
        self._connection = 0
        self._said: list[bytes] = []  # our last two: the older one may come back after the newer one was sent
        self._said_at = -EVERY
        self._say_at: int | None = None
        self._sweep_at = self._ahead = 0

    # Our own presence.

    def begin(self, wall: int) -> None:
        """Number the next connection."""
        self._connection = max(wall, self._connection + 1)

    def payloads(self, nick: str, now: Now) -> tuple[bytes, bytes]:
        """Return our own presence of now, and what is to be published when this connection ends."""
        here = self._sealed(PresenceKind.HERE, nick, now.wall)
        self._said = [*self._said[-1:], here]
        self._said_at, self._say_at = now.mono, now.mono + EVERY
        self._ahead = now.wall - now.mono
        return here, self._sealed(PresenceKind.LEFT, nick, now.wall)

    def _sealed(self, kind: PresenceKind, nick: str, wall: int) -> bytes:
        return seal_presence(
            self._identity,
            self._channel,
            kind,
            nick=nick,
            role=self.role if kind is PresenceKind.HERE else "",
            sent_time=wall,
            connection=self._connection,
            chance=secrets.token_bytes(CHANCE_BYTES),
        )

    def must_say(self, now: Now) -> bool:
        """True if our presence is to be said again: it is time, or our clock was put right since the last one."""
        return self._say_at is not None and (
            self._say_at <= now.mono or abs(now.wall - now.mono - self._ahead) > _PUT_RIGHT
        )

    # Presences of others.

    def heard(self, participant: str, payload: bytes, now: Now, retained: bool = False) -> PresenceNews | None:
        if participant == self._identity.sender_id:
            self._ours(payload)
            return None
        presence = decode_presence(payload)
        if presence is None:
            if payload:
                return self._unsigned(participant, now)
            self._silent.discard(participant)
            return None if self._signs(participant) else self._gone(participant)
        known = self._seen.get(participant)
        if known is not None and presence.order <= known.order:
            if presence.order == known.order:
                self._doubted.discard(participant)
            return None
        gone = self._left.get(participant)
        if gone is not None and presence.connection <= gone[0][0]:
            return None
        if presence.kind == PresenceKind.LEFT:
            return self._leave(participant, presence, now)
        until = self._counts_until(participant, presence, now, retained)
        if until is None and not retained:
            return self._differs(participant, presence, now)
        if until is None or not self._has_room(participant):
            return None
        if not presence.proven(self._channel, participant, self._keys):
            return None
        self.keys[participant] = presence.author_key
        self._note_role(participant, presence.role)
        return self._here(participant, presence.nick, _Seen(presence.order, until), now)

    def _ours(self, payload: bytes) -> None:
        """Say our presence again if somebody overwrote it for those who come later."""
        if self._say_at is not None and payload not in self._said:
            self._say_at = min(self._say_at, self._said_at + _AGAIN)

    def _signs(self, participant: str) -> bool:
        return participant in self.keys or self._keys.signs(participant)

    def _unsigned(self, participant: str, now: Now) -> PresenceChanged | None:
        """Take the presence of a program that signs nothing. It says nothing of a participant who signs. Anybody can
        leave one of nobody with the broker, so it counts while its participant speaks, and for two minutes."""
        if self._signs(participant) or not self._has_room(participant):
            return None
        return self._here(participant, "", _Seen(_UNSIGNED, now.mono + FRESH), now)

    def _leave(self, participant: str, presence: SignedPresence, now: Now) -> PresenceChanged | None:
        """End a connection. Only what its participant signed counts, and only for that connection."""
        if not presence.proven(self._channel, participant, self._keys):
            return None
        if participant in self.online or self._keys.signs(participant):
            # What this connection said before is too old to count by then.
            self._left[participant] = (presence.order, now.mono + FRESH + SKEW)
            if len(self._left) > _LEFT_KEPT:
                del self._left[next(iter(self._left))]
        return self._gone(participant)

    def _counts_until(self, participant: str, presence: SignedPresence, now: Now, retained: bool) -> int | None:
        """Return when this presence ends, on the monotonic clock; None if it is too old to count."""
        age = now.wall - presence.sent_time
        if abs(age) <= FRESH:
            return now.mono + FRESH - max(0, age)
        if retained or abs(age) > SKEW:
            return None
        return now.mono + FRESH if self._runs(participant, presence, now) else None

    def _runs(self, participant: str, presence: SignedPresence, now: Now) -> bool:
        """True if a clock that is wrong runs: since an earlier presence, as much time has passed by it as by ours. Both
        are signed: what anybody may have made up says nothing of a clock."""
        if not presence.proven(self._channel, participant, self._keys):
            return False
        before = self._wrong.get(participant)
        if before is None or now.mono - before[1] >= _APART:
            self._wrong[participant] = (presence.sent_time, now.mono)
            if len(self._wrong) > STRANGERS:
                del self._wrong[next(iter(self._wrong))]
        if before is None or now.mono - before[1] < _APART:
            return False
        return abs((presence.sent_time - before[0]) - (now.mono - before[1])) <= _IN_STEP

    def _differs(self, participant: str, presence: SignedPresence, now: Now) -> ClockDiffers | None:
        """Tell once of a clock that is too wrong. Anybody can send an old presence again, but none of the future: so of
        a clock that is behind, two presences must show that it runs."""
        ahead = presence.sent_time - now.wall
        if abs(ahead) <= SKEW or participant in self._differing or len(self._differing) >= _DIFFERING:
            return None
        if ahead < 0 and not self._runs(participant, presence, now):
            return None
        if ahead > 0 and not presence.proven(self._channel, participant, self._keys):
            return None
        self._differing.add(participant)
        return ClockDiffers(participant, presence.nick, ahead)

    def _has_room(self, participant: str) -> bool:
        """True if this participant may be shown: it is online already, its key said something, or there is room."""
        if participant in self.online or self._keys.signs(participant):
            return True
        share, most = self._share_of(participant)
        if len(share) >= most:
            share -= {one for one in share if self._keys.signs(one)}
        return len(share) < most

    def _share_of(self, participant: str) -> tuple[set[str], int]:
        """Return those with whom a key that said nothing shares its room, and how many they may be. Whoever signs sync
        messages, as Stores and readers do, has more: invented presences came first, and newcomers and Stores were not
        seen, asked and answered."""
        return (self._readers, READERS) if self.signs_sync(participant) else (self._strangers, STRANGERS)

    def _count_in_share(self, participant: str) -> None:
        """Count a key that said nothing. A stranger that signs sync messages now changes to those only if they have
        room: it would make room for ever new ones."""
        share, most = self._share_of(participant)
        if participant not in self._strangers or len(share) < most:
            self._strangers.discard(participant)
            share.add(participant)

    def _here(self, participant: str, nick: str, seen: _Seen, now: Now) -> PresenceChanged | None:
        self._doubted.discard(participant)
        self._silent.discard(participant)
        self._left.pop(participant, None)
        self._seen[participant] = seen
        if not self._keys.signs(participant) and participant not in self._readers:
            self._count_in_share(participant)
        if self.online.get(participant) == nick:
            return None
        self.came.setdefault(participant, now.wall)
        self.online[participant] = nick
        self._called = None
        return PresenceChanged(participant, nick, True)

    # Time.

    def doubt(self, mono: int) -> None:
        """Doubt that those who are online still are: a new connection may be to a new broker, which knows nothing of
        the last wills of the old one."""
        self._doubted = set(self.online)
        self._doubt_until = mono + DOUBT

    def next_wake(self) -> int | None:
        due = (self._doubt_until, self._say_at, self._sweep_at if self.online or self._silent else None)
        return min((when for when in due if when is not None), default=None)

    def advance(
        self,
        now: Now,
        heard: Callable[[str], bool] = lambda _: False,
        speaks: Callable[[str], bool] = lambda _: False,
    ) -> list[PresenceChanged]:
        """End the presences whose time is over. `heard`: true for who was heard by this connection; `speaks`: for who
        said something in the last two minutes."""
        mono = now.mono
        over, back = set[str](), list[str]()
        if self._doubt_until is not None and self._doubt_until <= mono:
            over = {one for one in self._doubted if not heard(one)}
            self._doubted, self._doubt_until = set(), None
        if self._sweep_at <= mono:
            self._sweep_at = mono + _SWEEP
            ended = {one for one, seen in self._seen.items() if seen.until <= mono}
            unsigned = {one for one in ended if self._seen[one].order == _UNSIGNED}
            silent = {one for one in unsigned if not speaks(one)}
            over |= ended - unsigned | silent
            back = [one for one in sorted(self._silent) if speaks(one)]
            self._silent.update(sorted(silent)[: STRANGERS - len(self._silent)])
            self._left = {one: left for one, left in self._left.items() if left[1] > mono}
        changed = [self._gone(participant) for participant in sorted(over)]
        changed += [self._unsigned(participant, now) for participant in back]
        return [found for found in changed if found is not None]

    def _note_role(self, participant: str, role: str) -> None:
        if role in ROLES:
            self.roles[participant] = role
        else:
            self.roles.pop(participant, None)

    def _gone(self, participant: str) -> PresenceChanged | None:
        self._doubted.discard(participant)
        self._strangers.discard(participant)
        self._readers.discard(participant)
        self._seen.pop(participant, None)
        self.came.pop(participant, None)
        self.roles.pop(participant, None)
        key = self.keys.pop(participant, None)
        nick = self.online.pop(participant, None)
        if nick is None:
            return None
        self._called = None
        self.left.pop(participant, None)
        self.left[participant] = nick
        if key is not None:
            self.keys_left[participant] = key
        if len(self.left) > STRANGERS:
            oldest = next(iter(self.left))
            del self.left[oldest]
            self.keys_left.pop(oldest, None)
        return PresenceChanged(participant, nick, False)

    def replay(self, participant: str, nick: str, online: bool) -> None:
        """Take a change that was judged when it was recorded."""
        if online:
            self.online[participant] = nick
        elif participant in self.online:
            self.left[participant] = self.online.pop(participant)
        self._called = None

    def called(self, nick: str) -> Set[str]:
        """Return the ids of those who are online, or left lately, by this nick or by one that looks like it."""
        if self._called is None:
            self._called = defaultdict(set)
            for participant, other in (*self.online.items(), *self.left.items()):
                self._called[skeleton(other)].add(participant)
        return self._called.get(skeleton(nick), frozenset())

    def nick_of(self, participant: str) -> str:
        """Return the nick that the last presence proved; empty for somebody who was not here."""
        return self.online.get(participant) or self.left.get(participant, "")
