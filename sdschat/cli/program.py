"""The program: its commands, its exit codes, and the one line for each error."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from sdschat import __version__
from sdschat.cli import errors as codes
from sdschat.cli.errors import say
from sdschat.cli.lazy import LazyGroup
from sdschat.cli.terminal import reserve_closed, take_all_letters
from sdschat.identity.handwritten import did_you_mean

_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_NO_NUMBER: Final = (errno.EMFILE, errno.ENFILE)  # a file or connection is opened, and no number is left for it
_OS_ERROR: Final = re.compile(r"\(os error (\d+)\)")  # of libraries that tell the number in their text alone
_EXTRA: Final = frozenset(
    {"numpy", "pandas", "pyarrow", "pyspark", "duckdb", "deltalake", "altair", "vl_convert"}
)  # of sdschat[pipeline]
_WEB: Final = frozenset({"aiohttp", "textual_serve"})  # of sdschat[web]

# Section: name: short description. The module of a command has its name, and is imported only when the command is used.
SECTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "Chat": {
        "join": "Join a channel and chat.",
        "send": "Send one message.",
        "serve": "Let others chat from their browsers.",
        "pipe": "Send input lines as messages, print events as JSON lines.",
        "demo": "Watch a channel whose participants talk and fail.",
    },
    "Read what was said, without a network": {
        "log": "Print the history.",
        "tail": "Print the last messages, and those that come.",
        "export": "Write the history into a file.",
        "channels": "List the channels of a profile.",
        "replay": "Watch a recording: play it, step through it, go back in it.",
        "share": "Write the last minutes as a page that plays in a browser.",
    },
    "Private channels, members and keys": {
        "create": "Make a private channel, or a members' channel.",
        "invite": "Print a link that lets others into a private channel.",
        "remove": "Remove a member of a private channel, and change its key.",
        "verify": "Compare six words with somebody, to know their key.",
        "export-identity": "Write the key of a profile into a file with a passphrase.",
        "import-identity": "Begin a profile with the key from such a file.",
        "timber": "Look into members' channels.",
    },
    "Run what others use": {
        "broker": "Run the embedded broker alone.",
        "store": "Archive channels, and answer for the absent.",
        "tap": "Record the topics of a broker into files.",
    },
    "Find out what happened": {
        "doctor": "Check files, settings and the broker.",
        "inspect": "Show the state of a channel, or one message.",
        "decode": "Explain a packet, and the rules that it breaks.",
        "audit": "Compare the databases of several nodes.",
        "simulate": "Simulate groups of participants, one seed each.",
        "pipeline": "Run audits, figures and simulations on Spark.",
    },
    "This program": {
        "config": "Print every setting in force, and its source.",
        "locate": "Print the paths of a profile's files.",
        "completions": "Print the completion script of a shell.",
        "help": "Show a page of the manual.",
        "man": "Show the manual page of everything.",
        "version": "Print the version.",
    },
}
COMMANDS: Final = {name: summary for section in SECTIONS.values() for name, summary in section.items()}
_OFFERS: Final[Mapping[str, tuple[str, str]]] = {
    "1": ("join a channel", "join lobby"),
    "2": ("watch a demonstration", "demo"),
    "3": ("read the manual", "help chat"),
}
_OTHERS_WORDS: Final = {  # for a command, in other programs
    "join": ("chat", "connect", "open", "start"),
    "send": ("msg", "dm", "message", "say", "post", "publish"),
    "log": ("history", "messages", "read", "show", "search", "grep", "find"),
    "tail": ("follow", "watch", "monitor"),
    "channels": ("list", "ls", "rooms"),
    "create": ("new", "make", "init"),
    "remove": ("kick", "ban"),
    "share": ("report",),
    "inspect": ("status", "info", "state"),
    "doctor": ("check", "ping", "test", "repair", "fix"),
    "config": ("set", "settings", "preferences"),
    "locate": ("profile", "profiles", "whoami"),
    "serve": ("web", "browser"),
    "broker": ("server", "daemon"),
    "store": ("archive",),
    "export-identity": ("backup",),
    "import-identity": ("import", "restore"),
}
_INSTEAD: Final = {word: name for name, words in _OTHERS_WORDS.items() for word in words}
_OF_CHAT: Final = frozenset({"leave", "part", "quit", "exit", "close"})
_PLAIN_WORDS: Final = {"a valid integer range": "a whole number", "a valid float range": "a number"}  # for Click's
_OF_CREATE: Final = ("--members", "--private")
EXAMPLES: Final = """\b
Examples:
  sdschat join lobby --name ann          chat in the channel lobby
  sdschat pipe lobby --name ann          for programs: lines in, JSON out
  sdschat send lobby "hello" --name bob  send one message
  sdschat log lobby --name ann           read the history, without a network

\b
With no broker given, and none on this machine, sdschat starts one itself.
"""


class _Commands(LazyGroup):
    """The group of all commands, which suggests the nearest name for a mistyped one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            otherwise = "`sdschat help` lists them."
            if args[0].replace("-", "").isalnum():
                otherwise = f"A channel of this name is opened by: sdschat join {args[0]}."
            hint = did_you_mean(_INSTEAD.get(args[0], args[0]), COMMANDS, otherwise)
            if args[0] in _OF_CHAT:
                hint = "Ctrl+C twice leaves a chat, and /part in it closes one channel."
            ctx.fail(f"There is no command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Commands,
    package="sdschat.cli",
    sections=SECTIONS,
    invoke_without_command=True,
    help=f"Group chat that does not lose messages.\n\n{EXAMPLES}",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name="sdschat")
@click.pass_context
def program(ctx: click.Context) -> int:
    if ctx.invoked_subcommand is not None:
        return codes.DONE
    if sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty():
        return _offer()
    click.echo(ctx.get_help())
    return codes.DONE


def _offer() -> int:
    """Offer to a person what they may have come for, and do it. Return its exit code."""
    click.echo("sdschat: group chat that does not lose messages.\n")
    for key, (what, line) in _OFFERS.items():
        click.echo(f"  {key}  {what:<24} sdschat {line}")
    click.echo("\n`sdschat --help` lists all commands.\n")
    key = click.prompt("1, 2, 3, or Enter to leave", default="", show_default=False).strip()
    if not key:
        return codes.DONE
    if key not in _OFFERS:
        raise click.UsageError(f"There is no {key!r} among these.")
    arguments = _OFFERS[key][1].split()
    if arguments[0] == "join":
        arguments[1] = click.prompt("The channel", default=arguments[1]).strip()
    code = program.main(arguments, prog_name="sdschat", standalone_mode=False)
    return code if isinstance(code, int) else codes.DONE


def run(arguments: Sequence[str]) -> int:
    """Run a command. Return its exit code; raises nothing, and shows no traceback."""
    reserve_closed()
    take_all_letters()
    try:
        code = program.main(list(arguments), prog_name="sdschat", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code if isinstance(code, int) else codes.DONE
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else _command_path(arguments)
        text = " ".join(error.format_message().split())
        for words, plain in _PLAIN_WORDS.items():
            text = text.replace(words, plain)
        if isinstance(error, click.NoSuchOption) and error.option_name in _OF_CREATE and command.endswith(" join"):
            text = f"A channel is made with {error.option_name} first: sdschat create NAME {error.option_name}."
        quotes = " A text of several words stands in quotes." if "extra argument" in text and "send" in command else ""
        say(f"sdschat: {text}{'' if text.endswith(('.', '?', '!')) else '.'}{quotes} See `{command} --help`.")
        return codes.WRONG_USE
    except (click.Abort, KeyboardInterrupt):
        return codes.INTERRUPTED
    except (BrokenPipeError, SystemExit):  # the latter is Click's word for the former
        _forget_output()
        return codes.DONE
    except Exception as error:
        return _ended_by(error)


def _command_path(arguments: Sequence[str]) -> str:
    """Return the command that these arguments name: Click knows it not where an option lacks its value."""
    found: click.Group = program
    path = "sdschat"
    for name in arguments:
        inner = found.get_command(click.Context(found), name)
        if inner is None:
            break
        path = f"{path} {name}"
        if not isinstance(inner, click.Group):
            break
        found = inner
    return path


def _ended_by(error: Exception) -> int:
    """Say in one line what went wrong, and return the exit code. An unexpected error leaves its traceback in a file."""
    code = _known_code(error)
    if code is not None:
        say(f"sdschat: {error}")
        return code
    if isinstance(error, ModuleNotFoundError) and error.name in _EXTRA | _WEB:
        from sdschat.audit.errors import install_command

        extra = "web" if error.name in _WEB else "pipeline"
        say(f"sdschat: This needs the package {error.name}, which is not installed. Do: {install_command(extra)}")
        return codes.WRONG_USE
    if isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None:
        _forget_output()
        say(f"sdschat: the output cannot be written: {error.strerror}.")
        return codes.UNEXPECTED
    if isinstance(error, OSError) and error.errno in _NO_NUMBER:
        say(f"sdschat: {error.strerror}. Raise the limit (ulimit -n), and try again.")
        return codes.UNEXPECTED
    if isinstance(error, FileNotFoundError) and error.filename is None and not _has_place():
        say("sdschat: the folder that you are in is gone. Change to another one.")
        return codes.WRONG_USE
    if isinstance(error, UnicodeEncodeError) and "\udc80" <= error.object[error.start] <= "\udcff":  # as it was typed
        say(f"sdschat: {error.object} has a byte that is no text in UTF-8. Type it again.")
        return codes.WRONG_USE
    told = None if getattr(error, "errno", None) else _OS_ERROR.search(str(error))
    if told is not None and int(told[1]) in _NO_ROOM:
        say(f"sdschat: a file cannot be written: {os.strerror(int(told[1]))}. What was written before is kept.")
        return codes.UNEXPECTED
    if isinstance(error, PermissionError) and error.filename is not None:
        say(f"sdschat: {error.filename}: no permission. Is it another user's? Choose another profile or file.")
        return codes.PROFILE
    kept = _keep_traceback(error)
    where = f"The details are in {kept}." if kept is not None else "The details could not be written to a file."
    say(f"sdschat: unexpected failure: {type(error).__name__}: {error}. {where}")
    return codes.UNEXPECTED


def _has_place() -> bool:
    """True if the folder that the program was started in is still there."""
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _known_code(error: Exception) -> int | None:
    if isinstance(error, codes.CommandProblem):
        return error.exit_code
    # Errors of lower layers, recognised without importing modules that this command did not load.
    known: dict[str, int] = {
        "StoreError": getattr(error, "exit_code", codes.UNEXPECTED),
        "KeyFileError": codes.PROFILE,
        "LinkError": codes.WRONG_USE,
        "AddressError": codes.WRONG_USE,
        "ProfileError": codes.WRONG_USE,
        "SettingError": codes.WRONG_USE,
        "BrokerError": codes.UNREACHABLE,
        "PipelineProblem": getattr(error, "exit_code", codes.UNEXPECTED),
    }
    return next((known[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in known), None)


def _keep_traceback(error: BaseException) -> Path | None:
    import time
    import traceback

    from sdschat.cli.logs import log_folder
    from sdschat.node.files import open_private

    try:
        path = log_folder() / f"failure-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
        with open_private(path, "w", errors="backslashreplace") as file:
            file.write(f"sdschat {__version__}, Python {sys.version}\n")
            traceback.print_exception(error, file=file)
    except OSError:
        return None
    return path


def _forget_output() -> None:
    """Send further output nowhere: its reader is gone, and Python would complain about that again at its end."""
    if sys.stdout is None:  # closed before the start
        return
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
