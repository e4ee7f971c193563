"""Knowledge of the world that no participant has: who made what, what is on whose disk, who was told what."""

from __future__ import annotations

from sdschat.sds.bloom import compact, waku
from sdschat.sds.values import AckState, Message, OutgoingRow, Table
from sdschat.sim.convergence import Convergence
from sdschat.sim.node import Copied, SimNode
from sdschat.sim.rare_situations import RareSituations
from sdschat.sim.scenario import Scenario

_SLACK = 5_000  # a clock runs ahead of time by one millisecond for every packet sent in the same one


class Origin:
    """A message with content as its author made it."""

    __slots__ = ("author", "lamport", "message", "raw")

    def __init__(self, author: int, message: Message, raw: bytes) -> None:
        self.author = author
        self.message = message
        self.raw = raw
        self.lamport = message.lamport_timestamp or 0


class Masks:
    """Bits that a filter may have set (all that is held, or was when it was made), and bits that it must (all from its
    floor on)."""

    __slots__ = ("_ever", "_floor", "_known", "_may", "_must", "_waku", "shape")

    def __init__(self, capacity: int, error_rate: float) -> None:
        self.shape = compact.shape_for(capacity, error_rate)
        self._known: dict[str, int] = {}
        self._ever = 0  # all that is or was held
        self._may = 0
        self._must = 0
        self._floor = -1
        self._waku: bytearray | None = None

    def add(self, message_id: str, lamport: int) -> None:
        self._known[message_id] = lamport
        mask = compact.mask(message_id, self.shape.hashes, self.shape.bits)
        self._ever |= mask
        self._may |= mask
        if lamport >= self._floor:
            self._must |= mask
        if self._waku is not None:
            waku.add(self._waku, message_id)

    def drop(self, message_id: str) -> None:
        """Forget a message that was held and is no longer: no filter made from now on says that it is."""
        self._known.pop(message_id, None)
        self._floor = -1
        self._may = 0
        for held in self._known:
            self._may |= compact.mask(held, self.shape.hashes, self.shape.bits)

    def judge(self, packed: bytes, fresh: bool) -> str:
        """Return the error in a filter of our own, or an empty string; `fresh` if it was made just now."""
        if len(packed) == waku.BYTES:
            return self._judge_waku(packed)
        found = compact.decode(packed)
        if isinstance(found, str):
            return found
        shape = self.shape
        if not fresh and (found.hashes != shape.hashes or found.bits not in compact.sizes(shape)):
            return ""  # a message from before other settings, which goes out only now
        if found.value & ~compact.fold(self._may if fresh else self._ever, shape.bits, found.bits):
            return "claims what is not on the disk"
        if not fresh:
            return ""
        if found.floor != self._floor:
            self._floor = found.floor
            self._must = 0
            for message_id, lamport in self._known.items():
                if lamport >= found.floor:
                    self._must |= compact.mask(message_id, shape.hashes, shape.bits)
        if compact.fold(self._must, shape.bits, found.bits) & ~found.value:
            return "lacks what is held since its floor"
        return ""

    def _judge_waku(self, packed: bytes) -> str:
        if self._waku is None:
            self._waku = bytearray(waku.BYTES)
            for message_id in self._known:
                waku.add(self._waku, message_id)
        may = int.from_bytes(waku.as_follower(bytes(self._waku)), "big")
        return "claims what is not on the disk" if int.from_bytes(packed, "big") & ~may else ""


class NodeRecord:
    """One node from outside: what its disk holds, and what its user was told."""

    __slots__ = (
        "answers_due",
        "buffered",
        "future_dated",
        "gaps_shown",
        "horizon",
        "index",
        "last_own",
        "log",
        "lowered_to",
        "made_now",
        "masks",
        "missing_since",
        "name",
        "newest",
        "node",
        "once_in_log",
        "outgoing",
        "participant",
        "put_off",
        "rare",
        "requests_due",
        "shown",
        "shown_states",
        "small",
        "syncs",
        "torn",
        "wrong_clock",
    )

    def __init__(self, node: SimNode, scenario: Scenario, rare: RareSituations) -> None:
        self.node = node
        self.small = bool(scenario.limits)
        self.rare = rare
        self.index = node.index
        self.name = node.plan.name
        self.participant = node.plan.participant
        self.torn = self.participant in scenario.torn  # an older backup, or one of two places with this key
        self.masks = Masks(node.config.bloom_capacity, node.config.bloom_error_rate)
        self.horizon = -1
        self.lowered_to = -1  # where the join horizon may go, since all from there on was given
        self.log: dict[str, int] = {}
        self.once_in_log: set[str] = set()  # what an older backup took out of it
        self.buffered: dict[str, int] = {}
        self.future_dated: dict[str, None] = {}
        self.outgoing: dict[str, OutgoingRow] = {}
        self.shown: dict[str, None] = {}
        self.gaps_shown: dict[str, None] = {}
        self.shown_states: dict[str, AckState] = {}
        self.newest = (0, "")
        self.last_own = 0  # the largest Lamport timestamp that it ever stood by
        self.made_now = ""  # the message that this step made
        self.missing_since: dict[str, int] = {}
        self.requests_due: dict[str, tuple[int, int]] = {}
        self.answers_due: dict[str, int] = {}
        self.put_off: dict[str, str] = {}  # the times that this step put off, unless its events tell why
        self.syncs = 0  # sync messages that it sent
        # A copy of a profile goes on from the time that the clock of the other one made it reach.
        own = (plan for plan in scenario.plans if plan.name in (node.plan.name, node.plan.key_of))
        self.wrong_clock = any(plan.skew > node.config.max_skew for plan in own)

    def settle(self) -> None:
        """End the step: only now may a filter claim the message that it made."""
        if self.made_now:
            self.masks.add(self.made_now, self.log[self.made_now])
            self.made_now = ""

    def booted(self) -> None:
        """Note that the process is new. Its user sees the log of the disk, whatever was told before; what was scheduled
        comes back by the wall clock, which may have jumped."""
        self.settle()
        shape = compact.shape_for(self.node.config.bloom_capacity, self.node.config.bloom_error_rate)
        if shape != self.masks.shape:
            self._measure_anew()
        self.shown = dict.fromkeys(self.log)
        self.newest = max(((lamport, message_id) for message_id, lamport in self.log.items()), default=(0, ""))
        if self.gaps_shown:
            self._forget_gaps()
        self.missing_since.clear()
        self.requests_due.clear()
        self.answers_due.clear()
        self.put_off.clear()

    def _forget_gaps(self) -> None:
        """Keep the gaps that the disk still tells of: with a packet that is gone goes what its message depends on."""
        disk = self.node.store
        named = {parent for entry in disk.history.newest(len(self.log)) for parent in entry.dependencies}
        gaps = disk.tables[Table.GAP]
        self.gaps_shown = {key: None for key in self.gaps_shown if key in named or key in gaps}

    def _measure_anew(self) -> None:
        """Make the masks anew from what is here: filters have another shape from now on."""
        self.masks = Masks(self.node.config.bloom_capacity, self.node.config.bloom_error_rate)
        for message_id, lamport in (*self.log.items(), *self.buffered.items()):
            self.masks.add(message_id, lamport)

    def copied(self) -> Copied:
        """Return the contents that a copy of the disk holds now."""
        self.settle()
        return Copied(
            self.horizon,
            dict(self.log),
            dict(self.buffered),
            dict(self.future_dated),
            dict(self.outgoing),
            self.last_own,
        )

    def put_back(self, copied: Copied) -> None:
        """Note that the disk is the copy from now on."""
        self.settle()
        self.once_in_log |= self.log.keys() - copied.log.keys()
        self.log.clear()  # others know this one dictionary
        self.log.update(copied.log)
        self.horizon, self.buffered, self.future_dated = (
            copied.horizon,
            dict(copied.buffered),
            dict(copied.future_dated),
        )
        self.outgoing, self.last_own = dict(copied.outgoing), copied.last_own
        self.shown_states = {row.message_id: row.state for row in copied.outgoing.values()}
        self.gaps_shown.clear()
        self._measure_anew()


class Oracle:
    """Everything that the checks share."""

    __slots__ = (
        "clock_bound",
        "convergence",
        "delivered",
        "ephemerals",
        "evidence",
        "false_positives",
        "index",
        "origins",
        "participants",
        "rare",
        "records",
        "refusals",
        "scenario",
        "time",
    )

    def __init__(self, scenario: Scenario, nodes: list[SimNode]) -> None:
        self.scenario = scenario
        self.origins: dict[str, Origin] = {}
        self.ephemerals: dict[str, int] = {}
        self.rare = RareSituations()
        self.records = [NodeRecord(node, scenario, self.rare) for node in nodes]
        self.index = {node.plan.name: node.index for node in nodes}
        self.participants: dict[str, list[NodeRecord]] = {}  # those with this id: one, or two places with one key
        for record in self.records:
            self.participants.setdefault(record.participant, []).append(record)
        self.convergence = Convergence([record.log for record in self.records])
        # I9: as far as honest clocks differ; somebody who lies about his may drag the others along to `max_skew`.
        poisoned = scenario.hostile or scenario.wrong_clock
        self.clock_bound = _SLACK + scenario.skew + (scenario.config.max_skew if poisoned else 0)
        self.time = 0
        self.delivered = 0
        self.refusals = 0
        self.evidence = 0
        self.false_positives = 0

    def wrote(self, record: NodeRecord, origin: Origin) -> bool:
        """True if the message bears the participant id of this node, whichever place with that key made it."""
        return origin.author >= 0 and self.records[origin.author].participant == record.participant

    def refuses(self, node: int, message_id: str) -> bool:
        """True for a message under this node's own id that another place, or an older time, made: it looks forged."""
        record = self.records[node]
        return record.torn and self.wrote(record, self.origins[message_id])
