"""SDS-R arithmetic and its two buffers (spec: SDS Repair); and messages to be asked for again, as the disk altered
them.

The spec leaves `hash` open. Ours is the first 8 bytes, big-endian, of SHA-256 over the UTF-8 strings one after the
other: the only choice that other implementations share. Products are unbounded integers, times are milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

from sdschat.sds.config import Config
from sdschat.sds.limits import (
    ANSWERS_PER_CHANNEL,
    ANSWERS_PER_SENDER,
    MISSING_PER_CHANNEL,
    MISSING_PER_SENDER,
    WANTED_BY,
)
from sdschat.sds.scheduled_sends import ScheduledSend, ScheduledSends, may_take
from sdschat.sds.timers import Deadlines
from sdschat.sds.values import AnswerRow, HistoryEntry, MissingRow, Now

ASKED_IN_STEP = 3  # requests that follow one another T_max apart; after every further one it is twice as long
LONGEST_BACK_OFF = 16  # times T_max
UNPROVEN_BIT = 2  # in the field `awaited` of a row


def back_off(attempts: int, in_step: int = ASKED_IN_STEP) -> int:
    """Return how many T_max lie between the last of so many requests and the next entry."""
    return min(1 << max(0, attempts - in_step), LONGEST_BACK_OFF)


def sds_hash(*strings: str) -> int:
    return int.from_bytes(sha256("".join(strings).encode("utf-8", "surrogatepass")).digest()[:8], "big")


def determine_t_req(current_time: int, participant_id: str, message_id: str, t_min: int, t_max: int) -> int:
    """Determine T_req."""
    return current_time + sds_hash(participant_id, message_id) % (t_max - t_min) + t_min


def determine_t_resp(current_time: int, participant_id: str, sender_id: str, message_id: str, t_max: int) -> int:
    """Determine T_resp: 0 from now for the original sender, spread over `t_max` for everyone else."""
    distance = sds_hash(participant_id) ^ sds_hash(sender_id)
    return current_time + distance * sds_hash(message_id) % t_max


def in_response_group(participant_id: str, sender_id: str, message_id: str, groups: int) -> bool:
    """Determine response group."""
    if groups == 1:
        return True
    return sds_hash(participant_id, message_id) % groups == sds_hash(sender_id, message_id) % groups


@dataclass(slots=True, eq=False)
class MissingDependency:
    """A dependency that is nowhere here. Its T_req never moves; asking again takes a new entry. Times are milliseconds
    on the monotonic clock."""

    message_id: str
    # Its author, as the first message that named it says. None: that message did not say.
    sender_id: str | None
    # Advice for fetching it from a Store.
    hint: bytes | None
    # The sender whose message named it: it counts against the quota of this sender.
    charged_to: str
    # It was found missing then.
    since: int
    # It is given up then. Time without a connection puts it off.
    lost_at: int = field(default=0, init=False)
    # T_req. None: it is not asked for.
    t_req: int | None = field(default=None, init=False)
    # The entry that is in force is waited for since then. Not kept over a restart.
    counts_from: int = field(default=0, init=False)
    # Requests of ours that went out.
    attempts: int = field(default=0, init=False)
    # True if another participant asked for it since our last request.
    suppressed: bool = field(default=False, init=False)
    # False: it is asked for, but no message waits for it.
    awaited: bool = field(default=True, init=False)
    # False: only packets that nobody signed named it, so it may never have been.
    proven: bool = field(default=True, init=False)


@dataclass(slots=True, eq=False)
class OutgoingRepairBuffer:
    """The outgoing repair request buffer, and the times at which its entries are given up."""

    # By message id. None of these ids is in the log.
    missing: dict[str, MissingDependency] = field(default_factory=dict, init=False)
    # T_req of the entries that are asked for.
    requests: Deadlines = field(default_factory=Deadlines, init=False)
    # `lost_at` of every entry.
    lost: Deadlines = field(default_factory=Deadlines, init=False)
    # Ids whose row on disk is out of date.
    changed: dict[str, None] = field(default_factory=dict, init=False)
    # Number of entries by `charged_to`; no number is 0.
    _charged: dict[str, int] = field(default_factory=dict, init=False)

    def has_room(self, charged_to: str) -> bool:
        return may_take(self._charged.get(charged_to, 0), len(self.missing), MISSING_PER_SENDER, MISSING_PER_CHANNEL)

    def put(self, entry: MissingDependency) -> None:
        message_id = entry.message_id
        if message_id not in self.missing:
            self._charged[entry.charged_to] = self._charged.get(entry.charged_to, 0) + 1
        self.missing[message_id] = entry
        self.lost.set(message_id, entry.lost_at)
        self.changed[message_id] = None

    def arm(self, entry: MissingDependency, t_req: int, counts_from: int) -> None:
        entry.t_req, entry.counts_from = t_req, counts_from
        self.requests.set(entry.message_id, t_req)
        self.changed[entry.message_id] = None

    def awaits_none(self, entry: MissingDependency) -> None:
        """Note that no buffered message waits for this one any more; it is still asked for."""
        entry.awaited = False
        self.changed[entry.message_id] = None

    def is_proven(self, entry: MissingDependency) -> None:
        """Note that a signed packet names a missing dependency, too."""
        entry.proven = True
        self.changed[entry.message_id] = None

    def only_asked_for(self, message_id: str) -> bool:
        entry = self.missing.get(message_id)
        return entry is not None and not entry.awaited

    def pop(self, message_id: str) -> MissingDependency | None:
        entry = self.missing.pop(message_id, None)
        if entry is None:
            return None
        self.requests.discard(message_id)
        self.lost.discard(message_id)
        self.changed[message_id] = None
        left = self._charged[entry.charged_to] - 1
        if left:
            self._charged[entry.charged_to] = left
        else:
            del self._charged[entry.charged_to]
        return entry

    def grant(self, time: int, latest: int) -> None:
        """Put off giving up by so much time for all missing messages, but not beyond `latest`: one that was found
        missing since has less to make up for."""
        for entry in self.missing.values():
            entry.lost_at = min(entry.lost_at + time, latest)
            self.lost.set(entry.message_id, entry.lost_at)
            self.changed[entry.message_id] = None

    def row(self, entry: MissingDependency, now: Now) -> MissingRow:
        t_req = 0 if entry.t_req is None else now.to_wall(entry.t_req)
        return MissingRow(
            entry.message_id,
            entry.sender_id,
            entry.hint,
            entry.charged_to,
            now.to_wall(entry.since),
            now.to_wall(entry.lost_at),
            t_req,
            entry.attempts,
            int(entry.suppressed),
            int(entry.awaited) | (0 if entry.proven else UNPROVEN_BIT),
        )

    def restore(self, row: MissingRow, now: Now, config: Config) -> None:
        entry = MissingDependency(row.message_id, row.sender_id, row.hint, row.charged_to, now.past_mono(row.since))
        entry.lost_at = now.to_mono(row.lost_at, config.lost_after)
        entry.attempts = row.attempts
        entry.suppressed = bool(row.suppressed)
        entry.awaited = bool(row.awaited & 1)
        entry.proven = not row.awaited & UNPROVEN_BIT
        self.put(entry)
        if row.t_req:
            # No farther ahead than an entry made now would lie: the row may be from before the wall clock was set back.
            waits = back_off(row.attempts) if row.attempts or row.suppressed else 0
            entry.t_req, entry.counts_from = now.to_mono(row.t_req, (waits + 1) * config.t_max), now.mono
            if config.repair_enabled:
                self.requests.set(entry.message_id, entry.t_req)


class RepairRequest(ScheduledSend):
    """Somebody asked for a message that we have. `due` is None once answered, by us or by another, and where it is not
    for us to answer yet; `asked` counts the requests since then, and `at` is when either last happened.

    `lacked_by` has all who asked, where the filter of each lacked the message when it did; None where that is not known
    of all, or the answer was called off before.
    """

    __slots__ = ("asked", "at", "called_off", "lacked_by", "requested_by")

    def __init__(self, message_id: str, requested_by: str) -> None:
        super().__init__(message_id)
        # The participant whose request the answer is for; it counts against its quota.
        self.requested_by = requested_by
        # The last request or answer, in monotonic milliseconds. -1: neither yet.
        self.at = -1
        # Number of requests since the last answer.
        self.asked = 0
        # True if the filters of all who asked had the message, and it was not answered since.
        self.called_off = False
        # Participants that asked, each with a filter that lacked the message. None: not known of all.
        self.lacked_by: dict[str, None] | None = None

    @property
    def open(self) -> bool:
        return self.due is not None or self.asked > 0


class IncomingRepairBuffer(ScheduledSends[RepairRequest]):
    """The incoming repair request buffer."""

    __slots__ = ()

    def has_room(self, requested_by: str, message_id: str) -> bool:
        """True if this participant may be owed one more answer. Messages already answered do not count against
        anyone."""
        return self.make_room(requested_by, message_id, ANSWERS_PER_SENDER, ANSWERS_PER_CHANNEL)

    def rank(self, message_id: str) -> tuple[int, int]:
        """Return the place among all that are due: whoever is owed least first, and of those, who asked first."""
        return self.share_of_owner(message_id), self.entries[message_id].at

    def settle(self, answer: RepairRequest, at: int) -> None:
        """Note that no answer is owed now, and when there was one, so that nobody can make us answer at will."""
        answer.at = at
        answer.called_off = False
        self._close(answer)

    def _close(self, answer: RepairRequest) -> None:
        answer.asked = 0
        answer.lacked_by = None
        self.remember(answer, answer.at)

    def note_asker(self, answer: RepairRequest, sender_id: str, lacked: bool) -> None:
        """Note one more participant who asked for this message. `lacked`: its filter showed that it lacks it."""
        self.changed[answer.message_id] = None
        if not lacked or answer.called_off or (answer.asked and answer.lacked_by is None):
            answer.lacked_by = None
            return
        answer.lacked_by = {**(answer.lacked_by or {}), sender_id: None}
        if len(answer.lacked_by) > WANTED_BY:
            answer.lacked_by = None

    def lacked_by(self, sender_id: str) -> list[RepairRequest]:
        """Return what this participant asked for with a filter that lacked it, in the order in which it is due."""
        owed = (answer for answer in self.entries.values() if answer.lacked_by and sender_id in answer.lacked_by)
        return sorted(owed, key=lambda answer: (answer.due is None, answer.due, answer.message_id))

    def has_it(self, answer: RepairRequest, sender_id: str) -> bool:
        """Note that one who asked has it by now. True where none is left who lacks it: the answer is called off."""
        assert answer.lacked_by is not None
        del answer.lacked_by[sender_id]
        self.changed[answer.message_id] = None
        if answer.lacked_by:
            return False
        answer.called_off = True
        self._close(answer)
        return True

    def row(self, answer: RepairRequest, now: Now) -> AnswerRow:
        due = 0 if answer.due is None else now.to_wall(answer.due)
        at, lacked_by = now.to_wall(answer.at), tuple(answer.lacked_by or ())
        called_off = int(answer.called_off)
        return AnswerRow(answer.message_id, answer.requested_by, due, at, answer.asked, lacked_by, called_off)

    def restore(self, row: AnswerRow, now: Now, within: int) -> None:
        answer = RepairRequest(row.message_id, row.requested_by)
        answer.at = now.past_mono(row.at)
        answer.asked = row.asked
        answer.lacked_by = dict.fromkeys(row.lacked_by) if row.lacked_by else None
        answer.called_off = bool(row.called_off)
        if row.due:
            self.schedule(answer, now.to_mono(row.due, within), row.requested_by)
        else:
            self.remember(answer, answer.at, row.requested_by if row.asked else None)


@dataclass(slots=True, eq=False)
class RefetchBuffer:
    """Not kept over a restart: what is altered is found again. Nothing waits for these, so all else goes first."""

    # By message id, with the author as the sender to name.
    _entries: dict[str, HistoryEntry] = field(default_factory=dict, init=False)
    # By message id, for every entry: monotonic milliseconds of the next request.
    _due: dict[str, int] = field(default_factory=dict, init=False)
    # Requests that went out, by message id; absent before the first one.
    _asked: dict[str, int] = field(default_factory=dict, init=False)
    # Requests after which an entry gives its place to another one, by message id, for those that may.
    _tries: dict[str, int] = field(default_factory=dict, init=False)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._entries

    def want(self, entry: HistoryEntry, due: int, tries: int = 0) -> None:
        """Want a message again. `tries`: after so many requests in vain it may be forgotten for another one; 0 for
        never."""
        if entry.message_id not in self._entries:
            self._entries[entry.message_id] = entry
            self._due[entry.message_id] = due
            if tries:
                self._tries[entry.message_id] = tries

    def has_room(self, most: int) -> bool:
        """True if fewer than `most` are here, or one of them was asked for in vain."""
        return len(self._entries) < most or self._in_vain() is not None

    def make_room(self, most: int) -> None:
        """Forget the first one that was asked for in vain, if not fewer than `most` are here."""
        if len(self._entries) >= most and (forgotten := self._in_vain()) is not None:
            self.remove(forgotten)

    def _in_vain(self) -> str | None:
        asked = self._asked
        return next((name for name, tries in self._tries.items() if asked.get(name, 0) >= tries), None)

    def due(self, now: int, most: int) -> tuple[HistoryEntry, ...]:
        found = [message_id for message_id, due in self._due.items() if due <= now]
        found.sort(key=lambda message_id: (self._due[message_id], message_id))
        return tuple(self._entries[message_id] for message_id in found[: max(0, most)])

    def asked(self, message_id: str, now: int, t_max: int) -> None:
        """Note a question, and ask again T_max later if nothing comes of it; after all tries, twice as late."""
        times = self._asked[message_id] = self._asked.get(message_id, 0) + 1
        in_step = self._tries.get(message_id, ASKED_IN_STEP)
        self._due[message_id] = now + back_off(times, in_step) * t_max

    def remove(self, message_id: str) -> None:
        for table in (self._entries, self._due, self._asked, self._tries):
            table.pop(message_id, None)
