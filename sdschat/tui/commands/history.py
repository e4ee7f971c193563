"""The command that fetches history from before this node joined."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sdschat.node.view.moments import parse_moment
from sdschat.tui.host import Command, Host
from sdschat.tui.model.results import CommandError
from sdschat.tui.model.words import clean, clock, day

_WORDS: Final = ("all", "pause", "resume")


def _load(host: Host, argument: str) -> None:
    if host.conversation.peer:
        raise CommandError("A conversation of two is all here. /load is for channels.")
    catchup, history = host.view.catchup(host.channel), host.model.history
    if catchup is None:
        raise CommandError("Nothing can be fetched here.")
    word = argument.lower()
    if word == "pause":
        if history is None or history.state not in ("waiting", "comparing", "loading"):
            host.warn("nothing is being fetched")
            return
        catchup.pause()
        host.warn("paused; /load resume goes on, also after a restart")
    elif word == "resume":
        if history is None or history.state != "paused":
            host.warn("nothing is paused | /load fetches what is not here")
            return
        catchup.resume()
        host.warn("going on")
    else:
        since = _since(host, word)
        catchup.load_older(since)
        host.warn(f"asking for what was said {_from(since)} and is not here; /load pause stops it")


def _since(host: Host, word: str) -> int:
    if word in ("", "all"):
        return 0
    try:
        return parse_moment(word, host.view.now().wall)
    except ValueError as error:
        text = f"/load does not know {clean(word, limit=40)!r}: it takes 7d, yesterday, 2025-11-01, all, pause, resume."
        raise CommandError(text) from error


def _from(since: int) -> str:
    return f"since {clock(since)} on {day(since)}" if since else "since the beginning"


def _load_words(host: Host, argument: str) -> Iterable[str]:
    return _WORDS


COMMANDS = (
    Command(
        "load",
        "/load [SINCE]",
        "Fetch what was said before you came; /load pause, /load resume",
        _load,
        aliases=("older",),
        group="reading",
        complete=_load_words,
        details="Without SINCE all of it; SINCE is 7d, 12h, yesterday or 2025-11-01. It comes from whoever is here, a\n"
        "Store or a participant, the newest hundred first, and every message is checked like any other. What you read\n"
        "does not move meanwhile. A pause is kept over a restart. history.on_join says what is fetched unasked.",
    ),
)
