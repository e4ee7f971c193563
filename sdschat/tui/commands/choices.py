"""Commands for what a user prefers: colours, ids, the bell, names for commands, words that count as the nick."""

from __future__ import annotations

from typing import Final

from sdschat.tui.host import Command, Host
from sdschat.tui.model.results import CommandError
from sdschat.tui.model.words import clean
from sdschat.tui.themes import theme_in_force


def _theme(host: Host, argument: str) -> None:
    if not argument:
        names = list(host.preferences.palettes)
        now = theme_in_force(host.preferences.theme, host.light_terminal)
        argument = names[(names.index(now) + 1) % len(names)]
    if argument not in host.preferences.themes:
        named = ", ".join(host.preferences.themes)
        raise CommandError(f"There is no theme {clean(argument, limit=40)}; there are {named}.")
    host.preferences.theme = argument
    host.save_preferences()
    if host.colours_off:
        host.warn(f"NO_COLOR is set, so colours are off now. Theme at a start without it: {argument}.")
        return
    host.theme_now = None
    host.restyle()
    host.warn(f"theme: {argument}")


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


def _toggle_ids(host: Host, argument: str) -> None:
    host.preferences.ids = not host.preferences.ids
    host.save_preferences()
    host.restyle()


def _bell(host: Host, argument: str) -> None:
    host.preferences.bell = not host.preferences.bell
    host.save_preferences()
    host.warn(f"the bell {'rings when somebody speaks to you' if host.preferences.bell else 'is off'}")


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
    host.desktop.watch_words()
    host.restyle()
    host.warn(f"{clean(word, limit=40)} {'counts as your nick does' if word in words else 'counts no more'}")


OF_COMMAND: Final = "notify_command in tui.toml is run for each message to you: /help preferences tells of it."
COMMANDS = (
    Command(
        "theme",
        "/theme [NAME]",
        "Other colours: auto, dark, light, contrast, plain",
        _theme,
        group="screen",
        complete=lambda host, argument: host.preferences.themes,
        details="auto is dark or light, as the terminal is. A file themes/NAME.toml beside tui.toml is a theme of your own: "
        "/help preferences tells what stands in it.",
    ),
    Command(
        "alias",
        "/alias [NAME LINE]",
        "A name of your own for a command",
        _alias,
        group="screen",
        details="/alias hi say hello $* makes /hi bob say: hello bob. /alias NAME takes it away.",
    ),
    Command("ids", "/ids", "Show or hide the ids of messages", _toggle_ids, group="screen"),
    Command("bell", "/bell", "Ring, or do not ring, when somebody speaks to you", _bell, group="screen", details=OF_COMMAND),
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
