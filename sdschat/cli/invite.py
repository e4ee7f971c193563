"""`sdschat invite`: print a link that lets others into a private channel."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
import time
from typing import Final

import click

from sdschat.catchup.values import CatchUpState
from sdschat.cli.errors import DONE, NOT_IN_TIME, WRONG_USE, CommandProblem, channel_name, in_the_chat, say, time_option
from sdschat.cli.histories import open_reader
from sdschat.cli.options import Chosen, channel_options
from sdschat.cli.session import first_connection, mqtt_options, run_node
from sdschat.cli.terminal import has_signs
from sdschat.identity.keyfile import load_or_create
from sdschat.node.channel.session import ChannelSession
from sdschat.node.events import CatchingUp, HandedOver, NodeEvent
from sdschat.node.members.record import is_members_channel
from sdschat.node.node import Node
from sdschat.node.private.links import broker_for_others, is_for_here_alone
from sdschat.node.private.membership import PrivateChannel
from sdschat.node.private.record import full_name, invite_link, private_state
from sdschat.node.view.qr import qr_lines

_LIGHT_ON_DARK: Final = "\x1b[97;40m"
_PLAIN: Final = "\x1b[0m"
_PATIENCE: Final = 30.0  # seconds until the broker has the change of the key
_PRESENCES: Final = 1.5  # seconds until we know who is connected
_OTHERS_ANSWER: Final = 15.0
_HERE_ALONE: Final = (
    "It leads to the broker of this machine, so it is of use on this machine alone. For others, leave all chats here, "
    "run sdschat broker --listen 0.0.0.0:1883, and give the address that it prints to join and invite with --broker."
)


@click.command("invite")
@click.argument("channel")
@click.option(
    "--uses", metavar="N", type=click.IntRange(1, 1_000_000), help="How many may join by it. Default: any number."
)
@click.option("--expires", metavar="TIME", help="How long it lets others in, such as 7d. Default: for ever.")
@click.option("--qr", is_flag=True, help="Show it as a QR code too.")
@channel_options
def command(chosen: Chosen, channel: str, uses: int | None, expires: str | None, qr: bool) -> int:
    """Print a link that lets others into a private channel.

    \b
    Examples:
      sdschat invite garden --name ann
      sdschat invite garden --uses 1 --expires 7d --qr

    Nobody need be online for somebody to join: who does so waits, and others show what they wrote once a member is
    here. Whoever has an unused link is in, so give it to people, not to places.
    A link is of no use any more once a member was removed, since the key of the channel was changed then. Where the
    channel was made with --history since-join, each invite changes the key, and the command connects for that.
    """
    lasts = limits(expires)
    with open_reader(chosen) as reader:
        name = full_name(reader, channel_name(channel))
        state, last = private_state(reader, name), broker_for_others(reader, name)
        if state is None and is_members_channel(reader, name):
            raise CommandProblem(
                f"{channel} is a members' channel, and needs no link: others knock with sdschat join {channel}, and "
                "/invite NICK in the chat lets them in.",
                WRONG_USE,
            )
        if state is None:
            raise CommandProblem(
                f"{channel} is no private channel of the profile {chosen.profile}, and an open one can be joined "
                "without an invite. `sdschat channels` lists those that are here, and "
                "`sdschat create CHANNEL --private` makes one.",
                WRONG_USE,
            )
    if state.record.genesis.since_join:
        with in_the_chat("/invite"):
            return run_node(chosen, lambda node: _renew(node, chosen, name, uses or 0, lasts, qr=qr), [name])
    identity = load_or_create(chosen.database.parent)
    given = chosen.text("broker") is not None
    broker = str(mqtt_options(chosen)[0].address) if given else last
    now = time.time_ns() // 1_000_000
    try:
        link = invite_link(*state, identity, now, uses=uses or 0, lasts=lasts, broker=broker)
    except ValueError as error:
        raise CommandProblem(str(error), WRONG_USE) from error
    print_link(link, qr, explained=True)
    return DONE


async def _renew(node: Node, chosen: Chosen, name: str, uses: int, lasts: int, *, qr: bool) -> int:
    """Change the key of a channel that gives no older history, and print a link with the new one."""
    embedded = chosen.text("broker") is None
    taken: set[str] = set()
    heard, caught_up = asyncio.Event(), asyncio.Event()

    def hear(event: NodeEvent) -> None:
        if isinstance(event.body, HandedOver):
            taken.add(event.body.message_id)
            heard.set()
        elif isinstance(event.body, CatchingUp) and event.body.state == CatchUpState.DONE:
            caught_up.set()

    node.listen(hear)
    await first_connection(node, name, embedded=embedded)
    private = node.sessions[name].private
    assert private is not None
    await _know_other_invites(node.sessions[name], private, caught_up)
    broker = "" if embedded else str(mqtt_options(chosen)[0].address)
    try:
        link = private.invite(node.clock.now().wall, uses=uses, lasts=lasts, broker=broker)
    except ValueError as error:
        raise CommandProblem(str(error), WRONG_USE) from error
    try:
        async with asyncio.timeout(_PATIENCE):
            while not taken.issuperset(private.roster.epoch):
                heard.clear()
                await heard.wait()
    except TimeoutError as error:
        raise CommandProblem(
            "The broker did not take the change of the key in time, so there is no link. Try again.", NOT_IN_TIME
        ) from error
    print_link(link, qr, explained=True)
    return DONE


async def _know_other_invites(session: ChannelSession, private: PrivateChannel, caught_up: asyncio.Event) -> None:
    """Wait until we have the operations of others: an invite that builds upon an earlier key is of no use."""
    for seconds in (_PRESENCES, _OTHERS_ANSWER):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(caught_up.wait(), seconds)
            return
        if not session.presence.online:
            break
    if len(private.roster.members) > 1:
        say("no other member answered: if one of them invited somebody meanwhile, one of the two invites is of no use")


def limits(expires: str | None) -> int:
    """Return the time that a link lasts in milliseconds; 0 for ever. Raises CommandProblem for another text."""
    if expires is None:
        return 0
    found = time_option("--expires", expires, "; 7d is seven days.")
    if found <= 0:
        raise CommandProblem("--expires is no time at all. Write 7d for seven days.", WRONG_USE)
    return found


def how_to_join(link: str, what: str = "can join") -> str:
    """Return how a link is used, and where."""
    near = f"\n{_HERE_ALONE}" if is_for_here_alone(link) else ""
    return f"Whoever has this link {what}:\n  sdschat join LINK{near}"


def print_link(link: str, qr: bool, *, explained: bool = False) -> None:
    """Print the link alone on standard output, and the QR code on standard error. `explained`: and there, for a person
    at a terminal, how to use it."""
    click.echo(link)
    if explained and sys.stdout is not None and sys.stdout.isatty():
        say(how_to_join(link))
    if qr:
        lines, on_screen = qr_lines(link, ascii_only=not has_signs()), sys.stderr.isatty()
        if on_screen and len(lines[0]) > (columns := shutil.get_terminal_size().columns):
            say(f"The QR code needs {len(lines[0])} columns, and this terminal has {columns}. Make it wider.")
            return
        colours = on_screen and not os.environ.get("NO_COLOR")
        for line in lines:
            say(f"{_LIGHT_ON_DARK}{line}{_PLAIN}" if colours else line)
