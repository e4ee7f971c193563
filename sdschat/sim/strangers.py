"""Packets of strangers that no honest participant would send, by the kind that a `flood` names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sdschat.sds.bloom import compact, waku
from sdschat.sds.limits import MAX_LAMPORT
from sdschat.sds.values import HistoryEntry, Message
from sdschat.sim.node import CHANNEL
from sdschat.sim.scenario import START, Action

if TYPE_CHECKING:
    from sdschat.sim.world import World

_SHAPE: Final = compact.shape_for(256, 0.0001)
CROWD: Final = 4  # strangers of the kinds that come as several
FILTERS: Final = ("full filter", "full waku filter", "shapeless filter", "full range")
CROWDS: Final = ("crowd of orphans", "crowd of the future", "parents of the future", "rings", "asks", "lacks")
_RING: Final = 3  # messages that name each other in turn


def written(world: World, action: Action, count: int) -> Message:
    """One message with content."""
    now = START + world.time
    kind = action.point
    what = f"{world.scenario.seed} {action.at} {kind} {count}"
    history: tuple[HistoryEntry, ...] = ()
    sender_id, lamport, channel, content = "z", now + count, CHANNEL, what.encode()
    if kind.startswith("crowd"):
        sender_id = f"z{count % CROWD}"
        content += b"." * (count % 2 * 1_500)
    if kind.endswith("orphans"):
        history = tuple(HistoryEntry(f"nowhere {what} {parent}", None, "z") for parent in range(3))
    elif kind == "parents of the future":  # each child comes before its parent, which is dated too far ahead
        if count % 2 == 0:
            parent = f"{world.scenario.seed} {action.at} {kind} {count + 1}"
            history = (HistoryEntry(f"flood {parent}", None, "z"),)
        else:
            lamport = now + world.scenario.config.max_skew + 10_000
    elif kind == "rings":
        before = count - 1 if count % _RING else count + _RING - 1
        history = (HistoryEntry(f"flood {world.scenario.seed} {action.at} {kind} {before}", None, "z"),)
    elif kind.endswith("future"):
        lamport = now + world.scenario.config.max_skew + 10_000 + count
    elif kind == "parent":
        newest = max(world.oracle.origins, key=lambda key: (world.oracle.origins[key].lamport, key), default=what)
        history = (HistoryEntry(newest, None, None),)
        lamport = now - 1000
    elif kind == "clock":
        lamport = (0, MAX_LAMPORT, 2**64 - 1)[count % 3]
    elif kind == "channel":
        channel = "elsewhere"
    return Message(sender_id, f"flood {what}", channel, lamport, history, None, (), content)


def said(world: World, action: Action, count: int) -> Message | None:
    """One sync message; None for a kind that is a message with content."""
    now, kind, number = START + world.time, action.point, 0
    packed = b""
    requests: tuple[HistoryEntry, ...] = ()
    if kind == "asks":
        most, ids = world.scenario.config.max_requests, list(world.oracle.origins)
        number = count % CROWD
        requests = tuple(HistoryEntry(ids[-1 - (count * most + at) % len(ids)]) for at in range(most) if ids)
    elif kind == "lacks":
        number = count % CROWD
        packed = compact.encode_window(0, _SHAPE, _SHAPE.bits >> 3, START - world.scenario.config.max_skew)
    elif kind == "full filter":
        packed = compact.encode_window((1 << _SHAPE.bits) - 1, _SHAPE, _SHAPE.bits, START)
    elif kind == "full waku filter":
        packed = b"\xff" * waku.BYTES
    elif kind == "shapeless filter":
        packed = b"no filter of any kind"
    elif kind == "full range":
        ids = [f"{count} {at}" for at in range(8)]
        one = compact.encode_range(ids, START, now, 0.5, count)
        body = len(compact.body_of(ids, *compact.shape_for(8, 0.5)[:2], count))
        packed = compact.encode_window(0, _SHAPE, _SHAPE.bits >> 3, now) + one[:-body] + b"\xff" * body
    else:
        return None
    return Message(f"z{number}", f"sync {kind} {action.at} {count}", CHANNEL, now + count, (), packed or None, requests)
