"""Preferences of the user: read from `tui.toml`, changed by commands, and kept with the profile, as is the broker of
the last time."""

from __future__ import annotations

import copy
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from sdschat.node.events import ConnectionChanged, NodeEvent
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.user_texts import last_broker
from sdschat.node.view.values import TomlError, read_toml
from sdschat.tui.model.own_keys import key_problem, written_key
from sdschat.tui.model.words import clean
from sdschat.tui.themes import AUTO, PALETTES, Palette

LEVELS: Final = ("all", "mentions", "none")
_HERE: Final = "the broker of this machine"
KEPT_AS: Final = "preferences"
FORMS: Final = ("auto", "off", "9", "99", "777")  # of notifications: the numbers of the sequences
_NO_VALUES: Final = ("palettes", "theme_problems", "file", "of_file")
_OF_THE_FILE: Final = ("notify_terminal", "notify_command", *_NO_VALUES)


class PreferenceError(ValueError):
    """A preference cannot be used. The text says which, why, and which values are possible."""


@dataclass(slots=True)
class Preferences:
    theme: str = AUTO
    ids: bool = False  # show the first letters of ids
    links: bool = True  # as links of the terminal
    bell: bool = True  # on a mention
    notify: dict[str, str] = field(default_factory=dict)  # by channel: what counts as news
    keys: dict[str, str] = field(default_factory=dict)  # by action: the key for it
    notify_terminal: str = "auto"  # the sequence of the terminal's notifications
    notify_command: list[str] = field(default_factory=list)  # run for each of them, without a shell
    highlight: list[str] = field(default_factory=list)  # words that count as the own nick does
    log: dict[str, str] = field(default_factory=dict)  # by channel: "on", "off" or the file of its text log
    aliases: dict[str, str] = field(default_factory=dict)  # by name: the line it stands for
    palettes: dict[str, Palette] = field(default_factory=lambda: dict(PALETTES))  # by name: the themes there are
    theme_problems: dict[str, str] = field(default_factory=dict)  # by name: why a file is no theme, or hard to read
    file: Path | None = None  # where they may stand on this machine
    of_file: dict[str, Any] = field(default_factory=dict)  # by name: the value in the file, or the default

    def __post_init__(self) -> None:
        self.take_as_file()

    @property
    def themes(self) -> tuple[str, ...]:
        """Return the names that a theme can have."""
        return (AUTO, *self.palettes)

    def read_themes(self) -> None:
        """Read the files of the user's own themes as they are now."""
        folder = None if self.file is None else self.file.with_name("themes")
        if folder is not None and folder.is_dir():
            from sdschat.tui.theme_files import load_themes

            own, self.theme_problems = load_themes(folder)
            self.palettes = {**PALETTES, **own}

    def level(self, channel: str) -> str:
        return self.notify.get(channel, "all")

    def change(self, name: str, value: object) -> None:
        """Change one preference. Raises PreferenceError."""
        names = [each for each in self.__slots__ if each not in _NO_VALUES]
        if name not in names:
            raise PreferenceError(f"There is no preference {name}; there are {', '.join(names)}.")
        before = getattr(self, name)
        if isinstance(before, dict):
            if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
                raise PreferenceError(f"{name} has to be a table of texts.")
            if name == "notify" and (wrong := [one for one, level in value.items() if level not in LEVELS]):
                level = value[wrong[0]]
                raise PreferenceError(f"{wrong[0]} in [notify] is {level!r}, and must be one of {', '.join(LEVELS)}.")
            if name == "keys":
                self._take_keys(value)
            elif name == "aliases":  # with or without their slashes
                before.update((each.lstrip("/").lower(), line.lstrip("/ ")) for each, line in value.items())
            else:
                before.update(value)
            return
        if isinstance(before, list):
            if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
                example = '"notify-send", "chat"' if name == "notify_command" else '"rope"'
                raise PreferenceError(f"{name} has to be a list of texts, such as [{example}].")
            before.extend(each for each in value if name != "highlight" or each not in before)
            return
        if type(value) is not type(before):
            raise PreferenceError(f"{name} has to be {'true or false' if isinstance(before, bool) else 'a text'}.")
        if name == "theme" and value not in self.themes:
            if value in self.theme_problems:
                raise PreferenceError(self.theme_problems[value])
            raise PreferenceError(f"There is no theme {value}; there are {', '.join(self.themes)}.")
        if name == "notify_terminal" and value not in FORMS:
            raise PreferenceError(f"notify_terminal is {value!r}, and must be one of {', '.join(FORMS)}.")
        setattr(self, name, value)

    def _take_keys(self, keys: Mapping[str, str]) -> None:
        """Take the keys that can be given to an action. Raises PreferenceError for the first other one."""
        keys = {action: written_key(key) for action, key in keys.items()}
        unusable = {action: problem for action, key in keys.items() if (problem := key_problem(key))}
        self.keys.update((action, key) for action, key in keys.items() if action not in unusable)
        for action, problem in unusable.items():
            raise PreferenceError(f"{clean(action, limit=40)} keeps its key: {clean(problem, limit=120)}.")

    def take_as_file(self) -> None:
        """Take the values of now for those of the file: `dumped` leaves them out."""
        names = (name for name in self.__slots__ if name not in _OF_THE_FILE)
        self.of_file = {name: copy.copy(getattr(self, name)) for name in names}

    def dumped(self) -> str:
        """Return what commands changed. The rest is read from the file at the next start, as it is then."""
        kept = {name: now for name in self.of_file if (now := self._changed(name)) is not None}
        return json.dumps(kept, ensure_ascii=False)

    def _changed(self, name: str) -> object:
        """Return what commands changed in one preference; None if nothing."""
        now, before = getattr(self, name), self.of_file[name]
        if isinstance(now, dict):
            return {key: value for key, value in now.items() if before.get(key) != value} or None
        if isinstance(now, list):
            return [each for each in now if each not in before] or None
        return None if now == before else now


def load(path: Path | None, kept: str) -> tuple[Preferences, list[str]]:
    """Load the file, then the changes made by commands. Return them with the problems of unusable ones."""
    found = Preferences(file=path)
    problems: list[str] = []
    found.read_themes()
    if path is not None and path.is_file():
        try:
            _take(found, read_toml(path), str(path), problems)
        except TomlError as error:
            problems.append(f"{path} cannot be read: {error}")
    found.take_as_file()
    if kept:
        try:
            _take(found, json.loads(kept), "the profile", problems)
        except (ValueError, TypeError):
            problems.append("the preferences of this profile cannot be read; the defaults are in force")
    if found.theme in found.theme_problems:
        problems.append(found.theme_problems[found.theme])
    return found, problems


def _take(found: Preferences, values: Mapping[str, Any], where: str, problems: list[str]) -> None:
    if not isinstance(values, dict):
        raise TypeError
    for name, value in values.items():
        try:
            found.change(name, value)
        except PreferenceError as error:
            problems.append(f"{where}: {error}")


def moved_words(view: Conversations, channels: Sequence[str]) -> list[str]:
    """Return what to say where a channel is opened over another broker than the last time. From now on, keep the broker
    of each channel that is connected."""
    if view.guest or view.recorded:
        return []
    now = view.node.broker
    found = dict[str, str]()
    for channel in channels:
        last = view.value(last_broker(channel))
        if last and last != (now or _HERE):
            found.setdefault(last, channel)
    view.node.listen(partial(_keep_broker, view, now or _HERE))
    return [_moved(last, now, channel) for last, channel in found.items()]


def _keep_broker(view: Conversations, broker: str, event: NodeEvent) -> None:
    connected = isinstance(event.body, ConnectionChanged) and event.body.state == "connected"
    if connected and view.value(name := last_broker(event.channel)) != broker:
        view.set_value(name, broker)


def _moved(last: str, now: str, channel: str) -> str:
    back = f"sdschat join {shlex.quote(channel)}{'' if last == _HERE else f' --broker {last}'}"
    told = f"{channel} is on {now or _HERE} now; the last time it was on {last}. Whoever is there is not here: {back}"
    return clean(f"{told} leads there.", limit=600)
