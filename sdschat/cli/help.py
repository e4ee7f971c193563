"""`sdschat help`: pages of the manual, for topics and for every command."""

from __future__ import annotations

import io
import os
import shutil
import sys
from typing import Final

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem
from sdschat.identity.handwritten import did_you_mean, nearest
from sdschat.tui.manual import TOPICS, by_section, lines_of, text_of, whole_rows

_WIDEST: Final = 100


@click.command("help")
@click.argument("topic", required=False)
@click.pass_context
def command(ctx: click.Context, topic: str | None) -> None:
    """Show a page of the manual.

    \b
    Examples:
      sdschat help
      sdschat help join
      sdschat help signs
      sdschat help password   every line that has this word

    Topics are the commands, and chat, keys, signs, plain, lens, preferences, private, members, store, json, reasons,
    settings, audit and spark.
    """
    root = ctx.find_root()
    group = root.command
    assert isinstance(group, click.Group)
    commands = group.list_commands(root)
    if topic is None:
        show(f"{group.get_help(root)}\n\nTopics (sdschat help TOPIC):\n  {'  '.join(TOPICS)}")
    elif topic in TOPICS or topic in commands:
        show("\n\n".join(_parts(root, group, topic)))
    else:
        known = [*TOPICS, *(name for name in commands if name not in TOPICS)]
        found = "" if nearest(topic, known) or not topic.strip() else _lines_with(topic)
        if not found:
            raise CommandProblem(_unknown(topic, known), WRONG_USE)
        show(found)


def _parts(root: click.Context, group: click.Group, topic: str) -> list[str]:
    parts = [formatted(text_of(TOPICS[topic])).rstrip()] if topic in TOPICS else []
    found = group.get_command(root, topic)
    if found is not None:
        parts.append(found.get_help(click.Context(found, parent=root, info_name=topic)))
    return parts


def _lines_with(words: str) -> str:
    """Return every line of the topics that has these words, below the command that shows all of it."""
    told: list[str] = []
    wanted, width = words.lower().split(), min(_WIDEST, shutil.get_terminal_size().columns)
    for section, topic in by_section(TOPICS).items():
        lines = [line for line in whole_rows(lines_of(section)) if all(word in line.lower() for word in wanted)]
        wrapped = [click.wrap_text(line.strip(), width, "  ", "    ") for line in lines]
        told += [f"sdschat help {topic}:", *wrapped] if lines else []
    return "\n".join(told)


def _unknown(topic: str, known: list[str]) -> str:
    told = [f"There is no topic {topic!r}.", did_you_mean(topic, known), f"There are: {', '.join(known)}."]
    return " ".join(filter(None, told))


def formatted(markdown: str) -> str:
    """Return Markdown drawn for a terminal, or unchanged if the output is none."""
    if not _is_terminal():
        return markdown
    from rich.console import Console
    from rich.markdown import Markdown

    drawn = io.StringIO()
    width = min(_WIDEST, shutil.get_terminal_size().columns)
    Console(file=drawn, width=width, force_terminal=True, no_color=_no_color()).print(Markdown(markdown))
    return drawn.getvalue()


def show(text: str) -> None:
    """Print a text, through a pager if it is longer than the terminal."""
    if _is_terminal() and text.count("\n") + 2 > shutil.get_terminal_size().lines:
        # Without -R less shows colours as codes; who has options of their own for it, and not this one, gets no colour.
        os.environ["LESS"] = os.environ.get("LESS") or "-R"
        draws = "r" in os.environ["LESS"].lower()
        click.echo_via_pager(f"{text}\n", color=draws and not _no_color())
    else:
        click.echo(text)


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _no_color() -> bool:
    return bool(os.environ.get("NO_COLOR"))
