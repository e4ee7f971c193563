"""Options that several commands have, and the settings in force, each with its source.

Option, variable, project file, user's file, default: the first that has a value wins.
"""

from __future__ import annotations

import contextlib
import functools
import getpass
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import click

from sdschat.cli.errors import FILE, WRONG_USE, CommandProblem, say, user_path
from sdschat.cli.passphrase import PASSPHRASE_VARIABLE
from sdschat.identity.handwritten import TomlError, did_you_mean, read_toml
from sdschat.node.profile import database_path, last_nick, profile_names
from sdschat.node.settings import SETTINGS, SIZES, SettingError, Settings, Value, make_settings, parse
from sdschat.store.errors import StoreError
from sdschat.transport.address import AddressError, parse_url
from sdschat.transport.credentials import PASSWORD_VARIABLE, is_writable_by_others

PROJECT_FILE: Final = "sdschat.toml"
# Values with an option of their own. A default of None follows from the others.
GENERAL: Final[Mapping[str, Value | None]] = {
    "broker": None,
    "name": None,
    "profile": None,
    "data_dir": None,
    "timing": "spec",
    "ca_file": None,
    "cert_file": None,
    "key_file": None,
    "password_file": None,
    "allow_clear_password": False,
}
# Origins of a name and a profile that the user did not give.
WORKED_OUT: Final = frozenset(
    {
        _USER := "the user's name on this machine",
        _NICK := "the nick",
        _ONLY := "the only profile there is",
        _RENAMED := "the profile that goes by this nick",
        "default",
    }
)
STORE_NAME: Final = "store"  # name and profile of a Store node by default
_TAKEN_BESIDE: Final = re.compile(r"-\d+$")
PASSWORD_SEEN: Final = (
    "The broker's password stands in the command line, where other users of this machine can read it. "
    f"Give it by --password-file, by {PASSWORD_VARIABLE}, or when asked."
)
IN_USE: Final = "another process uses the profile "  # the origin of a name and a profile taken in its place
_PREFIX: Final = "SDSCHAT_"
_READ_ELSEWHERE: Final = frozenset({PASSWORD_VARIABLE, PASSPHRASE_VARIABLE, CONFIG_VARIABLE := f"{_PREFIX}CONFIG"})
_OF_TESTS: Final = re.compile(rf"{_PREFIX}(TEST_\w+|\w+_SEEDS)")
_NAMED: Final = re.compile("|".join(["^timing", *map(re.escape, sorted(SETTINGS, key=len, reverse=True))]))
_DURATIONS: Final = frozenset(name for name, setting in SETTINGS.items() if setting.parse.__name__ == "duration")
_SIZES: Final = frozenset(name for name, setting in SETTINGS.items() if setting.parse.__name__ == "size")


class FoundSettings(NamedTuple):
    value: Value | None
    origin: str


@dataclass(slots=True)
class Chosen:
    """All values in force, each with its origin."""

    general: dict[str, FoundSettings]
    settings: Settings
    origins: dict[str, str]
    verbose: int = 0
    warnings: list[str] = field(default_factory=list)

    def text(self, name: str) -> str | None:
        value = self.general[name].value
        return None if value is None else str(value)

    def path(self, name: str) -> Path | None:
        text = self.text(name)
        return None if text is None else user_path(text)

    @property
    def nick(self) -> str:
        return self.text("name") or ""

    @property
    def profile(self) -> str:
        return self.text("profile") or ""

    @property
    def data_dir(self) -> Path:
        found = self.path("data_dir")
        assert found is not None
        return found

    @property
    def database(self) -> Path:
        """Return the path of the profile's database, which may not exist."""
        return database_path(self.data_dir, self.profile)


class Layer(NamedTuple):
    """One source of values, by dotted name."""

    origin: str
    values: Mapping[str, Value]


def resolve(
    options: Mapping[str, Value | None],
    sets: Sequence[str],
    environ: Mapping[str, str],
    *,
    config: Path | None = None,
    project: Path | None = None,
    user: Path | None = None,
    verbose: int = 0,
) -> Chosen:
    """Return all values in force; `config` replaces both other files. Raises CommandProblem (2) for a bad value."""
    warnings = list(_unknown_variables(environ))
    layers = [
        Layer("option", {name: value for name, value in options.items() if value is not None}),
        Layer("--set", dict(_assignment(text) for text in sets)),
        _environment(environ),
        *_files(config, project, user, warnings),
    ]
    general = {name: _first(layers, name) or FoundSettings(default, "default") for name, default in GENERAL.items()}
    if _shows_password(general["broker"]):
        warnings.append(PASSWORD_SEEN)
    _work_out(general)
    values: dict[str, Value] = {}
    origins = {"timing": general["timing"].origin}
    timing = str(general["timing"].value)
    for name in SETTINGS:
        found = _first(layers, name)
        origins[name] = "default" if timing == "spec" else f"default of timing {timing}"
        if found is not None and found.value is not None:
            _check(name, found.value, found.origin)
            values[name] = found.value
            origins[name] = found.origin
    try:
        settings = make_settings(values, timing)
    except SettingError as error:
        raise CommandProblem(_with_origins(str(error), origins), WRONG_USE) from error
    return Chosen(general, settings, origins, verbose, warnings)


def _shows_password(broker: FoundSettings) -> bool:
    """True if the command line has the broker's password in it. What else is wrong with the address is told later."""
    try:
        return broker.origin == "--broker" and parse_url(str(broker.value))[1] is not None
    except AddressError:
        return False


def _with_origins(problem: str, origins: Mapping[str, str]) -> str:
    """Return the text of a conflict between settings, with durations in units and the origin of each setting, which
    may be a forgotten file."""
    names = list(dict.fromkeys(_NAMED.findall(problem)))
    if names and names[0] in _DURATIONS and SETTINGS[names[0]].group in ("config", "timber"):  # others name their unit
        problem = re.sub(r"\b\d+\b", lambda number: written(names[0], int(number[0])), problem)
    said = [name for name in names if not origins[name].startswith("default")]
    if all(origins[name] == "--set" for name in said):
        return problem
    if len(names) == 1:
        return f"{problem} (from {origins[said[0]]})"
    return f"{problem} ({', '.join(f'{name} is from {origins[name]}' for name in said)})"


def _check(name: str, value: Value, origin: str) -> None:
    """Raise CommandProblem for a bad value. The value stays as it is written, for `make_settings` to read."""
    try:
        parse(name, value)
    except SettingError as error:
        where = "" if origin in ("option", "--set") else f" (from {origin})"
        raise CommandProblem(f"{error}{where}", WRONG_USE) from error


def _first(layers: Sequence[Layer], name: str) -> FoundSettings | None:
    for layer in layers:
        if name in layer.values:
            names = {"option": f"--{name.replace('_', '-')}", "environment": _variable(name)}
            return FoundSettings(layer.values[name], names.get(layer.origin, layer.origin))
    return None


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals:
        raise CommandProblem(f"--set {text} has no value. Write it as --set KEY=VALUE.", WRONG_USE)
    try:
        parse(name, value.strip())
    except SettingError as error:
        raise CommandProblem(str(error), WRONG_USE) from error
    return name, value.strip()


def _variable(name: str) -> str:
    return f"{_PREFIX}{name.replace('.', '_').upper()}"


def _environment(environ: Mapping[str, str]) -> Layer:
    names = [*GENERAL, *SETTINGS]
    return Layer("environment", {name: environ[key] for name in names if environ.get(key := _variable(name))})


def _unknown_variables(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each unknown `SDSCHAT_` variable: a mistyped one would silently do nothing."""
    known = [*map(_variable, [*GENERAL, *SETTINGS]), *_READ_ELSEWHERE]
    bare = [each.removeprefix(_PREFIX) for each in known]
    for name in sorted(environ):
        if not name.startswith(_PREFIX) or not environ[name] or name in known or _OF_TESTS.fullmatch(name):
            continue
        hint = did_you_mean(name.removeprefix(_PREFIX).upper(), bare, prefix=_PREFIX)
        yield f"The variable {name} is not known here. {hint}".rstrip()


def _files(config: Path | None, project: Path | None, user: Path | None, warnings: list[str]) -> Iterator[Layer]:
    if config is not None:
        if not config.is_file():
            wrong = f"{config} is no file." if config.exists() else f"There is no configuration file {config}."
            raise CommandProblem(f"{wrong} Check the name after --config.", WRONG_USE)
        yield _file(config, warnings)
        return
    for path in (project, user):
        if path is not None and path.is_file():
            if path == project and is_writable_by_others(path):  # it says to which broker a password goes
                warnings.append(
                    f"Others may write {path}, so it is not read. Close it to them, or name it with --config."
                )
            else:
                yield _file(path, warnings)


def _file(path: Path, warnings: list[str]) -> Layer:
    try:
        content = read_toml(path)
    except TomlError as error:
        raise CommandProblem(f"{path} {error.cannot}: {error}. Correct or move it.", WRONG_USE) from error
    values: dict[str, Value] = {}
    for name, value in _flat(content, ""):
        known = name if name in SETTINGS else name.replace("-", "_")
        if known not in SETTINGS and known not in GENERAL:
            hint = did_you_mean("password_file" if name.endswith("password") else name, [*SETTINGS, *GENERAL])
            warnings.append(f"{path} has a setting {name}, which is not known here. {hint}".rstrip())
        elif not isinstance(value, str | int | float | bool):
            raise CommandProblem(f"{name} in {path} has to be a text, a number, true or false.", WRONG_USE)
        else:
            values[known] = value
    return Layer(str(path), values)


def _flat(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _work_out(general: dict[str, FoundSettings]) -> None:
    """Fill in the defaults that follow from other values or from the system."""
    if general["data_dir"].value is None:
        from sdschat.node.profile import default_data_dir

        general["data_dir"] = FoundSettings(str(default_data_dir()), "default")
    if general["name"].value is None and general["profile"].value is None:
        only = _only_profile(user_path(str(general["data_dir"].value)))
        if only:  # who was ann yesterday is ann today
            general["name"] = general["profile"] = FoundSettings(only, _ONLY)
    if general["name"].value is None:
        try:
            general["name"] = FoundSettings(getpass.getuser(), _USER)
        except (OSError, KeyError):  # the user has no name, as in some containers
            general["name"] = FoundSettings("me", "default")
    if general["profile"].value is None:
        general["profile"] = _profile_of(user_path(str(general["data_dir"].value)), str(general["name"].value))


def _profile_of(data_dir: Path, nick: str) -> FoundSettings:
    """Return the profile of a nick: by name, or the only one that took this nick by /nick."""
    names, found = profile_names(data_dir), []
    for name in names if nick not in names else ():
        with contextlib.suppress(StoreError):
            if last_nick(database_path(data_dir, name)) == nick:
                found.append(name)
    return FoundSettings(found[0], _RENAMED) if len(found) == 1 else FoundSettings(nick, _NICK)


def _only_profile(data_dir: Path) -> str:
    """Return the profile that is there, if there is one alone. A Store's does not count, nor those that were taken
    while another was in use, as ann-2 beside ann. Else an empty text."""
    names = set(profile_names(data_dir)) - {STORE_NAME}
    own = [name for name in names if _TAKEN_BESIDE.sub("", name) not in names - {name}]
    return own[0] if len(own) == 1 else ""


def written(name: str, value: Value | None) -> str:
    """Return the value as a user writes it in `--set`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if name in _DURATIONS and isinstance(value, int):
        for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)):
            if value and value % size == 0:
                return f"{value // size}{unit}"
        return f"{value}ms"
    if name in _SIZES and isinstance(value, int):
        fitting = [unit for unit, size in SIZES.items() if value % size == 0]
        return f"{value // SIZES[fitting[-1]]}{fitting[-1]}" if value else "none"
    return "" if value is None else str(value)


F = TypeVar("F", bound=Callable[..., Any])

LOCAL: Final = (  # --name and --profile come first
    click.option("--name", metavar="NICK", help="Your nick. Default: that of the only profile, else your user name."),
    click.option(
        "--profile", metavar="NAME", help="The profile: messages and key. Default: the nick, or the only one."
    ),
    click.option("--data-dir", metavar="DIR", type=FILE, help="The folder of all profiles."),
    click.option("--config", type=FILE, help="Read this file instead of ./sdschat.toml and the user's."),
    click.option("--set", "sets", metavar="KEY=VALUE", multiple=True, help="A setting; `sdschat config` lists them."),
    click.option("-v", "--verbose", count=True, help="Say more on standard error."),
)
NETWORK: Final = (
    click.option("--broker", metavar="URL", help="mqtt://host:port, mqtts://, ws:// or wss://."),
    click.option("--wire", type=click.Choice(["spec", "nim"]), help="nim: the bytes of nim-sds; the setting sds.wire."),
    click.option("--timing", type=click.Choice(["spec", "demo"]), help="demo: repair within 2 to 10 s."),
    click.option("--password-file", type=FILE, help="Holds the broker's password; -: the first line of stdin."),
    click.option("--ca-file", type=FILE, help="Trust this authority for TLS, not the system's."),
    click.option("--cert-file", type=FILE, help="Our own certificate for TLS."),
    click.option("--key-file", type=FILE, help="The key of our certificate."),
    click.option("--allow-clear-password", is_flag=True, default=None, help="Send it even where others can read it."),
)
_SETTING_OF: Final = {"wire": "sds.wire", "max_size": "store.max_size"}  # options that set a setting


def data_set_option(command: F) -> F:
    """Add --dataset, for commands that may join a members' channel."""
    return click.option("--dataset", metavar="ID", help="Join only the members' channel with this data set.")(command)


def local_options(command: F) -> F:
    """Add the options of a profile. The command gets one argument `chosen` in place of all of them."""
    return with_options(command, LOCAL)


def channel_options(command: F) -> F:
    """Add the options of a profile and of a broker, for commands that take part in a channel."""
    return with_options(command, (*NETWORK, *LOCAL))


def with_options(command: F, options: tuple[Callable[[F], F], ...]) -> F:
    @functools.wraps(command)
    def wrapped(**given: Any) -> Any:
        return command(chosen=_choose(given), **given)

    decorated: Any = wrapped
    for option in reversed(options):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


def _choose(given: dict[str, Any]) -> Chosen:
    """Remove these options from `given`, and return all values in force, with those of files and variables."""
    sets, verbose = given.pop("sets"), given.pop("verbose")
    sets += tuple(
        f"{name}={value}" for each, name in _SETTING_OF.items() if (value := given.pop(each, None)) is not None
    )
    named = given.pop("config") or os.environ.get(CONFIG_VARIABLE)
    options = {name: given.pop(name) for name in GENERAL if name in given}
    chosen = resolve(
        options,
        sets,
        os.environ,
        config=user_path(named) if named else None,
        project=Path(PROJECT_FILE),
        user=user_file(),
        verbose=verbose,
    )
    for warning in chosen.warnings:
        say(f"warning: {warning}")
    return chosen


def user_file() -> Path:
    """Return the path of the user's configuration file, which may not exist."""
    import platformdirs

    return Path(platformdirs.user_config_dir("sdschat", appauthor=False)) / "config.toml"
