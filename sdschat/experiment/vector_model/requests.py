"""SDS-R, both sides (like `sdschat.sds.steps.repair`)."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from sdschat.experiment.vector_model.group import Array, Flags, Group
from sdschat.experiment.vector_model.rules import NEVER
from sdschat.experiment.vector_model.timer_wheel import Indices
from sdschat.sds.steps.repair import PAUSE

_WINDOW: Final = 100  # steps


def notice(g: Group, who: Indices, messages: npt.NDArray[np.uint16]) -> None:
    """Tell these participants of messages that they lack: each gets a repair entry with its T_req."""
    unknown = messages & ~g.have[who] & ~g.missing[who]
    for message in range(g.sent):
        new = who[(unknown >> np.uint16(message)) & np.uint16(1) == 1]
        if not len(new):
            continue
        g.missing[new] |= g.bit(message)
        since = np.float32(g.since(message))
        g.record.noticed[message][new] = np.minimum(g.record.noticed[message][new], since)
        if g.config.repair_enabled:
            arm(g, message, new, np.full(len(new), g.now))


def arm(g: Group, message: int, who: Indices, since: Array) -> None:
    spread = g.t_max - g.config.t_min
    due = since + g.pair_hash[message].bits(who) % spread + g.config.t_min
    g.t_req[message][who] = np.minimum(due, NEVER - 1)
    window = g.wheel.step * _WINDOW
    g.wheel.put_each(np.maximum(due - due % window, g.now), "requests", message, who)


def time_requests(g: Group, message: int, who: Indices) -> None:
    """Put the requests of a window of time on the wheel, each at its T_req. By then, most of them are removed."""
    window = g.wheel.step * _WINDOW
    who = np.unique(who[g.t_req[message][who] < g.now - g.now % window + window])
    g.wheel.put_each(g.t_req[message][who], "request", message, who)


def eligible(g: Group, who: Indices) -> Array:
    """Return the due requests of each participant as bits: those with the lowest T_req, up to the maximum."""
    found = np.zeros(len(who), dtype=np.int64)
    if not g.sent:
        return found
    lacking = np.flatnonzero(g.missing[who])
    times = g.t_req[: g.sent, who[lacking]]
    due = times <= g.now
    most = g.config.max_requests
    for at in np.flatnonzero(due.any(axis=0)):
        asked, row = np.flatnonzero(due[:, at]), lacking[at]
        asked = asked[np.argsort(times[asked, at], kind="stable")][:most]
        found[row] = int((1 << asked).sum())
    return found


def mark_requested(g: Group, who: Indices, requested: Array) -> None:
    """Schedule the next request: T_max later, with a doubled wait after the third one, if the rules repeat requests."""
    if not requested.any():
        return
    for message in range(g.sent):
        asking = who[(requested >> message) & 1 == 1]
        if not len(asking):
            continue
        g.record.requests[message] += len(asking)
        g.t_req[message][asking] = NEVER
        if g.rules.again:
            g.attempts[message][asking] += 1
            g.suppressed[message][asking] = False
            back_off = g.t_max << np.clip(g.attempts[message][asking].astype(np.int64) - 3, 0, 4)
            arm(g, message, asking, g.now + back_off)


def due_requests(g: Group, message: int, who: Indices) -> Indices:
    """Return the participants whose request is sent now in its own sync message, whatever others have sent."""
    who = who[g.t_req[message][who] <= g.now]
    if not g.rules.syncs:
        return who[:0]  # the request waits for the participant's next message
    ready: Flags = g.spoke[who] + g.config.sweep_interval <= g.now
    waiting = who[~ready]
    g.wheel.put_each(g.spoke[waiting] + g.config.sweep_interval, "request", message, waiting)
    return who[ready]


def requested_by_other(g: Group, message: int, who: Indices) -> None:
    """Remove the entries that another participant requests; with our rules they come back T_max later."""
    if g.rules.again:
        who = who[(g.t_req[message][who] < NEVER) & ~g.suppressed[message][who]]
        g.suppressed[message][who] = True
        arm(g, message, who, np.full(len(who), g.now + g.t_max))
    else:
        g.t_req[message][who] = NEVER


def received(g: Group, message: int, who: Indices) -> None:
    who = who[g.missing[who] & g.bit(message) != 0]
    g.t_req[message][who] = NEVER
    g.missing[who] &= ~g.bit(message)


_ASKED_TWICE = 2


def consider(g: Group, message: int, who: Indices) -> None:
    """Decide if and when these holders of a requested message respond. Requests at the same time count as one."""
    pending = g.answer_due[message][who] < NEVER
    if not g.rules.first_due_stands:
        pending[:] = False
    if g.rules.rests:
        pending |= g.now - g.asked_at[message][who] < g.t_max // PAUSE
    who = who[~pending]
    g.asked[message][who] += 1
    g.asked_at[message][who] = g.now
    able = in_response_group(g, message, who)
    if g.rules.widens:
        able |= g.asked[message][who] >= _ASKED_TWICE
    who = who[able]
    due = g.now + determine_t_resp(g, message, who)
    if g.rules.tick:
        phase = g.hash[who].astype(np.int64) % g.rules.tick
        due = due + (phase - due) % g.rules.tick
    g.answer_due[message][who] = due
    g.wheel.put_each(np.maximum(due, g.now), "answer", message, who)


def determine_t_resp(g: Group, message: int, who: Indices) -> Array:
    """Determine T_resp: distance times hash modulo T_max. The factors are reduced first; the result is the same."""
    distance = g.hash[who] ^ g.hash[g.authors[message]]
    t_max = np.uint64(g.t_max)
    product = (distance % t_max) * (g.message_hash[message] % t_max) % t_max
    due: Array = product.astype(np.int64)
    return due


def in_response_group(g: Group, message: int, who: Indices) -> Flags:
    if g.groups == 1:
        return np.ones(len(who), dtype=np.bool_)
    author = np.array([g.authors[message]])
    of, mine = (g.pair_hash[message].bits(each) % np.uint32(g.groups) for each in (author, who))
    same: Flags = mine == of
    return same


def due_answers(g: Group, message: int, who: Indices) -> Indices:
    due = g.answer_due[message][who]
    who = who[(due <= g.now) & (due > g.now - g.wheel.step)]
    settle(g, message, who)
    return who


def settle(g: Group, message: int, who: Indices) -> None:
    g.answer_due[message][who] = NEVER
    g.asked[message][who] = 0
    g.asked_at[message][who] = g.now
