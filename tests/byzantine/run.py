"""One seed: an attack, a time of peace, and what must hold for the honest ones."""

from __future__ import annotations

from typing import NamedTuple

from sdschat.sds.values import Message
from tests.byzantine.mallory import Mallory
from tests.byzantine.world import ByzantineWorld, Honest

ATTACK = 30_000  # milliseconds
PEACE = 240_000
CHAINS = 10_500  # until a gap in an author's chain is shown
SETTLING = 60_000  # until nothing that was invented is waited for any more
QUIET = 20_000


class Outcome(NamedTuple):
    problems: list[str]
    refused: int  # packets, by all honest participants
    ids_only: int  # messages kept as ids, by all honest participants
    settled: int  # milliseconds of peace until all logs were equal
    forks: int  # numbers of two messages, at all honest participants
    gaps: int  # numbers in a row that are shown as missing in the end, at all honest participants


def run(seed: int) -> Outcome:
    world = ByzantineWorld(seed)
    mallory = Mallory(world)
    problems: list[str] = []
    while world.time < ATTACK:
        if world.chance.random() < 0.1:
            world.speak(f"line at {world.time}")
        for _ in range(world.chance.randrange(3)):
            mallory.act()
        world.tick()
        problems += _unsafe(world)
        if world.time % 1000 == 0:
            problems += _chains(world)
    world.lossy = False
    while world.time < ATTACK + PEACE and (world.time % 2000 or not _alive(world)):
        world.tick()
        if world.time % 2000 == 0:
            problems += [*_unsafe(world), *_chains(world)]
    settled = world.time - ATTACK
    alive = _alive(world)
    _let_pass(world, CHAINS)
    problems += _chains(world)
    if not alive:
        problems.append(_difference(world))
    elif world.limited and len({_held(node) for node in world.nodes}) == 1:
        problems += _noise(world)
    refused = sum(node.refused for node in world.nodes)
    ids_only = sum(len(node.ids_only) for node in world.nodes)
    forks, gaps = (sum(getattr(node.oracle, name) for node in world.nodes) for name in ("forks", "gaps"))
    found = [f"seed {seed}: {problem}" for problem in dict.fromkeys(problems)]
    return Outcome(found, refused, ids_only, settled, forks, gaps)


def _held(node: Honest) -> frozenset[str]:
    return frozenset([*node.log(), *node.channel.state.incoming.buffered])


def _noise(world: ByzantineWorld) -> list[str]:
    """Comparisons of equal logs are quiet, whoever has a message in full and whoever has its id alone."""
    _let_pass(world, SETTLING)
    before = sum(node.differences for node in world.nodes)
    _let_pass(world, QUIET)
    found = sum(node.differences for node in world.nodes) - before
    return [f"{found} differences are seen between equal logs"] if found else []


def _let_pass(world: ByzantineWorld, time: int) -> None:
    end = world.time + time
    while world.time < end:
        world.tick()


def _chains(world: ByzantineWorld) -> list[str]:
    """Everybody is shown the forks and gaps of the authors' chains that are at their node, and no others."""
    return [problem for node in world.nodes for problem in node.oracle.problems(world.time)]


def _unsafe(world: ByzantineWorld) -> list[str]:
    """Safety: what an honest participant said is where it was said, or nowhere; and nobody honest is said to have what
    it has not."""
    found: list[str] = []
    liar = world.mallory.sender_id  # who may well say that it has what it has not
    held = {node.key.sender_id: node.channel.state.holds for node in world.nodes}
    for node in world.nodes:
        for event in node.claims:
            for witness in event.by:
                if witness != liar and not (witness in held and held[witness](event.message_id)):
                    found.append(f"{event.message_id[:8]} is acknowledged by one who lacks it, or by nobody")
        node.claims.clear()
        for message_id, place in node.log().items():
            message = world.said.get(message_id)
            if message is not None and place != _place(message, message_id in node.ids_only):
                found.append(f"{message_id[:8]} is at another place than its author's")
    return found


def _place(message: Message, id_only: bool) -> tuple[int, tuple[str, ...]]:
    names = () if id_only else tuple(entry.message_id for entry in message.causal_history)
    return message.lamport_timestamp or 0, names


def _logs(world: ByzantineWorld) -> list[dict[str, tuple[int, tuple[str, ...]]]]:
    """Return the logs without mallory's contradictions: the engine promises no agreement about these."""
    logs = [node.log() for node in world.nodes]
    every: dict[str, tuple[int, tuple[str, ...]]] = {}
    for log in logs:
        for message_id, place in log.items():
            every[message_id] = world.signed.get(message_id, max(every.get(message_id, place), place))

    known = world.signed | every

    def promised(lamport: int, dependencies: tuple[str, ...]) -> bool:
        return all(each not in known or known[each][0] < lamport for each in dependencies)

    return [{name: every[name] for name in log if promised(*every[name])} for log in logs]


def _alive(world: ByzantineWorld) -> bool:
    """Liveness: everybody has everything that an honest participant said, and all have the same log."""
    logs = _logs(world)
    return all(log == logs[0] for log in logs) and world.said.keys() <= logs[0].keys()


def _difference(world: ByzantineWorld) -> str:
    logs = _logs(world)
    lacking = sum(len(world.said.keys() - log.keys()) for log in logs)
    entries = [set(log.items()) for log in logs]
    different = {entry for each in entries for entry in each if not all(entry in other for other in entries)}
    return f"after {PEACE // 1000} s, {lacking} honest messages are lacking, {len(different)} entries differ"
