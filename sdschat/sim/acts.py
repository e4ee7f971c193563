"""What the actions of a scenario do."""

from __future__ import annotations

from collections.abc import Callable

from sdschat.sds.limits import MAX_LAMPORT
from sdschat.sds.values import HistoryEntry, Message
from sdschat.sim.ledger import Origin
from sdschat.sim.network import split
from sdschat.sim.node import CHANNEL, Node
from sdschat.sim.on_packets import check_made
from sdschat.sim.scenario import START, Action
from sdschat.sim.world import World


def act(world: World, action: Action) -> None:
    _ACTS[action.verb](world, action)


def _up(world: World, action: Action) -> Node | None:
    node = world.nodes[action.node]
    return None if node.channel is None or node.gone else node


def content_of(world: World, action: Action) -> bytes:
    """With ids by content, no two messages may be alike; with ids by text, many are, and that is to be borne."""
    if world.scenario.config.id_rule == "text" and action.number % 3 == 0:
        return b"ok"
    text = b"%d/%d hello" % (world.scenario.seed, action.number)
    return text + b"." * 2000 if action.point == "long" else text


def _send(world: World, action: Action) -> None:
    node = _up(world, action)
    if node is None or node.channel is None:
        return
    state = node.channel.state
    message = node.channel.send(node.now(world.time), content_of(world, action))
    world.made(node, message, state.unsaved[message.message_id].raw)
    check_made(world.ledger, world.ledger.seen[node.index], message.lamport_timestamp or 0)
    world.flush(node)


def _ephemeral(world: World, action: Action) -> None:
    node = _up(world, action)
    if node is None or node.channel is None:
        return
    message = node.channel.send_ephemeral(node.now(world.time), b"%d typing" % action.number)
    world.ledger.ephemerals[message.message_id] = node.index
    world.flush(node)


def _crash(world: World, action: Action) -> None:
    node = _up(world, action)
    if node is None:
        return
    if action.point == "idle":
        node.kill()
    else:
        node.armed = action.point


def _restart(world: World, action: Action) -> None:
    node = world.nodes[action.node]
    if node.gone:
        return
    if node.armed:
        node.kill()
    if node.channel is None:
        world.boot(node)


def _offline(world: World, action: Action) -> None:
    node = world.nodes[action.node]
    if not node.online:
        return
    node.online = False
    if node.channel is not None:
        node.channel.disconnected(node.now(world.time))
        world.flush(node)


def _online(world: World, action: Action) -> None:
    node = world.nodes[action.node]
    if node.online:
        return
    node.online = True
    if node.channel is not None:
        node.channel.connected(node.now(world.time))
        world.flush(node)


def _join(world: World, action: Action) -> None:
    node = world.nodes[action.node]
    if node.gone and not node.boots:
        node.gone = False
        world.boot(node)


def _leave(world: World, action: Action) -> None:
    node = world.nodes[action.node]
    node.gone = True
    node.kill()


def _jump(world: World, action: Action) -> None:
    world.nodes[action.node].skew = action.number


def _partition(world: World, action: Action) -> None:
    world.network.blocked |= split(action.groups, len(world.nodes))


def _oneway(world: World, action: Action) -> None:
    """What the first of the two says does not reach the second."""
    world.network.blocked |= {(one, other) for one in action.groups[0] for other in action.groups[1]}


def _mend(world: World, action: Action) -> None:
    world.network.blocked = frozenset()


def _hint(world: World, action: Action) -> None:
    """A Store confirmed the newest message that this node has."""
    node = _up(world, action)
    if node is None or node.channel is None:
        return
    newest = node.channel.state.newest(1)
    if newest:
        node.channel.learn_hint(newest[0].message_id, b"hint %d" % action.number)
        world.flush(node)


def _garbage(world: World, action: Action) -> None:
    """Bytes that are no packet, or a packet cut short, as from anybody who can write to the topic."""
    raw = b"\xff" * (action.number % 7) + world.sent[action.number % len(world.sent)][0] if world.sent else b"\x00"
    raw = raw[: len(raw) * (action.number % 11) // 11]
    world.broadcast(len(world.nodes), "garbage", (raw, world.codec.decode(raw)))


def _flood(world: World, action: Action) -> None:
    """A stranger writes what no honest participant would."""
    now = START + world.time
    for count in range(action.number):
        what = f"{world.scenario.seed} {action.at} {action.point} {count}"
        history: tuple[HistoryEntry, ...] = ()
        lamport, channel = now + count, CHANNEL
        if action.point == "orphans":
            history = tuple(HistoryEntry(f"nowhere {what} {parent}", None, "z") for parent in range(3))
        elif action.point == "future":
            lamport = now + world.scenario.config.max_skew + 10_000 + count
        elif action.point == "parent":
            newest = max(world.ledger.origins, key=lambda key: (world.ledger.origins[key].lamport, key), default=what)
            history = (HistoryEntry(newest, None, None),)
            lamport = now - 1000
        elif action.point == "clock":
            lamport = (0, MAX_LAMPORT, 2**64 - 1)[count % 3]
        elif action.point == "channel":
            channel = "elsewhere"
        message = Message("z", f"flood {what}", channel, lamport, history, None, (), what.encode())
        raw = world.codec.encode(message)
        world.ledger.origins[message.message_id] = Origin(-1, message, raw)
        world.ledger.convergence.ignored.add(message.message_id)
        world.broadcast(len(world.nodes), message.message_id, (raw, world.codec.decode(raw)))


_ACTS: dict[str, Callable[[World, Action], None]] = {
    "send": _send,
    "ephemeral": _ephemeral,
    "crash": _crash,
    "restart": _restart,
    "offline": _offline,
    "online": _online,
    "join": _join,
    "leave": _leave,
    "jump": _jump,
    "partition": _partition,
    "oneway": _oneway,
    "mend": _mend,
    "hint": _hint,
    "garbage": _garbage,
    "flood": _flood,
}
