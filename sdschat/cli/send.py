"""`sdschat send`: one message."""

from __future__ import annotations

import asyncio

import click

from sdschat.cli.options import channel_name, channel_options, standard_input
from sdschat.cli.problem import DONE, NOT_IN_TIME, UNEXPECTED, UNREACHABLE, WRONG_USE, Problem
from sdschat.cli.session import first_connection, run_node
from sdschat.cli.sources import Chosen
from sdschat.node.facts import Fact, HandedOver, NotPublished
from sdschat.node.node import Node
from sdschat.node.settings import duration
from sdschat.sds.events import StateChanged
from sdschat.sds.rows import AckState

_WANTED = {"possibly-acked": AckState.POSSIBLY_ACKED, "acked": AckState.ACKED}


@click.command("send")
@click.argument("channel")
@click.argument("text")
@click.option("--wait", type=click.Choice(["sent", *_WANTED]), default="sent", help="Until when to wait.")
@click.option("--timeout", default="30s", metavar="TIME", help="How long to wait for that. Default: 30s.")
@click.option("--ephemeral", is_flag=True, help="A message that nobody keeps.")
@channel_options
def command(chosen: Chosen, channel: str, text: str, wait: str, timeout: str, ephemeral: bool) -> int:
    """Send one message, and print its id.

    \b
    Examples:
      sdschat send lobby "the build is green" --name ci
      git log -1 | sdschat send lobby - --name ci
      sdschat send lobby "are you there?" --wait acked --timeout 1m

    With - for TEXT, standard input is the message. Exit code 6: the wanted state was not reached in time. The
    message is saved and goes out again with the next command that joins the channel with this profile.
    """
    name = channel_name(channel)
    try:
        patience = duration(timeout) / 1000
    except ValueError as error:
        raise Problem(f"--timeout is {timeout!r}, and {error}.", WRONG_USE) from error
    if ephemeral and wait != "sent":
        raise Problem("Nobody acknowledges an ephemeral message. Leave out --wait.", WRONG_USE)
    if text == "-":
        try:
            text = standard_input().read().decode().removesuffix("\n")
        except UnicodeDecodeError as error:
            raise Problem("Standard input is not UTF-8 text. Convert it first.", WRONG_USE) from error
    if not text:
        raise Problem("A message needs some text.", WRONG_USE)
    embedded = chosen.text("broker") is None
    return run_node(chosen, lambda node: _send(node, name, text, wait, patience, ephemeral, embedded))


async def _send(
    node: Node, channel: str, text: str, wait: str, patience: float, ephemeral: bool, embedded: bool
) -> int:
    reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    message_id = ""

    def hear(fact: Fact) -> None:
        what = fact.what
        if reached.done() or not message_id or getattr(what, "message_id", "") != message_id:
            return
        if isinstance(what, NotPublished) and what.failure in ("too_large", "refused"):
            reached.set_exception(Problem(f"The message was not sent: {what.detail}", UNEXPECTED))
        elif wait == "sent":
            if isinstance(what, HandedOver):
                reached.set_result(None)
        elif isinstance(what, StateChanged) and what.state >= _WANTED[wait]:
            reached.set_result(None)

    node.listen(hear)
    try:
        async with asyncio.timeout(patience):
            await first_connection(node, channel, embedded=embedded)
            try:
                message_id = node.send(channel, text, ephemeral=ephemeral).message_id
            except ValueError as error:
                raise Problem(str(error), WRONG_USE) from error
            await reached
    except TimeoutError as error:
        if not message_id:
            raise Problem("No connection to the broker came about in time. Nothing was sent.", UNREACHABLE) from error
        print(message_id, flush=True)
        state = wait.replace("-", " ")
        kept = "It was not kept." if ephemeral else "It is saved, and goes out again with the next join."
        raise Problem(f"The message was not {state} within {patience:g} s. {kept}", NOT_IN_TIME) from error
    print(message_id, flush=True)
    return DONE
