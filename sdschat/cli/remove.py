"""`sdschat remove`: remove a member of a private channel, and change its key."""

from __future__ import annotations

import asyncio
import time

import click

from sdschat.cli.errors import DONE, NOT_IN_TIME, WRONG_USE, CommandProblem, channel_name, in_the_chat, say
from sdschat.cli.options import Chosen, channel_options
from sdschat.cli.session import first_connection, run_node
from sdschat.node.events import HandedOver, NodeEvent
from sdschat.node.node import Node
from sdschat.node.private.membership import PrivateChannel
from sdschat.node.private.people import may_remove, removable_called, require_may_remove
from sdschat.node.view.private import halt_words

_NEWS = 10.0  # seconds in which we may still hear of those who joined while we were away
_APPOINTED = 5.0  # seconds in which we may hear that we were made an admin
_LOOK = 0.1
_PATIENCE = 30.0  # seconds until the broker has the removal


@click.command("remove")
@click.argument("channel")
@click.argument("nick")
@click.option("--ban", is_flag=True, help="Let no invite but the creator's bring them back.")
@click.option("--yes", is_flag=True, help="Do it also where nothing would settle any more in a members' channel.")
@channel_options
def command(chosen: Chosen, channel: str, nick: str, ban: bool, yes: bool) -> int:
    """Remove a member from a private channel, and change its key.

    \b
    Examples:
      sdschat remove garden carol --name ann
      sdschat remove garden 3f9c21aa --name ann   by the beginning of the id

    The creator may do this, and admins, also those who hear only now that they were made one. Who is removed reads
    nothing that is written afterwards, and keeps what they have; who is invited again reads it after all, unless the
    channel was made with --history since-join. Those who are away get the new key when they come back. With --ban,
    which is the creator's, no invite of other members lets that key in again. In the chat: /remove and /ban.

    In a members' channel more than half of the committee has to remain to put out whoever is removed. Where it does
    not, nothing is done without --yes.
    """
    name = channel_name(channel)
    with in_the_chat(f"/{'ban' if ban else 'remove'} {nick} yes"):
        return run_node(
            chosen, lambda node: _remove(node, name, nick, chosen.text("broker") is None, ban, sure=yes), [name]
        )


async def _remove(node: Node, channel: str, nick: str, embedded: bool, ban: bool, *, sure: bool = False) -> int:
    name = node.named(channel)
    try:
        has_right = may_remove(node.profile, name)  # before anything is joined
    except ValueError as error:
        raise CommandProblem(str(error), WRONG_USE) from error
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    wanted: list[str] = []

    def hear(event: NodeEvent) -> None:
        if isinstance(event.body, HandedOver) and event.body.message_id in wanted and not done.done():
            done.set_result(None)

    node.listen(hear)
    await first_connection(node, name, embedded=embedded)
    private = node.sessions[name].private
    assert private is not None
    if not has_right:
        await _appointment(node, private)
    try:
        sender_id = await _find(private, nick, ban)
        if not sure and (halts := halt_words(node, name, sender_id)):
            raise CommandProblem(f"{nick} is not removed. {halts} --yes does it all the same.", WRONG_USE)
        wanted.append(private.remove(sender_id, banned=ban))
    except ValueError as error:
        raise CommandProblem(str(error), WRONG_USE) from error
    try:
        await asyncio.wait_for(done, _PATIENCE)
    except TimeoutError as error:
        raise CommandProblem(
            "The broker did not take the removal in time. It is saved, and sent with the next command that joins.",
            NOT_IN_TIME,
        ) from error
    say(f"{nick} is removed from {name}, and its key is changed.")
    return DONE


async def _appointment(node: Node, private: PrivateChannel) -> None:
    """Wait for the news that we were made an admin while we were away. Raises CommandProblem without it."""
    channel, ends = private.record.name, time.monotonic() + _APPOINTED
    while True:
        try:
            return require_may_remove(private)
        except ValueError as error:
            if time.monotonic() > ends:
                others = node.sessions[channel].presence.online.keys() - {node.sender_id}
                alone = "" if others else " Nobody else is here, who could tell that you were made one meanwhile."
                raise CommandProblem(f"{error}{alone}", WRONG_USE) from error
        await asyncio.sleep(_LOOK)


async def _find(private: PrivateChannel, nick: str, ban: bool) -> str:
    """Return the sender id of whom is to be removed, who may have come while we were away. Raises ValueError."""
    ends = time.monotonic() + _NEWS
    while True:
        try:
            return removable_called(private, nick, banned=ban)
        except ValueError:
            if time.monotonic() > ends:
                raise
        await asyncio.sleep(_LOOK)
