"""The broker of the last time: who talks over another one now meets nobody who is on the old one."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from sdschat.node.view.conversations import Conversations
from sdschat.tui.model.words import clean

_HERE = "the broker of this machine"


def moved_words(view: Conversations, channels: Sequence[str]) -> list[str]:
    """Return what to say where a channel is opened over another broker than the last time, and keep the one of now."""
    if view.guest or view.recorded:
        return []
    now = view.node.broker
    found = dict[str, str]()
    for channel in channels:
        name = f"broker {channel}"
        last = view.value(name)
        if last and last != (now or _HERE):
            found.setdefault(last, channel)
        if last != (now or _HERE):
            view.set_value(name, now or _HERE)
    return [_moved(last, now, channel) for last, channel in found.items()]


def _moved(last: str, now: str, channel: str) -> str:
    back = f"sdschat join {shlex.quote(channel)}{'' if last == _HERE else f' --broker {last}'}"
    told = f"{channel} is on {now or _HERE} now; the last time it was on {last}. Whoever is there is not here: {back}"
    return clean(f"{told} leads there.", limit=600)
