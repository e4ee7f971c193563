"""A group as arrays over its participants: the counterpart of `ChannelState` for all of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sdschat.experiment.figures import Record
from sdschat.experiment.setting import GroupSetting
from sdschat.experiment.vector_model.rules import NEVER, RULES
from sdschat.experiment.vector_model.timer_wheel import NOBODY, Indices, Wheel
from sdschat.sds.steps.timing import KNOWN_IN_SMALL, SMALL_GROUP, SPOKEN

Draws = npt.NDArray[np.float32]


class StepDraws:
    """One number from 0 to 1 per participant and step, drawn only for those that are asked for: a hash of the
    participant and of a number that is drawn for the step."""

    __slots__ = ("_step",)

    def __init__(self, random: np.random.Generator) -> None:
        self._step = random.integers(1 << 32, dtype=np.uint32)

    def of(self, who: Indices) -> Draws:
        drawn: Draws = (self.bits(who) >> np.uint32(8)).astype(np.float32)
        drawn *= np.float32(2**-24)
        return drawn

    def bits(self, who: Indices) -> npt.NDArray[np.uint32]:
        mixed = who.astype(np.uint32)
        mixed *= np.uint32(0x9E3779B1)
        mixed += self._step
        mixed ^= mixed >> np.uint32(16)  # an integer hash of full avalanche ("lowbias32")
        mixed *= np.uint32(0x21F0AAAD)
        mixed ^= mixed >> np.uint32(15)
        mixed *= np.uint32(0xD35A2D97)
        mixed ^= mixed >> np.uint32(15)
        return mixed


Array = npt.NDArray[np.int64]
Times = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
WHO_IS_WHO: Final = 2_048  # up to this size the model knows who heard whom, and who lacks which messages of whom
COARSE: Final = 3_000  # above this size the times of sync messages are rounded to half the latency
_WINDOWS: Final = 100  # in a sync interval
BUSY: Final = 300  # from this size on, every participant hears something in every half sync interval
Masks = npt.NDArray[np.uint16]


def times(shape: tuple[int, ...], value: int) -> Times:
    return np.full(shape, value, dtype=np.int32)


class Group:
    """The state of a simulated group. Two-dimensional arrays are messages by participants."""

    def __init__(self, setting: GroupSetting, seed: int) -> None:
        self.setting = setting
        self.rules = RULES[setting.rules]
        config = setting.config()
        self.config = replace(config, push_enabled=config.push_enabled and self.rules.pushes)
        self.random = np.random.Generator(np.random.SFC64(seed))
        self.record = Record(setting, seed)
        self.now = 0
        self.wheel = Wheel(max(1, setting.latency // 10))
        self.sync_step = self.wheel.step * (5 if setting.participants > COARSE else 1)
        self.t_max = self.rules.t_max or self.config.t_max
        self.groups = 1 if self.rules.one_group else setting.response_groups
        self._participants(setting)
        self._messages(setting)

    def _participants(self, setting: GroupSetting) -> None:
        count, draw = setting.participants, self.random
        self.count = count
        self.everyone: Indices = np.arange(count)
        # Together they are large enough for large pages of memory.
        self.boot, self.due, self.latest, self.spoke, self.wanted_low, self.answered_at = times((6, count), -NEVER)
        self.boot[:] = draw.integers(0, setting.warm_up + 1, count, dtype=np.int32)
        self.hash = draw.integers(0, 2**64, count, dtype=np.uint64)
        self.have: Masks = np.zeros(count, dtype=np.uint16)
        self.shown: Masks = np.zeros(count, dtype=np.uint16)
        self.waived: Masks = np.zeros(count, dtype=np.uint16)  # missing, but delivery does not wait for them
        self.missing: Masks = np.zeros(count, dtype=np.uint16)  # known to the participant as missing
        self.due[:] = self.boot + draw.integers(0, self.config.push_delay_max + 1, count, dtype=np.int32)
        self.latest[:] = self.due
        self.look_at = NEVER  # when the sync timers are looked at next
        self.window = 0  # `soon` has all participants whose sync is due before this time
        self.soon: list[Indices] = []
        self.try_skip_at = 0  # when `skip_quiet` tries next
        # The range whose filter is due to be sent: up to this message, from this join horizon on.
        self.wanted_high = np.full(count, -1, dtype=np.int8)
        self.free_at = times((count,), -NEVER)  # when each may answer with such a filter again
        self.busy = count >= BUSY
        small = count <= WHO_IS_WHO
        self.heard: Flags | None = np.zeros((count, count), dtype=np.bool_) if small else None
        self.wanted: Masks | None = np.zeros((count, count), dtype=np.uint16) if small else None
        self.behind: Masks = np.zeros((count, count) if small else 0, dtype=np.uint16)  # like `Peer` in the engine
        self.told: Masks = np.zeros_like(self.behind)
        self.behind_since = np.full(self.behind.shape, -1, dtype=np.int32)
        self.peers: Array = np.zeros(count, dtype=np.int64)
        # When each participant last heard each other, in a group that may be small (`confirm_soon`).
        confirms = self.rules.confirms and self.rules.syncs and count <= KNOWN_IN_SMALL
        self.heard_at: Times | None = times((count, count), -NEVER) if confirms else None
        self.spoken: Array = np.zeros(count if confirms else 0, dtype=np.int64)  # messages and sync messages of each

    def _messages(self, setting: GroupSetting) -> None:
        shape = (setting.messages, setting.participants)
        self.sent = 0  # number of messages sent so far
        self.sent_mask = 0
        self._lacking = [NOBODY]  # by number of messages
        self._arrived: set[int] = set()  # numbers of messages for which that has to be determined again
        self._unaware: tuple[int, Indices] = (0, NOBODY)
        causal = min(self.rules.causal or self.config.causal_history, setting.messages)
        self.logs = Logs(setting.messages, causal)
        self.authors: list[int] = []
        self.filters: list[int] = []  # the messages in the filter of each message
        self.author_heard = np.zeros(shape, dtype=np.bool_)  # True: live packets of its author were heard since
        self.message_hash = self.random.integers(0, 2**64, setting.messages, dtype=np.uint64)
        self.pair_hash = [StepDraws(self.random) for _ in range(setting.messages)]  # of a message and a participant
        self.newest_at = [-NEVER] * setting.messages  # when a participant last received it
        self.t_req = times(shape, NEVER)
        self.attempts = np.zeros(shape, dtype=np.int8)
        self.suppressed = np.zeros(shape, dtype=np.bool_)
        self.asked = np.zeros(shape, dtype=np.int16)
        self.push_due = times(shape, NEVER)
        self.push_next = [NEVER] * setting.messages  # when the planned pushes of a message are looked at next
        self.push_from = times(shape, NEVER)  # when each may plan a push
        self.pushes = np.zeros(shape, dtype=np.int8)
        self.not_before: Times = np.zeros(shape, dtype=np.int32)
        self.witnesses = [0] * setting.messages
        self.acked = [False] * setting.messages
        self.resend_due = [NEVER] * setting.messages
        self.sends = [0] * setting.messages

    # Most large groups need no repair request, and so no memory for responses.

    @cached_property
    def answer_due(self) -> Times:
        return times((self.setting.messages, self.count), NEVER)

    @cached_property
    def asked_at(self) -> Times:
        return times((self.setting.messages, self.count), -NEVER)

    # Queries.

    def bit(self, message: int) -> np.uint16:
        return np.uint16(1 << message)

    def has(self, message: int) -> Flags:
        found: Flags = self.have & self.bit(message) != 0
        return found

    def here(self, who: Any = slice(None)) -> Flags:
        there: Flags = self.boot[who] <= self.now
        return there

    def lacking(self, messages: int) -> Indices:
        if messages in self._arrived:
            self._arrived.remove(messages)
            who, all_of = self._lacking[messages], np.uint16((1 << messages) - 1)
            self._lacking[messages] = who[self.shown[who] & all_of != all_of]
        return self._lacking[messages]

    @property
    def unaware(self) -> Indices:
        """Return the participants that lack a message without knowing it. Only a new message can add to them."""
        sent, who = self._unaware
        if sent < self.sent:
            who = self.lacking(self.sent)
        found: Indices = who[(np.uint16(self.sent_mask) & ~self.have[who] & ~self.missing[who]) != 0]
        self._unaware = (self.sent, found)
        return found

    def arrived(self, message: int, who: Indices) -> None:
        self.have[who] |= self.bit(message)
        self.record.held[message][who] = self.since(message)
        self.newest_at[message] = self.now
        self._arrived.update(range(self.sent + 1))

    def sending(self, author: int) -> int:
        self.authors.append(author)
        self.sent_mask |= 1 << self.sent
        self.sent += 1
        self._lacking.append(self.everyone)
        return self.sent - 1

    def since(self, message: int) -> int:
        return self.now - self.setting.sent_at(message)

    def fresh(self, message: int, who: Indices) -> Flags:
        """Return True where the message came so recently that it may still be on its way to others."""
        if self.now - self.newest_at[message] >= self.config.push_grace:
            return np.zeros(len(who), dtype=np.bool_)
        recent: Flags = self.record.held[message][who] > self.since(message) - self.config.push_grace
        return recent

    # Timers of sync messages (as `sdschat.sds.steps.timing`).

    def jitter(self, count: int) -> Times:
        interval = self.config.sync_interval
        return self.random.integers(interval // 2, interval // 2 + interval, count, dtype=np.int32)

    def traffic_heard(self, who: Indices) -> None:
        if self.busy or not self.rules.syncs:
            return
        soon = who[self.due[who] - self.now < self.config.sync_interval // 2]
        self.due[soon] = np.minimum(self.now + self.jitter(len(soon)), np.maximum(self.latest[soon], self.now))
        self.watch(soon)

    def confirm_soon(self, who: Indices, before: Times) -> None:
        """Let those who received a message say soon what they have, where few others were heard lately. `before`: when
        the sync message of each participant was due before."""
        assert self.heard_at is not None
        interval = self.config.sync_interval
        others = np.count_nonzero(self.now - self.heard_at[who] <= 3 * interval, axis=1)
        who, others = who[others <= SMALL_GROUP], others[others <= SMALL_GROUP]
        if not len(who):
            return
        due = np.minimum(self.due[who], before[who])
        soon = self.now + interval // 32 + self.random.integers(0, np.maximum(1, others * interval // 64))
        soon = np.maximum(soon, self.spoke[who] + interval // 8)
        self.due[who] = np.where(self.now + interval // 32 < due, np.minimum(due, soon), due)
        by = self.now + interval // 3 + self.random.integers(0, max(1, interval // 4), len(who))
        bounded = (self.spoken[who] >= SPOKEN) & (self.now + interval // 3 < self.latest[who])
        self.latest[who] = np.where(bounded, np.minimum(self.latest[who], by), self.latest[who])
        self.watch(who)

    def traffic_sent(self, who: Indices) -> None:
        """Set both sync timers by one draw, as in the engine: an early chance to speak also means an early deadline."""
        soon = self.now + self.jitter(len(who))
        self.spoke[who] = self.now
        if self.heard_at is not None:
            self.spoken[who] += 1
        self.latest[who] = soon + self.config.sync_interval
        self.due[who] = self.latest[who] if self.busy else soon
        if self.rules.again:  # a participant that lacks a message sends its sync sooner, whatever it hears from others
            lacking = who[self.missing[who] != 0]
            interval = self.config.sync_interval
            delay = interval // 2 + self.random.integers(0, max(1, interval // 4), len(lacking), dtype=np.int32)
            self.due[lacking] = self.latest[lacking] = self.now + delay
        self.watch(who)

    def hurry(self, who: Indices) -> None:
        within = self.config.push_delay_max
        due = self.now + 1 + self.random.integers(0, within, len(who), dtype=np.int32)
        due = np.maximum(due, self.spoke[who] + self.config.sync_interval // 2)
        self.due[who] = np.minimum(self.due[who], due)
        self.latest[who] = np.minimum(self.latest[who], self.due[who])
        self.watch(who)

    def calm(self, who: Indices) -> None:
        jitter = self.jitter(len(who))
        self.latest[who] = np.maximum(self.now, self.spoke[who] + self.config.sync_interval + jitter)
        self.due[who] = self.latest[who] if self.busy else np.minimum(self.now + jitter, self.latest[who])
        self.watch(who)

    def watch(self, who: Indices) -> None:
        """Look at the sync timers when the first of these participants is due."""
        if len(who):
            due = self.due[who]
            self.soon.append(who[due < self.window])
            self._look_at(int(due.min()))

    def due_syncs(self) -> Indices:
        who = np.concatenate(self.soon)
        due = self.due[who]
        self.soon = [who[(due > self.now) & (due < self.window)]]
        return np.unique(who[due <= self.now])

    def watch_all(self) -> None:
        """Determine when the sync timers are looked at next. All of them are searched only once in a window."""
        self.look_at = NEVER
        first = min((int(self.due[who].min(initial=NEVER)) for who in self.soon), default=NEVER)
        if first >= self.window:
            first = int(self.due.min())
            self.window = first + self.config.sync_interval // _WINDOWS
            self.soon = [np.flatnonzero(self.due < self.window)]
        self._look_at(first)

    def _look_at(self, due: int) -> None:
        first = int(self.in_steps(due))
        if first < self.look_at and self.rules.syncs:
            self.look_at = first
            self.wheel.put(first, "sync", -1, NOBODY)

    def in_steps(self, due: Any) -> Any:
        """Return when syncs that are due at these times are sent: in the next step for them."""
        at = np.maximum(due, self.now + 1)
        return at + -at % self.sync_step


class Logs:
    """Tables over all sets of messages, as bit masks. Each new message gives its dependencies and renews the tables."""

    def __init__(self, messages: int, causal: int) -> None:
        self.causal = causal
        self.dependencies: list[int] = []
        self._all = np.arange(1 << messages, dtype=np.uint16)
        self.delivered: Masks = np.zeros_like(self._all)
        self.named: Masks = np.zeros_like(self._all)

    def add(self, dependencies: int) -> None:
        self.dependencies.append(dependencies)
        self.delivered = self._closure(self._all, np.zeros_like(self._all))
        self._name()

    def _closure(self, held: Masks, waived: Masks) -> Masks:
        """Return the delivered messages, in log order: held, and all dependencies delivered or waived."""
        done = np.zeros_like(held)
        for at, needs in enumerate(self.dependencies):
            met = ((held >> at) & 1 == 1) & ((done | waived) & needs == needs)
            done[met] |= np.uint16(1 << at)
        return done

    def delivered_of(self, held: Masks, waived: Masks) -> Masks:
        """Return the messages that participants with these messages deliver, without waiting for the waived ones."""
        found = self.delivered[held]
        some = waived != 0
        if some.any():
            found[some] = self._closure(held[some], waived[some])
        return found

    def _name(self) -> None:
        """Set the causal history of each set of delivered messages: its newest heads, then the newest of the rest."""
        covered = np.zeros_like(self._all)
        for at, needs in enumerate(self.dependencies):
            covered[(self._all >> at) & 1 == 1] |= np.uint16(needs)
        chosen = np.zeros_like(self._all)
        room = np.full(len(self._all), self.causal)
        for pool in (self._all & ~covered, self._all & covered):
            for at in reversed(range(len(self.dependencies))):
                take = ((pool >> at) & 1 == 1) & (room > 0)
                chosen[take] |= np.uint16(1 << at)
                room[take] -= 1
        self.named = chosen
