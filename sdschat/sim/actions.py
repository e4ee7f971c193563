"""The actions of a scenario."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

from sdschat.sds.steps.send import TooManyUnacknowledged
from sdschat.sim.check_events import check_made
from sdschat.sim.node import Backup, SimNode, split
from sdschat.sim.oracle import Origin
from sdschat.sim.scenario import START, Action
from sdschat.sim.strangers import malformed, said, written
from sdschat.sim.world import ARRIVAL, World


def act(world: World, action: Action) -> None:
    _ACTS[action.verb](world, action)


def _up(world: World, action: Action) -> SimNode | None:
    node = world.nodes[action.node]
    return None if node.channel is None or node.gone else node


def content_of(world: World, action: Action) -> bytes:
    """Return the content of a message. With ids by content, no two messages may be alike; with ids by text, many are,
    and that is to be borne. But a participant who is back from an older backup may say the same text at the same
    Lamport time again, which is one id by that rule."""
    node = world.nodes[action.node]
    if node.config.id_rule == "text" and action.number % 3 == 0 and node.plan.participant not in world.scenario.torn:
        return b"ok"
    text = b"%d/%d hello" % (world.scenario.seed, action.number)
    return text + b"." * 2000 if action.point == "long" else text


def _send(world: World, action: Action) -> None:
    if world.nodes[action.node].plan.literal:
        _send_literally(world, action)
        return
    node = _up(world, action)
    if node is None or node.channel is None:
        return
    state = node.channel.state
    try:
        message = node.channel.send(node.now(world.time), content_of(world, action))
    except TooManyUnacknowledged:
        return
    world.made(node, message, state.unsaved[message.message_id].raw)
    check_made(world.oracle, world.oracle.records[node.index], message.lamport_timestamp or 0)
    world.flush(node)


def _send_literally(world: World, action: Action) -> None:
    node = world.nodes[action.node]
    peer = node.literal
    if peer is None or node.gone:
        return
    message = peer.send(node.now(world.time), content_of(world, action))
    raw = peer.outgoing[message.message_id].raw
    world.made(node, message, raw)
    world.literal_did(node, [raw])


def _ephemeral(world: World, action: Action) -> None:
    node = _up(world, action)
    if node is None or node.channel is None:
        return
    message = node.channel.send_ephemeral(node.now(world.time), b"%d typing" % action.number)
    world.oracle.ephemerals[message.message_id] = node.index
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
    """Let a participant come for the first time. With a copy of somebody's key comes a copy of that one's disk."""
    node = world.nodes[action.node]
    if node.boots or not node.gone:
        return
    node.gone = False
    if node.plan.key_of:
        other = world.nodes[world.oracle.index[node.plan.key_of]]
        node.store = deepcopy(other.store)
        world.oracle.rare.met["began from a copy of another's profile"] += 1
        world.oracle.records[node.index].put_back(world.oracle.records[other.index].copied())
    world.boot(node)


def _backup(world: World, action: Action) -> None:
    """Copy the disk, to be put back later."""
    node = world.nodes[action.node]
    if node.boots and not node.gone:
        node.backup = Backup(deepcopy(node.store), world.oracle.records[node.index].copied())


def _rollback(world: World, action: Action) -> None:
    """Kill the process, and put back the disk as it was copied earlier. What happened since is gone, though others
    heard it."""
    node = world.nodes[action.node]
    if node.backup is None or node.gone:
        return
    node.kill()
    node.store = deepcopy(node.backup.store)
    world.oracle.rare.met["came back from an older backup"] += 1
    world.oracle.records[node.index].put_back(node.backup.copied)


def _fetch(world: World, action: Action) -> None:
    """Catch up from a Store that has everything dated from then on, as `history.on_join` says how far back."""
    node = _up(world, action)
    if node is None or node.channel is None:
        return
    since = START + action.number
    seen = world.oracle.records
    known = {message_id for other in seen for message_id, lamport in other.log.items() if lamport >= since}
    known -= world.oracle.convergence.ignored
    origins = world.oracle.origins
    for message_id in sorted(known, key=lambda key: (origins[key].lamport, key)):
        origin = origins[message_id]
        node.channel.receive_history(node.now(world.time), origin.message, origin.raw)
    world.flush(node)
    _lower_horizon(world, _up(world, action), since)


def _lower_horizon(world: World, node: SimNode | None, since: int) -> None:
    if node is None or node.channel is None:  # it died of what it fetched
        return
    world.oracle.records[node.index].lowered_to = since
    node.channel.lower_horizon(node.now(world.time), since)
    world.flush(node)


def _leave(world: World, action: Action) -> None:
    node = world.nodes[action.node]
    node.gone = True
    node.kill()


def _jump(world: World, action: Action) -> None:
    world.nodes[action.node].skew = action.number


def _partition(world: World, action: Action) -> None:
    world.network.blocked |= split(action.groups, len(world.nodes))


def _oneway(world: World, action: Action) -> None:
    """Block what the first of the two says from reaching the second."""
    world.network.blocked |= {(one, other) for one in action.groups[0] for other in action.groups[1]}


def _mend(world: World, action: Action) -> None:
    world.network.blocked = frozenset()


def _hint(world: World, action: Action) -> None:
    """Give the node a hint for its newest message, as if a Store had confirmed it."""
    node = _up(world, action)
    if node is None or node.channel is None:
        return
    newest = node.channel.state.newest(1)
    if newest:
        node.channel.learn_hint(newest[0].message_id, b"hint %d" % action.number)
        world.flush(node)


def _garbage(world: World, action: Action) -> None:
    """Broadcast bytes that are no packet, or a packet cut short, as from anybody who can write to the topic."""
    raw = b"\xff" * (action.number % 7) + world.sent[action.number % len(world.sent)][0] if world.sent else b"\x00"
    raw = raw[: len(raw) * (action.number % 11) // 11]
    world.broadcast(len(world.nodes), "garbage", (raw, world.codec.decode(raw)))


def _flood(world: World, action: Action) -> None:
    """Broadcast as a stranger what no honest participant would write."""
    for count in range(action.number):
        message = said(world, action, count) or written(world, action, count)
        raw = world.codec.encode(message)
        if message.content:
            world.oracle.origins[message.message_id] = Origin(-1, message, raw)
            world.oracle.convergence.ignored.add(message.message_id)
        world.broadcast(len(world.nodes), message.message_id, (raw, world.codec.decode(raw)))


def _malformed(world: World, action: Action) -> None:
    """Send one packet that each decoder must refuse, for the reason named by `point`; for a conflict, to a node that
    has the id."""
    raw = malformed(action.point, world.codec, world.scenario.config.max_message_bytes, action.number)
    if action.point != "id_conflict":
        world.broadcast(len(world.nodes), f"malformed {action.number}", (raw, world.codec.decode(raw)))
        return
    node = _up(world, action)
    record = world.oracle.records[action.node]
    if node is not None and record.log:
        known = world.oracle.origins[next(reversed(record.log))].message
        raw = world.codec.encode(replace(known, sender_id="z", content=b"something else"))
        world.schedule(world.time + 1, ARRIVAL, node.index, (raw, world.codec.decode(raw)))


_ACTS: dict[str, Callable[[World, Action], None]] = {
    "send": _send,
    "ephemeral": _ephemeral,
    "crash": _crash,
    "restart": _restart,
    "backup": _backup,
    "rollback": _rollback,
    "fetch": _fetch,
    "malformed": _malformed,
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
