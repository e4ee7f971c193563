"""Commands for what a user prefers: colours, ids, the bell, names for commands, words that count as the nick."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sdschat.tui.host import Command, Host
from sdschat.tui.model.results import CommandError, switched
from sdschat.tui.model.words import clean
from sdschat.tui.themes import theme_in_force

_NO_SCREEN: Final = "; it counts where there is a screen"


def _theme(host: Host, argument: str) -> None:
    preferences = host.preferences
    preferences.read_themes()
    named = ", ".join(preferences.themes)
    problem = preferences.theme_problems.get(argument, "")
    if not argument:
        now = theme_in_force(preferences.theme, host.light_terminal)
        is_auto = f"{preferences.theme}, which is {now} here" if now != preferences.theme else now
        shows = "; Ctrl+P shows each while you move over it" if host.has_keys else ""
        host.answer(f"theme: {is_auto}\n/theme NAME takes another one of {named}{shows}", "theme")
        return
    if argument not in preferences.themes:
        raise CommandError(problem or f"There is no theme {clean(argument, limit=40)}; there are {named}.")
    preferences.theme = argument
    host.save_preferences()
    if host.colours_off:
        host.warn(f"NO_COLOR is set, so colours are off now. Theme at a start without it: {argument}.")
        return
    host.theme_now = None
    host.restyle()
    host.warn(problem or f"theme: {argument}{'' if host.has_keys else _NO_SCREEN}")


def _alias(host: Host, argument: str) -> None:
    aliases = host.preferences.aliases
    name, _, line = argument.partition(" ")
    name = name.lstrip("/").lower()
    if not name:
        shown = [f"  /{each} is /{stands_for}" for each, stands_for in sorted(aliases.items())]
        text = "\n".join(["aliases:", *shown]) if shown else "no aliases; /alias NAME LINE makes one"
        host.answer(text, "aliases")
        return
    if not line:
        if aliases.pop(name, None) is None:
            raise CommandError(f"There is no alias /{clean(name, limit=40)}.")
    elif host.registry.get(name) is not None:
        raise CommandError(f"/{name} is a command. Choose another name.")
    elif host.registry.get(first := line.lstrip("/ ").split()[0]) is None and first not in aliases:
        raise CommandError(
            f"An alias stands for a command, and /{clean(first, limit=40)} is none. "
            f"To say a text: /alias {clean(name, limit=40)} say {clean(line.strip(), limit=80)}"
        )
    else:
        aliases[name] = line.strip().lstrip("/")
    host.save_preferences()
    host.warn(f"/{clean(name, limit=40)} is now /{clean(aliases[name], limit=80)}" if name in aliases else "gone")


def _ids(host: Host, argument: str) -> None:
    preferences = host.preferences
    preferences.ids = switched("ids", argument, preferences.ids)
    host.save_preferences()
    host.restyle()
    told = "the first letters of ids stand beside messages" if preferences.ids else "no ids beside messages"
    host.warn(f"{told}{'' if host.has_keys else _NO_SCREEN}")


def _bell(host: Host, argument: str) -> None:
    preferences = host.preferences
    preferences.bell = switched("bell", argument, preferences.bell)
    host.save_preferences()
    told = f"the bell {'rings when somebody speaks to you' if preferences.bell else 'is off'}"
    host.warn(f"{told}{'' if host.has_keys else _NO_SCREEN}")


def _on_off(host: Host, argument: str) -> Iterable[str]:
    return ("on", "off")


def _highlight(host: Host, argument: str) -> None:
    words = host.preferences.highlight
    word = argument.removeprefix("-").strip()
    if not argument:
        text = (
            f"words that count as your nick does: {', '.join(words)}" if words else "no words count as your nick does"
        )
        host.warn(f"{clean(text)} | /highlight WORD adds one, /highlight -WORD takes it away")
        return
    if argument.startswith("-"):
        if word not in words:
            raise CommandError(f"{clean(word, limit=40)!r} is none of them. /highlight lists them.")
        words.remove(word)
    elif word not in words:
        words.append(word)
    host.save_preferences()
    host.workspace.watch_words()
    host.restyle()
    host.warn(f"{clean(word, limit=40)} {'counts as your nick does' if word in words else 'counts no more'}")


COMMANDS = (
    Command(
        "theme",
        "/theme [NAME]",
        "Other colours: auto, dark, light, contrast, plain",
        _theme,
        group="screen",
        complete=lambda host, argument: host.preferences.themes,
        details="Alone it tells the theme of now. auto is dark or light, as the terminal is. A file themes/NAME.toml "
        "beside tui.toml is a theme of your own: /help preferences tells what stands in it.",
    ),
    Command(
        "alias",
        "/alias [NAME LINE]",
        "A name of your own for a command",
        _alias,
        group="screen",
        details="/alias hi say hello $* makes /hi bob say: hello bob. /alias NAME takes it away.",
    ),
    Command("ids", "/ids [on, off]", "Show or hide the ids of messages", _ids, group="screen", complete=_on_off),
    Command(
        "bell",
        "/bell [on, off]",
        "Ring, or do not ring, when somebody speaks to you",
        _bell,
        group="screen",
        complete=_on_off,
        details="notify_command in tui.toml is run for each message to you: /help preferences tells of it.",
    ),
    Command(
        "highlight",
        "/highlight [WORD]",
        "Words that count as your nick does; -WORD takes one away",
        _highlight,
        aliases=("hilight",),
        group="screen",
        details="Who says such a word is marked, counted and rung for like one who names you. Words in tui.toml stay.",
        complete=lambda host, argument: [f"-{word}" for word in host.preferences.highlight],
    ),
)
