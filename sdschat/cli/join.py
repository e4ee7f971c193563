"""`sdschat join`: the chat."""

from __future__ import annotations

import os
import sys

import click

from sdschat.cli.options import channel_name, channel_options
from sdschat.cli.problem import WRONG_USE, Problem
from sdschat.cli.session import run_node
from sdschat.cli.sources import Chosen
from sdschat.node.node import Node


@click.command("join")
@click.argument("channels", metavar="CHANNEL...", nargs=-1, required=True)
@click.option("--ascii", "ascii_only", is_flag=True, help="No sign beyond ASCII.")
@click.option("--plain", is_flag=True, help="Line after line, for screen readers and simple terminals.")
@click.option("--theme", metavar="NAME", help="dark, light, contrast or plain.")
@channel_options
def command(chosen: Chosen, channels: tuple[str, ...], ascii_only: bool, plain: bool, theme: str | None) -> int:
    """Chat in one or more channels.

    \b
    Examples:
      sdschat join lobby --name ann
      sdschat join lobby dev --broker mqtts://broker.example:8883
      sdschat join lobby --timing demo --set fault.loss=0.3
      sdschat join lobby --plain                for screen readers

    Without --broker the broker of this machine is used, and started where there is none. It opens offline as well:
    what you write is kept, and goes out once there is a connection. F1 lists what can be done.
    """
    names = list(dict.fromkeys(map(channel_name, channels)))
    if plain or os.environ.get("TERM") == "dumb":
        raise Problem("--plain is not there yet.", WRONG_USE)
    _require_terminal()
    return run_node(chosen, lambda node: _chat(node, names, chosen, ascii_only, theme), narrate=False)


def _require_terminal() -> None:
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        raise Problem(
            "join needs a terminal. Use --plain for line after line, or `sdschat pipe` for programs.", WRONG_USE
        )


async def _chat(node: Node, channels: list[str], chosen: Chosen, ascii_only: bool, theme: str | None) -> int:
    no_color = bool(os.environ.pop("NO_COLOR", ""))
    from sdschat.tui.run import run_chat

    return await run_chat(node, channels, ascii_only=ascii_only, no_color=no_color, theme=theme)
