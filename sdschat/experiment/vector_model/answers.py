"""SDS-R, the responding side (like `sdschat.sds.steps.answers`)."""

from __future__ import annotations

import numpy as np

from sdschat.experiment.vector_model.group import Array, Flags, Group
from sdschat.experiment.vector_model.rules import NEVER
from sdschat.experiment.vector_model.wheel import Indices
from sdschat.sds.steps.answers import PAUSE

_ASKED_TWICE = 2


def consider(g: Group, message: int, who: Indices) -> None:
    """Decide if and when these holders of a requested message respond. Requests at the same time count as one."""
    pending = g.answer_due[message, who] < NEVER
    if not g.rules.first_due_stands:
        pending[:] = False
    if g.rules.rests:
        pending |= g.now - g.asked_at[message, who] < g.t_max // PAUSE
    who = who[~pending]
    g.asked[message, who] += 1
    g.asked_at[message, who] = g.now
    able = in_response_group(g, message, who)
    if g.rules.widens:
        able |= g.asked[message, who] >= _ASKED_TWICE
    who = who[able]
    due = g.now + determine_t_resp(g, message, who)
    if g.rules.tick:
        phase = g.hash[who].astype(np.int64) % g.rules.tick
        due = due + (phase - due) % g.rules.tick
    g.answer_due[message, who] = due
    g.wheel.put_each(np.maximum(due, g.now), "answer", message, who)


def determine_t_resp(g: Group, message: int, who: Indices) -> Array:
    """Determine T_resp: distance times hash modulo T_max. The factors are reduced first; the result is the same."""
    distance = g.hash[who] ^ g.hash[g.authors[message]]
    t_max = np.uint64(g.t_max)
    product = (distance % t_max) * (g.message_hash[message] % t_max) % t_max
    due: Array = product.astype(np.int64)
    return due


def in_response_group(g: Group, message: int, who: Indices) -> Flags:
    """Determine the response group: True for participants in the group of the message's author."""
    if g.groups == 1:
        return np.ones(len(who), dtype=np.bool_)
    hashes = g.pair_hash[message]
    same: Flags = hashes[who] % g.groups == hashes[g.authors[message]] % g.groups
    return same


def due_answers(g: Group, message: int, who: Indices) -> Indices:
    """Return the participants that respond now."""
    who = who[g.answer_due[message, who] == _rounded(g, message, who)]
    settle(g, message, who)
    return who


def _rounded(g: Group, message: int, who: Indices) -> Array:
    """Return the time of each due response, or -1 if the current step is not its time."""
    due = g.answer_due[message, who]
    step = g.wheel.step
    return np.where((due <= g.now) & (due > g.now - step), due, -1)


def answered_by_other(g: Group, message: int, who: Indices) -> None:
    """Remove the entries for a received message from the incoming repair buffer."""
    settle(g, message, who[g.asked_at[message, who] >= 0])


def settle(g: Group, message: int, who: Indices) -> None:
    g.answer_due[message, who] = NEVER
    g.asked[message, who] = 0
    g.asked_at[message, who] = g.now
