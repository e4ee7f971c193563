"""Engines on a real database, opened anew between steps, act as engines in memory that are never stopped."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest

from sdschat.sds.config import Config
from sdschat.sds.memory import MemoryStore
from sdschat.sds.values import Snapshot, Write
from sdschat.store.history import SqlHistory
from sdschat.store.store import ChannelStore, Store
from tests.sds.group import CODEC, Flight, Group, Node

LIVELY = Config(
    sync_interval=4000,
    resend_unacked=3000,
    resend_possibly_acked=5000,
    resend_max=8000,
    t_min=500,
    t_max=2000,
    lost_after=20_000,
    push_grace=300,
    push_delay_min=100,
    push_delay_max=900,
    id_rule="text",
    bloom_capacity=16,
)


class Reopening:
    """The channel of a profile with a file that is closed and opened again at every access to the engine's history."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._store: Store | None = None

    @property
    def channel(self) -> ChannelStore:
        if self._store is None:
            self._store = Store.open(self._path, CODEC)
        return self._store.channel("lobby")

    @property
    def history(self) -> SqlHistory:
        self.close()
        return self.channel.history

    def apply(self, writes: Iterable[Write]) -> None:
        self.channel.apply(writes)

    def snapshot(self) -> Snapshot | None:
        return self.channel.snapshot()

    def close(self) -> None:
        if self._store is not None:
            assert self._store.losses == []
            self._store.close()
            self._store = None


def _play(group: Group, seed: int, restarts: bool) -> list[tuple[str, str, bytes]]:
    """Run the same traffic with the same losses; return the packets sent, in order."""
    random = Random(seed)
    group.passes = lambda flight: random.random() > 0.3
    air: list[tuple[str, str, bytes]] = []
    names = sorted(group.nodes)
    for step in range(60):
        name = random.choice(names)
        if random.random() < 0.6:
            group.send(name, f"message {step} of {name}")
        group.tick(random.choice((50, 400, 2500)))
        if restarts:
            for node in group.nodes.values():
                node.open(group.now)
    group.passes = lambda flight: True
    group.tick(120_000)
    for name in names:
        air += [(name, packet.kind, packet.raw) for packet in group[name].sent]
    return air


def _group(names: str) -> Group:
    return Group(*names, config=LIVELY)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_reopened_engines_say_what_engines_in_memory_say(tmp_path: Path, seed: int) -> None:
    """Engines in memory are never stopped, those on disk after every step: the same packets, logs and rows."""
    memory = _group("abc")
    expected = _play(memory, seed, restarts=False)

    on_disk = _group("")
    disks: dict[str, Reopening] = {}
    for name in "abc":
        disks[name] = Reopening(tmp_path / name / "sdschat.db")
        _add(on_disk, name, disks[name])
    found = _play(on_disk, seed, restarts=True)

    assert found == expected
    for name in "abc":
        assert on_disk[name].log == memory[name].log
        assert len(memory[name].log) > 20
        assert disks[name].snapshot() == memory[name].store.snapshot()
        disks[name].close()


def _add(group: Group, name: str, disk: Reopening) -> Node:
    """`Group.add`, with a store on disk."""
    node = group.nodes[name] = Node(name, group.config, group.now, store=_as_store(disk))
    group.collect(name)
    return node


def _as_store(disk: Reopening) -> MemoryStore:
    """The channel on disk as the store of a node: it has the three methods that the nodes of a group use."""
    store: object = disk
    return store  # type: ignore[return-value]


def test_one_database_carries_several_channels_of_running_engines(tmp_path: Path) -> None:
    """Every channel gets its own state back, with any writes of others in the same transactions."""
    groups = [Group("a", "b", config=LIVELY) for _ in range(3)]
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        for step in range(30):
            for at, group in enumerate(groups):
                group.send("ab"[(step + at) % 2], f"{at} {step}")
                group.tick(300)
            store.commit([(f"room {at}", _unsaved(group["a"])) for at, group in enumerate(groups)])
    with Store.open(tmp_path / "p" / "sdschat.db", CODEC) as store:
        for at, group in enumerate(groups):
            channel, memory = store.channel(f"room {at}"), group["a"].store
            assert channel.snapshot() == memory.snapshot()
            assert channel.history.newest(1000) == memory.history.newest(1000)
            assert channel.history.recently_added(9) == memory.history.recently_added(9)
            for entry in memory.history.newest(1000):
                assert channel.history.row(entry.message_id) == memory.history.row(entry.message_id)


def _unsaved(node: Node) -> list[Write]:
    writes = list(node.writes)
    node.writes.clear()
    return writes


def test_flights_are_lost_alike() -> None:
    """The comparison above needs this: the same seed loses the same packets."""
    seen: list[list[Flight]] = []
    for _ in range(2):
        group = _group("ab")
        _play(group, 5, restarts=False)
        seen.append(list(group.flying))
        assert group["a"].log == group["b"].log
    assert seen[0] == seen[1]
