"""Commands about the program itself: help, looks, keys, leaving."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from sdschat.tui.errors import CommandError
from sdschat.tui.host import Command, Host
from sdschat.tui.line_style import fate_words
from sdschat.tui.model.cleaning import clean
from sdschat.tui.model.items import Fate, Phase
from sdschat.tui.model.status import STATES
from sdschat.tui.themes import PALETTES

_GROUPS = {"chat": "Saying", "reading": "Reading", "channels": "Channels", "screen": "Program", "lens": "Lens"}


def _help(host: Host, argument: str) -> None:
    if argument:
        command = host.registry.find(argument.lstrip("/"))
        also = f"\nalso: {', '.join(f'/{name}' for name in command.aliases)}" if command.aliases else ""
        details = f"\n{command.details}" if command.details else ""
        host.tell(f"{command.usage}\n{command.summary}{details}{also}", help=True)
        return
    lines = []
    for group, title in _GROUPS.items():
        found = [command for command in host.registry.commands if command.group == group]
        if found:
            lines.append(f"{title}:")
            lines += [f"  {command.usage:<21} {command.summary}" for command in sorted(found, key=attrgetter("name"))]
    lines.append("/help NAME tells more of a command, /keys lists the keys, /legend the signs. //x sends /x.")
    host.tell("\n".join(lines), help=True)


def _keys(host: Host, argument: str) -> None:
    if argument:
        _set_key(host, argument)
        return
    lines = ["keys (/keys ACTION KEY changes one):"]
    lines += [f"  {key:<22} {action:<14} {label}" for action, key, label in host.key_table()]
    lines += [
        "in the input:",
        "  enter sends, alt+enter or ctrl+j begins a new line, tab completes, up and down recall, ctrl+r searches",
        "in the log (f6): up and down select, r answers, y copies, o opens a link, n and N are hits, esc leaves",
    ]
    host.tell("\n".join(lines), help=True)


def _set_key(host: Host, argument: str) -> None:
    action, _, key = argument.partition(" ")
    key = key.strip()
    known = {name for name, _, _ in host.key_table()}
    if action not in known:
        raise CommandError(f"There is no action {clean(action, limit=40)}. /keys lists them.")
    if not key:
        raise CommandError(f"/keys {action} needs a key, such as f9 or ctrl+g; default: the one it had at first.")
    if key == "default":
        host.preferences.keys.pop(action, None)
    else:
        host.preferences.keys[action] = key
    host.save_preferences()
    host.apply_keys()
    host.warn(f"{action}: {key}")


def _legend(host: Host, argument: str) -> None:
    glyphs = host.glyphs
    lines = ["your messages:"]
    for phase, meaning in STATES:
        lines.append(f"  {fate_words(Fate(phase), glyphs)[0]:<12} {meaning}")
    lines.append(
        f"  {fate_words(Fate(Phase.QUEUED, refused='x'), glyphs)[0]:<12} the broker or this machine did not take it"
    )
    lines += [
        "the log:",
        f"  {glyphs.missing} a message that others name and that is not here; {glyphs.lost} one that was given up",
        "  late: put in above what was there already",
        f"  {glyphs.system} {glyphs.alert} lines of the program: no message can begin like this",
        "  unsigned, new key, BAD SIGNATURE: what the signature of a message is worth; nothing: known",
    ]
    host.tell("\n".join(lines), help=True)


def _theme(host: Host, argument: str) -> None:
    if not argument:
        names = list(PALETTES)
        argument = names[(names.index(host.preferences.theme) + 1) % len(names)]
    if argument not in PALETTES:
        raise CommandError(f"There is no theme {clean(argument, limit=40)}; there are {', '.join(PALETTES)}.")
    host.preferences.theme = argument
    host.theme_now = None
    host.save_preferences()
    host.restyle()
    host.warn(f"theme: {argument}")


def _alias(host: Host, argument: str) -> None:
    aliases = host.preferences.aliases
    name, _, line = argument.partition(" ")
    name = name.lstrip("/").lower()
    if not name:
        shown = [f"  /{each} is /{stands_for}" for each, stands_for in sorted(aliases.items())]
        host.tell("\n".join(["aliases:", *shown]) if shown else "no aliases; /alias NAME LINE makes one")
        return
    if not line:
        if aliases.pop(name, None) is None:
            raise CommandError(f"There is no alias /{clean(name, limit=40)}.")
    elif host.registry.get(name) is not None:
        raise CommandError(f"/{name} is a command. Choose another name.")
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


def _clear(host: Host, argument: str) -> None:
    host.model.timeline.clear_notes()
    host.log_view.refresh_rows()


def _bare(host: Host, argument: str) -> None:
    host.toggle_bare()


def _quit(host: Host, argument: str) -> None:
    host.leave()


def _command_names(host: Host, argument: str) -> Iterable[str]:
    return host.registry.names()


COMMANDS = (
    Command(
        "help",
        "/help [NAME]",
        "List the commands, or explain one (F1)",
        _help,
        aliases=("h",),
        group="screen",
        complete=_command_names,
    ),
    Command(
        "keys",
        "/keys [ACTION KEY]",
        "List the keys, or change one",
        _keys,
        group="screen",
        complete=lambda host, argument: [action for action, _, _ in host.key_table()],
    ),
    Command("legend", "/legend", "What the signs mean", _legend, group="screen"),
    Command(
        "theme",
        "/theme [NAME]",
        "Other colours: dark, light, contrast, plain",
        _theme,
        group="screen",
        complete=lambda host, argument: PALETTES,
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
    Command("bell", "/bell", "Ring, or do not ring, when somebody speaks to you", _bell, group="screen"),
    Command("clear", "/clear", "Take the program's own lines out of the log", _clear, group="screen"),
    Command(
        "bare", "/bare", "The log alone, for marking text with the terminal's mouse; again: back", _bare, group="screen"
    ),
    Command("quit", "/quit", "Leave", _quit, aliases=("q", "exit"), group="screen"),
)
