"""One run of the model: due packets are sent, and heard a latency later."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np

from sdschat.experiment.figures import Record
from sdschat.experiment.setting import GroupSetting
from sdschat.experiment.vector_model.group import Group
from sdschat.experiment.vector_model.hearing import hear
from sdschat.experiment.vector_model.packets import Step
from sdschat.experiment.vector_model.pushes import due_pushes
from sdschat.experiment.vector_model.requests import due_answers, due_requests
from sdschat.experiment.vector_model.sending import resend, send_copy, send_message, send_syncs, wake
from sdschat.experiment.vector_model.wheel import Indices, Item


def run_model(setting: GroupSetting, seed: int) -> Record:
    g = Group(setting, seed)
    draw = Random(f"senders {seed}")
    g.watch(g.everyone)
    for number in range(setting.messages):
        g.wheel.put(setting.sent_at(number), "send", number, draw.randrange(setting.participants))
    while (due := g.wheel.next(setting.until)) is not None:
        g.now, items = due
        step = Step()
        while items:
            for item in _merged(items):
                _do(g, step, item)
            items = g.wheel.more(g.now)
        if step.sent:
            g.wheel.put(g.now + setting.latency, "hear", -1, step)
    return g.record


def _merged(items: list[Item]) -> Iterator[Item]:
    """Merge the items of one time: receptions first, then sends, then equal items of all participants together."""
    together: dict[tuple[str, int], list[Indices]] = {}
    for what, message, content in items:
        if what == "hear":
            yield what, message, content
        elif what not in ("send", "resend"):
            together.setdefault((what, message), []).append(content)
    for what, message, content in items:
        if what in ("send", "resend"):
            yield what, message, content
    for (what, message), parts in together.items():
        yield what, message, parts[0] if len(parts) == 1 else np.concatenate(parts)


def _do(g: Group, step: Step, item: Item) -> None:
    what, message, content = item
    if what == "hear":
        hear(g, content)
    elif what == "sync":
        wake(g, step, content)
    elif what == "request":
        send_syncs(g, step, due_requests(g, message, content))
    elif what == "answer":
        send_copy(g, step, "answer", message, due_answers(g, message, content))
    elif what == "push":
        send_copy(g, step, "push", message, due_pushes(g, message, content))
    elif what == "send":
        send_message(g, step, content)
    else:
        resend(g, step, message)
