"""The world with Stores and direct messages in it, beside catching up."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from sdschat.sds.values import Now
from sdschat.sim.companion import Companion, Disk, Parcel
from sdschat.sim.history import HistoryWorld
from sdschat.sim.history_run import _act
from sdschat.sim.node import SimNode
from sdschat.sim.scenario import Action, Violation
from sdschat.sim.world import ACTION
from tests.sim_history.equipped import Equipped, FullDisk
from tests.sim_history.people import LIES, MISBEHAVIOUR, people_of

DIES = "dies and comes back in mid catch-up"
# In logs this short, no Store is left for the few that it lacks; and of an altered packet only the id tells.
UNNOTICED = ("denies by id", "omits every tenth", "altered")
# What the test wants to be met: every misbehaviour, each lie that can be noticed, and every setting.
SITUATIONS = (
    *MISBEHAVIOUR,
    DIES,
    *(f"left: {lie}" for lie in LIES if lie not in UNNOTICED),
    *(f"history.on_join {on_join}" for on_join in ("all", "24h", "none")),
)
_LETTERS = 12  # direct messages among the faults, at most
_KILLED_WITHIN = 4_000  # milliseconds of the catching up at the end
_SWITCHED_ON = 20_000  # after that
_PATIENCE = 1_200_000  # the longest back-off of direct messages is 17 minutes


class Letters:
    """Direct messages, and what became of them."""

    def __init__(self) -> None:
        self.sent: dict[bytes, tuple[int, int, bytes]] = {}
        self.told: set[bytes] = set()

    def came(self, message_id: bytes, body: bytes, at: int) -> None:
        """D1: what is told was written, by that one to this one, and is told once."""
        written = self.sent.get(message_id)
        if written is None or written[1:] != (at, body):
            raise Violation("D1", f"{at} got a direct message that nobody wrote to it")
        if message_id in self.told:
            raise Violation("D1", f"{at} was told twice of a direct message")
        self.told.add(message_id)


class StoreWorld(HistoryWorld):
    """See `HistoryWorld`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.people = people_of(self.scenario)
        self.at = {person.address: index for index, person in enumerate(self.people)}
        self.letters = Letters()
        self.from_stores = 0  # messages of pages
        self.noticed = 0  # how often a lie was
        self.reached: Counter[str] = Counter()  # rare situations, by name
        self._draw = Random(f"world {self.scenario.seed}")
        for number in range(self._draw.randint(0, _LETTERS)):
            at = self._draw.randint(0, self.scenario.heal_at)
            self._schedule(at, "letter", self._draw.randrange(len(self.nodes)), number)

    def _schedule(self, at: int, verb: str, node: int, number: int = 0) -> None:
        self.schedule(at, ACTION, -1, Action(at, verb, node, number))

    def disk(self) -> Disk:
        return FullDisk()

    def companion(self, node: SimNode, now: Now) -> Companion:
        return Equipped(self, node, now)

    def sender_at(self, address: str) -> str:
        return self.nodes[self.at[address]].plan.name

    def receivers(self, parcel: Parcel) -> list[int]:
        if parcel.what == "store/query":
            return [at for at, person in enumerate(self.people) if person.store and person.address != parcel.frm]
        if parcel.what == "store/answer" and self.people[self.at[parcel.frm]].lies == "silent":
            self.reached["silent"] += 1
            return []
        return [self.at[parcel.to]]

    def act(self, action: Action) -> None:
        if action.verb == "letter":
            self._write(action)
        elif action.verb == "killed":
            store = self.people[action.node].address
            if any(companion.catch_up.source == store for companion in self.companions.values()):
                self.reached[DIES] += 1
            self.nodes[action.node].kill()
        else:
            super().act(action)

    def _write(self, action: Action) -> None:
        node, companion = self.nodes[action.node], self.companions.get(action.node)
        if node.channel is None or not isinstance(companion, Equipped):
            return
        to = (action.node + 1 + action.number % (len(self.nodes) - 1)) % len(self.nodes)
        body = b"%d to you alone" % action.number
        message_id = companion.write(self.people[to].address, body, node.now(self.time))
        self.letters.sent[message_id] = (action.node, to, body)
        self.flush(node)

    def came_back(self) -> int:
        """Each Store is killed while others catch up, and everybody writes to somebody once more."""
        for node in self.nodes:
            at = self.time + self._draw.randint(0, _KILLED_WITHIN)
            if self.people[node.index].store and self._draw.random() < 0.6:
                self._schedule(at, "killed", node.index)
                self._schedule(at + _SWITCHED_ON, "restart", node.index)
            self._schedule(at, "letter", node.index, 1000 + node.index)
        return _KILLED_WITHIN + _SWITCHED_ON

    def owed_from(self, node: SimNode) -> int:
        assert isinstance(node.store, FullDisk)
        on_join = self.people[node.index].on_join
        self.reached[f"history.on_join {on_join}"] += 1
        return node.store.since or 0

    def check(self) -> None:
        """D2: whatever was saved by who wrote it has come, and that is known to who wrote it."""
        until = self.time + _PATIENCE
        while (wrong := self._undelivered()) and self.time < until:
            self.run(self.time + 1000, _act)
        if wrong:
            raise Violation("D2", wrong)

    def _undelivered(self) -> str:
        for message_id, (frm, to, _) in self.letters.sent.items():
            one, other = self.nodes[frm].store, self.nodes[to].store
            assert isinstance(one, FullDisk)
            assert isinstance(other, FullDisk)
            if one.direct.holds(message_id) and not other.direct.holds(message_id):
                return f"a direct message from {frm} to {to} did not come"
            if any(row.message_id == message_id for row in one.direct.snapshot().records):
                return f"{frm} does not know that {to} has its direct message"
        return ""
