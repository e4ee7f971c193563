"""`sdschat man`: the manual page, made of the texts of --help and of the tables of the page for programs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import click

from sdschat.cli.help import show
from sdschat.tui.manual import FOR_PROGRAMS, Section, rows_of

# Sections of the manual page that are tables of the page for programs.
_TABLES: Final = {"EXIT STATUS": "Exit codes", "ENVIRONMENT": "Environment", "FILES": "Files"}
_INDENT: Final = " " * 6
_WIDTH: Final = 90
_COMMON: Final = 3  # an option of so many commands is explained once, under COMMON OPTIONS


@click.command("man")
def command() -> None:
    """Show the manual page; if the output is no terminal, print it in the language of man(7).

    \b
    Examples:
      sdschat man
      sdschat man > ~/.local/share/man/man1/sdschat.1
    """
    from sdschat.cli.program import program

    lines = list(page(program))
    if sys.stdout is None or not sys.stdout.isatty():
        click.echo("\n".join(lines))
    elif not _shown_by_man("\n".join(lines)):
        show("\n".join(plain(lines)))


def _shown_by_man(roff: str) -> bool:
    """Show the page with the program man. Return True if that worked."""
    man = shutil.which("man")
    if man is None:
        return False
    return subprocess.run([man, "-l", "-"], input=f"{roff}\n".encode(), check=False).returncode == 0


def plain(lines: Iterable[str]) -> Iterator[str]:
    """Yield the page as plain text: headings at the left, everything else indented."""
    filled = True
    for line in lines:
        macro, _, rest = line.partition(" ") if line.startswith(".") else ("", "", line)
        text = _unescaped(rest.strip('"') if macro == ".SS" else rest)
        match macro:
            case ".SH" | ".SS":
                yield from ("", text if macro == ".SH" else f"  {text}")
            case ".nf" | ".fi":
                filled = macro == ".fi"
            case ".B":
                yield f"    {text}"
            case "" if filled:
                yield textwrap.fill(text, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
            case "":
                yield _INDENT + text


def _unescaped(text: str) -> str:
    """Undo `_text`."""
    for escape, sign in (("\\&", ""), ("\\fI", ""), ("\\fR", ""), ("\\(dq", '"'), ("\\(aq", "'"), ("\\-", "-")):
        text = text.replace(escape, sign)
    return re.sub(r"\\\[u([0-9A-F]+)\]", lambda found: chr(int(found[1], 16)), text).replace("\\e", "\\")


def page(program: click.Group) -> Iterator[str]:
    """Yield lines of roff, with the macros of man(7)."""
    from sdschat import __version__

    summary, examples = _split(program.help or "")
    commands = list(_commands(click.Context(program, info_name="sdschat"), program))
    counts = Counter(record for context, command in commands for record in _options(context, command))
    common = [record for record, count in counts.items() if count >= _COMMON]
    yield f'.TH SDSCHAT 1 "" "sdschat {__version__}" "User Commands"'
    yield from (".SH NAME", f"sdschat \\- {_text(summary.rstrip('.').lower())}")
    yield from (".SH SYNOPSIS", ".B sdschat", "\\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...")
    yield from _examples(".SH EXAMPLES", examples)
    yield ".SH COMMANDS"
    for context, command in commands:
        yield from _command(context, command, common)
    yield from _entries("COMMON OPTIONS", common)
    yield from _settings()
    for title, heading in _TABLES.items():
        yield from _entries(title, rows_of(Section(FOR_PROGRAMS, heading)))


def _commands(context: click.Context, group: click.Group) -> Iterator[tuple[click.Context, click.Command]]:
    """Yield every command, each group followed by its own commands."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            inner = click.Context(command, parent=context, info_name=name)
            yield inner, command
            if isinstance(command, click.Group):
                yield from _commands(inner, command)


def _options(context: click.Context, command: click.Command) -> list[tuple[str, str]]:
    records = (parameter.get_help_record(context) for parameter in command.params)
    return [record for record in records if record is not None and record[1]]


def _command(context: click.Context, command: click.Command, common: Sequence[tuple[str, str]]) -> Iterator[str]:
    usage = " ".join(command.collect_usage_pieces(context))
    yield f'.SS "{_text(context.command_path)} {_text(usage)}"'
    description, examples = _split(command.help or "")
    yield _text(description)
    yield from _examples(".PP", examples)
    own = [record for record in _options(context, command) if record not in common]
    for record in own:
        yield from _entry(*record)
    if len(own) < len(_options(context, command)):
        yield from (".PP", "It also takes the common options below.")


def _settings() -> Iterator[str]:
    from sdschat.cli.options import written
    from sdschat.node.settings import SETTINGS, Settings

    defaults = Settings()
    yield from (".SH SETTINGS", _text("Given as --set KEY=VALUE. `sdschat config` prints those in force."))
    for name in SETTINGS:
        yield from _entry(name, f"Default: {written(name, defaults.value(name))}")


def _entries(title: str, entries: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f".SH {title}"
    for term, meaning in entries:
        yield from _entry(term, meaning)


def _entry(term: str, meaning: str) -> tuple[str, str, str]:
    return ".TP", f".B {_text(term)}", _text(meaning)


def _split(text: str) -> tuple[str, str]:
    """Return the paragraphs as one text to be filled, and the block of examples, which keeps its lines."""
    paragraphs = textwrap.dedent(text).strip().split("\n\n")
    plain = [part for part in paragraphs if not part.lstrip(" \n").startswith("\b")]
    blocks = [part.lstrip(" \n").removeprefix("\b").strip("\n") for part in paragraphs if part not in plain]
    return " ".join(" ".join(part.split()) for part in plain), "\n".join(blocks)


def _examples(heading: str, block: str) -> Iterator[str]:
    lines = [line.strip() for line in block.splitlines() if line.strip() and line.strip() != "Examples:"]
    if lines:
        yield from (heading, ".nf", *(_text(line) for line in lines), ".fi")


def _text(text: str) -> str:
    """Escape a text for roff: no part of it is read as a request, and all of it is ASCII."""
    found = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq").replace("'", "\\(aq")
    found = "".join(sign if sign.isascii() else f"\\[u{ord(sign):04X}]" for sign in found)
    return f"\\&{found}" if found.startswith(".") else found
