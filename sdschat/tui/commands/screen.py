"""Commands about the program itself: help, keys, the editor, leaving."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from sdschat.tui.host import ABSENT, Command, Host
from sdschat.tui.manual import (
    FIRST_STEPS,
    KEYS_FOR_LINES,
    PREFERENCES,
    SIGNS,
    SIGNS_FOR_LINES,
    TOPICS,
    Section,
    by_section,
    lines_of,
    whole_rows,
    without_keys,
)
from sdschat.tui.model.own_keys import key_problem, written_key
from sdschat.tui.model.results import CommandError, Page
from sdschat.tui.model.words import clean, key_words

_ALL: Final = "all"
_AT_FIRST: Final = "default"  # in place of a key: the one that the action had at first
_OF_A_SCREEN: Final = frozenset({"split", "editor", "bare", "theme", "ids", "bell", "clear"})
_FIRST: Final = ("who", "why", "end", "reply", "search", "msg", "join", "go", "channels", "invite", "me", "quit")
_ROW: Final = re.compile(r"\S.*?\s{2,}\S")  # of a table in the details of a command
_USAGE: Final = 22  # columns of a command and its arguments
_GROUPS: Final = {
    "chat": "writing, and people",
    "reading": "reading and finding",
    "channels": "channels",
    "private": "private channels",
    "members": "members' channels",
    "screen": "this program",
    "lens": "the Lens (F2)",
    "replay": "the recording",
}
_IN_INPUT: Final = (
    ("Enter", "sends"),
    ("Alt+Enter, Ctrl+J", "begins a new line"),
    ("Tab", "completes commands, arguments and nicks"),
    ("Up, Down", "recall what you wrote"),
    ("Ctrl+R", "searches what you wrote"),
    ("PgUp, PgDn", "scroll"),
    ("Esc", "goes one step back"),
    ("Ctrl+Z, Ctrl+Y", "takes back what was typed, and brings it back"),
    ("Ctrl+U", "empties the line from the cursor back"),
    ("Ctrl+X Ctrl+E", "writes in your editor"),
)
_FIXED: Final = (
    ("Ctrl+P", "the palette: channels, people, messages of all channels, commands, themes"),
    ("Alt+1 to Alt+9", "shows a channel"),
)
_IN_LOG: Final = (
    ("Up, Down, k, j", "select"),
    ("Home, End, g, G", "go to the oldest, to the newest"),
    ("r", "answers"),
    ("i", "details"),
    ("y", "copies"),
    ("o", "opens a link"),
    ("n, N", "older and newer hit"),
    ("t", "the chain of answers"),
    ("p", "the message that this one answers"),
    ("any other letter", "goes into the input; those of a message too, while none is selected"),
)
_IN_SEARCH: Final = (
    ("Enter, Up", "older hit"),
    ("Down", "newer hit"),
    ("Tab", "lists the hits"),
    ("F6", "stays at the hit"),
)


def _help(host: Host, argument: str) -> None:
    if argument == _ALL and not host.has_keys:
        host.show_pages(_pages(host), "commands")
    elif argument:
        name = argument.lstrip("/")
        host.answer("\n".join(_matching(host, argument) or _explained(host, name)), name)
    else:
        host.show_pages(_pages(host), FIRST_STEPS)


def _pages(host: Host) -> list[Page]:
    """Return the pages of help."""
    if not host.has_keys:
        pages = (("keys", KEYS_FOR_LINES), ("signs", SIGNS_FOR_LINES))
        first = [_command_line(each) for each in host.registry.commands if each.name in _FIRST]
        first = [without_keys(line) or line for line in first]
        return [
            Page(FIRST_STEPS, [*first, *_topic_lines(host)]),
            Page("commands", _command_lines(host)),
            *(Page(name, lines_of(page)) for name, page in pages),
        ]
    return [
        Page(FIRST_STEPS, list(_spaced(_chat_first(lines_of(TOPICS["chat"], host.glyphs)))), names_keys=True),
        Page("keys", _key_lines(host)),
        Page("commands", _command_lines(host)),
        Page("signs", lines_of(SIGNS, host.glyphs), names_keys=True),
    ]


def _chat_first(lines: list[str]) -> list[str]:
    """Put the list of what one does here first: who reads this has started the program already."""
    return sorted(lines[1:], key=lambda line: not line.startswith("- "))


def _spaced(lines: list[str]) -> Iterator[str]:
    """Yield lines with an empty one between paragraphs, lists and examples, so that they are read with ease."""
    before = lines[0]
    for number, line in enumerate(lines):
        if number and (line[:1] != before[:1] or line[:1] not in "- "):
            yield ""
        yield line.replace("- ", "-  ", 1) if line.startswith("- ") else line  # two spaces: the rest hangs below
        before = line


def _command_lines(host: Host) -> list[str]:
    """Return all commands by group, one on each line."""
    lines = []
    for group, title in _GROUPS.items():
        of_it = [each for each in host.registry.commands if each.group == group and _is_of_use(host, each)]
        lines += [f"{title}:"] if of_it else []
        for each in of_it:
            line = _command_line(each)
            if len(each.usage) > _USAGE:  # it has a line of its own
                lines.append(f"  {each.usage}")
                line = f"{'':{_USAGE + 4}}{each.summary}"
            lines.append(line)
    if not host.has_keys:
        return [*(without_keys(line) or line for line in lines), *_topic_lines(host)]
    lines.append("/help preferences tells of tui.toml: theme, keys, aliases, notify_command; and of themes/NAME.toml.")
    lines.append(
        f"/help NAME tells more of a command, or of {', '.join(_topics(host))}; /help WORDS lists every line of the "
        "help with these words; /keys lists the keys, /legend the signs. //x sends /x."
    )
    return lines


def _command_line(command: Command) -> str:
    return f"  {command.usage:<{_USAGE}}  {command.summary}"


def _topic_lines(host: Host) -> list[str]:
    """Return how to read the rest of the help, line after line: there is no page to turn and no filter."""
    topics = by_section(_topics(host)).items()
    return [
        "more help:",
        f"  {'/help all':<{_USAGE}}  All commands",
        *(f"  {f'/help {name}':<{_USAGE}}  {section.heading}" for section, name in topics),
        f"  {'/help COMMAND':<{_USAGE}}  More of a command",
        f"  {'/help WORDS':<{_USAGE}}  Every line of the help with these words",
        f"  {'/help all WORDS':<{_USAGE}}  The same, also for words that are a command or a topic",
        "//x sends /x.",
    ]


def _matching(host: Host, argument: str) -> list[str]:
    """Return every line of the help that has these words, and what is here in the place of what they name; none for a
    command or a topic."""
    first, _, rest = argument.partition(" ")
    everywhere = first == _ALL and bool(rest)
    words = (rest if everywhere else argument).lower().split()
    name = argument.lstrip("/")
    if not everywhere and (name in _topics(host) or host.registry.knows(name)):
        return []
    commands = (each for each in host.registry.commands if _is_of_use(host, each))
    pages = {"/help": [line for each in commands for line in _in_search(host, each)]}
    pages |= {f"/help {topic}": _page(host, topic) for topic in by_section(_topics(host)).values()}
    lines: list[str] = []
    for place, page in pages.items():
        found = [line for line in whole_rows(page) if all(word in line.lower() for word in words)]
        lines += [f"in {place}:", *(f"  {line.strip()}" for line in found)] if found else []
    if not lines and len(words) + everywhere > 1:
        raise CommandError(f"No line of the help has {clean(' '.join(words), limit=80)}.")
    instead = ABSENT.get(name.lower())
    return [instead, *lines] if instead and lines else lines


def _in_search(host: Host, command: Command) -> list[str]:
    """Return the lines about a command for a search: each says alone which command it is about."""
    usage, *about = _about(host, command)
    return [f"{usage}: {'. '.join(line for line in about if line[:1] != ' ')}", *(x for x in about if x[:1] == " ")]


def _is_of_use(host: Host, command: Command) -> bool:
    return host.has_keys or command.name not in _OF_A_SCREEN


def _topics(host: Host) -> dict[str, Section]:
    """Return the topics of the manual, for this host."""
    if host.has_keys:
        return dict(TOPICS)
    return {**TOPICS, "chat": TOPICS["plain"], "keys": KEYS_FOR_LINES, "signs": SIGNS_FOR_LINES}


def _page(host: Host, name: str) -> list[str]:
    """Return the lines of a topic of the manual; of none, nothing."""
    topics = _topics(host)
    page = lines_of(topics[name], host.glyphs) if name in topics else []
    if topics.get(name) == PREFERENCES and host.preferences.file is not None:
        page.insert(1, f"tui.toml is {host.preferences.file} on this machine.")
    if host.has_keys or _told_of_lines(topics, name):
        return page
    return [kept for line in page if (kept := without_keys(line))]


def _told_of_lines(topics: dict[str, Section], name: str) -> bool:
    return name in topics and (topics[name] != TOPICS[name] or name == "plain")


def _about(host: Host, command: Command) -> list[str]:
    """Return the lines about a command: each paragraph, which a sheet breaks itself, and each row of a table."""
    about, joins = [command.summary], False
    for line in command.details.splitlines():
        if _ROW.match(line):
            about.append(f"  {line}")
        elif joins:
            about[-1] += f" {line}"
        else:
            about.append(line)
        joins = not _ROW.match(line)
    return [command.usage, *(about if host.has_keys else map(without_keys, about))]


def _explained(host: Host, name: str) -> list[str]:
    """Return the lines about a topic of the manual or a command; both, if they have one name."""
    page = _page(host, name)
    if page and (host.registry.get(name) is None or _told_of_lines(_topics(host), name)):
        return page
    command = host.registry.find(name, _topics(host))
    also = [f"also: {', '.join(f'/{each}' for each in command.aliases)}"] if command.aliases else []
    return [*page, *_about(host, command), *also]


def _keys(host: Host, argument: str) -> None:
    if argument:
        _set_key(host, argument)
    else:
        host.show_pages(_pages(host), "keys")


def _key_lines(host: Host) -> list[str]:
    """Return the keys, those first that one needs first."""
    return [
        *_keys_there("in the input", _IN_INPUT),
        *_keys_there("everywhere (/keys NAME KEY changes one)", []),
        *(f"  {key_words(key):<18}  {label} ({action})" for action, key, label in host.key_table()),
        *_keys_there("everywhere, and always the same", _FIXED),
        *_keys_there("in the log (F6)", _IN_LOG),
        *_keys_there("in a search (Ctrl+F)", _IN_SEARCH),
    ]


def _keys_there(where: str, keys: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{where}:", *(f"  {key:<18}  {what}" for key, what in keys)]


def _set_key(host: Host, argument: str) -> None:
    if not host.has_keys:
        raise CommandError("There are no keys to change here. /keys lists those that there are.")
    action, _, key = argument.partition(" ")
    action, key = action.lower(), written_key(key)
    known = {name: keys for name, keys, _ in host.key_table()}
    if action not in known:
        raise CommandError(f"There is no action {clean(action, limit=40)}. /keys lists them.")
    if not key:
        raise CommandError(f"/keys {action} needs a key, such as f9 or ctrl+g; default: the one it had at first.")
    if key == _AT_FIRST:
        host.preferences.keys.pop(action, None)
    else:
        _check_key(action, key, known)
        host.preferences.keys[action] = key
    host.save_preferences()
    host.apply_keys()
    host.warn(f"{action}: {key if key == _AT_FIRST else key_words(key)}")


def _check_key(action: str, key: str, known: Mapping[str, str]) -> None:
    """Raise CommandError if this action cannot have this key. `known`: the keys of all actions."""
    if problem := key_problem(key):
        raise CommandError(f"{action} keeps its key: {clean(problem, limit=120)}.")
    taken = {each: name for name, keys in known.items() for each in keys.split(",") if name != action}
    other = next((taken[each] for each in key.split(",") if each in taken), None)
    if other is not None:
        raise CommandError(f"{key_words(key)} is the key of {other}. Give that another one first: /keys {other} KEY")


def _legend(host: Host, argument: str) -> None:
    host.show_pages(_pages(host), "signs")


async def _editor(host: Host, argument: str) -> None:
    await host.edit_draft(argument)


def _clear(host: Host, argument: str) -> None:
    host.model.timeline.clear_notes()
    host.log_view.refresh_rows()


def _bare(host: Host, argument: str) -> None:
    host.show_bare(argument)


def _quit(host: Host, argument: str) -> None:
    host.leave()


def _command_names(host: Host, argument: str) -> Iterable[str]:
    return [*host.registry.names(), *TOPICS]


COMMANDS = (
    Command(
        "help",
        "/help [NAME]",
        "List the commands, or explain one, or a topic of the manual (F1)",
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
        "editor",
        "/editor [TEXT]",
        "Write in your editor: VISUAL, else EDITOR",
        _editor,
        group="screen",
        reaches_out=True,
        details="Ctrl+X Ctrl+E, or Alt+E, takes what is in the input into it. The text comes back into the input, and\n"
        "Enter sends it. An editor that fails changes nothing.",
    ),
    Command("clear", "/clear", "Take the program's own lines out of the log", _clear, group="screen"),
    Command(
        "bare",
        "/bare [on, off]",
        "The log alone, for marking text with the terminal's mouse; again: back",
        _bare,
        group="screen",
    ),
    Command("quit", "/quit", "Leave", _quit, aliases=("q", "exit"), group="screen"),
)
