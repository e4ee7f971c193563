"""The command /fault: parsing of its argument, and injection."""

from __future__ import annotations

import re
from typing import Final

from sdschat.node.quantities import duration
from sdschat.node.tools.fault_injection import SHARES, Injection
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.tags import called
from sdschat.tui.lens.view_input import Line, ViewInput, columns, heading, line, paragraph
from sdschat.tui.model.delivery import name_of
from sdschat.tui.model.results import CommandError
from sdschat.tui.model.words import clean

USES: Final = (
    ("/fault loss 30% in", "lose packets; in, out or both ways"),
    ("/fault duplicate 10%", "send or take some twice"),
    ("/fault reorder 20%", "hold some back"),
    ("/fault corrupt 5%", "flip a bit in some"),
    ("/fault delay 500ms out", "half to one and a half of it"),
    ("/fault partition bob", "hear nothing of bob's"),
    ("/fault rejoin bob", "hear it again"),
    ("/fault offline", "no connection"),
    ("/fault online", "connected again"),
    ("/fault skew +90s", "this clock is wrong"),
    ("/fault off", "no faults"),
)


def view(view: ViewInput) -> list[Line]:
    active = clean(view.faults, limit=200)
    lines = [heading("faults injected here")]
    lines.append(line((f"  {active}", "refused") if active else ("  none", "acked")))
    lines += [line((f"  {clean(words, limit=120)}", "note")) for words in view.carried]
    text = "They lie between this node and the broker, are never saved, and end with the program."
    lines += [line(""), *paragraph(text, view.width, "note", 2), line("")]
    return lines + [columns((26,), (f"  {use}", "key"), (what, "note")) for use, what in USES]


_SHARE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(%?)")
_USES: Final = (
    "loss 30% [in|out], duplicate, reorder, corrupt, delay 500ms, partition NICK, rejoin NICK, offline, online, "
    "skew +90s, off"
)


def inject(view: Conversations, channel: str, argument: str) -> str:
    """Inject or end a fault, and return in words the faults then in force. Raises CommandError."""
    what, *words = argument.split()
    what = {"dup": "duplicate", "drop": "loss", "cut": "partition"}.get(what.lower(), what.lower())
    injection = Injection(view.node, channel)
    try:
        _do(injection, view, channel, what, words)
    except ValueError as error:
        raise CommandError(f"{str(error).removeprefix('fault.')}. See /help fault.") from error
    told = injection.describe()
    return f"faults on: {clean(told, limit=200)}" if told else "no faults"


def _do(injection: Injection, view: Conversations, channel: str, what: str, words: list[str]) -> None:
    match what, words:
        case (("off" | "none"), []):
            injection.off()
        case "offline", []:
            injection.offline(True)
        case "online", []:
            injection.offline(False)
        case "delay", [amount, *way]:
            injection.delay(duration(amount), _way(way))
        case "skew", [amount]:
            sign = -1 if amount.startswith("-") else 1
            injection.skew(sign * duration(amount.lstrip("+-")))
        case (("partition" | "rejoin"), [_, *_]):
            sender_id, name = _participant(view, channel, " ".join(words))
            injection.partition(sender_id, name, what == "partition")
        case _, [amount, *way] if what in SHARES:
            injection.share(what, _share(amount), _way(way))
        case _:
            raise CommandError(
                f"/fault does not know {clean(' '.join([what, *words]), limit=60)!r}. It takes: {_USES}."
            )


def _share(text: str) -> float:
    """Parse a share: 30%, 30 or 0.3. A number above one is a percentage."""
    found = _SHARE.fullmatch(text)
    if found is None:
        raise ValueError(f"{clean(text, limit=20)!r} is no share: write 30% or 0.3")
    value = float(found[1])
    share = value / 100 if found[2] or value > 1 else value
    if share > 1:
        raise ValueError(f"{text} is more than all there is: write from 0% to 100%")
    return share


def _way(words: list[str]) -> str:
    if not words or words == ["both"]:
        return ""
    if len(words) > 1 or words[0] not in ("in", "out"):
        raise ValueError(f"{clean(' '.join(words), limit=20)!r} is no direction: write in, out, or nothing for both")
    return words[0]


def _participant(view: Conversations, channel: str, name: str) -> tuple[str, str]:
    """Return sender id and name of the participant with this nick, or whose sender id begins so."""
    others = [person for person in view.channel(channel).people() if not person.own]
    found = called(others, name)
    if len(found) == 1:
        return found[0].sender_id, name_of(found[0])
    known = ", ".join(map(name_of, (found or others)[:10]))
    if found:
        raise CommandError(f"Several participants go by that name: {known}. Give the beginning of the id with it.")
    raise CommandError(f"Nobody here is called {clean(name, limit=40)!r}. Known: {known or 'nobody else'}.")
