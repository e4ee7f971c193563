"""`sdschat timber status`: committee, clocks and checkpoint of a members' channel, from the local database."""

from __future__ import annotations

import json
from typing import Any, Final

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem, channel_name
from sdschat.cli.histories import open_reader, own_id, require_channel
from sdschat.cli.options import Chosen, local_options
from sdschat.cli.output import counted, safe
from sdschat.node.members.record import is_members_channel, load_records
from sdschat.node.members.saved import ChannelStatus, answering, saved_status
from sdschat.node.private.record import PrivateState, private_state
from sdschat.store.reader import Reader

_DIGITS = 8
_ABSENT: Final = {  # phases in which nothing is written here
    "knocking": "not let in: a member has to invite you",
    "put_out": "you were put out, since you were silent or removed. You knock: a member has to let you in again",
    "left": "you have left, and write nothing more: a member can invite you again",
    "removed": "you were removed, and write nothing more",
}
_OUTSIDE: Final = {"removed": "put out", "left": "left", "invited": "invited again"}


@click.group("timber", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Look into members' channels.

    \b
    Examples:
      sdschat timber status garden --name ann
      sdschat timber status garden --json | jq .checkpoint
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@command.command("status")
@click.argument("channel")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
@local_options
def status(chosen: Chosen, channel: str, as_json: bool) -> None:
    """Print committee, clocks and checkpoint of a members' channel, without a network.

    \b
    Examples:
      sdschat timber status garden --name ann
      sdschat timber status garden --json --name ann
    """
    with open_reader(chosen) as reader:
        name = require_channel(reader, chosen, channel_name(channel))
        found = status_of(chosen, reader, name)
        report = as_object(name, found) | privacy_of(chosen, reader, name)
        removal = removal_words(private_state(reader, name), own_id(chosen))
    if as_json:
        click.echo(json.dumps(report, separators=(",", ":")))
    else:
        print_status(name, found)
        if "private" in report:
            click.echo(f"private as well, key {report['private']['epoch']}{removal and f'; {removal}'}")


def status_of(chosen: Chosen, reader: Reader, name: str) -> ChannelStatus:
    """Return the state of a channel. Raises CommandProblem for one that is not of members."""
    if not is_members_channel(reader, name):
        raise CommandProblem(f"{name} is no members' channel. `sdschat inspect {name}` shows its state.", WRONG_USE)
    me = own_id(chosen)
    found, state = (
        saved_status(reader, name, chosen.settings.timber.rounds, chosen.nick, me),
        private_state(reader, name),
    )
    removed = state is not None and state.removal_epoch(me) is not None
    return found._replace(phase="removed", waiting_for=[]) if removed else found


def statuses(chosen: Chosen, reader: Reader) -> dict[str, ChannelStatus]:
    """Return the states of all members' channels of a profile, by name."""
    return {name: status_of(chosen, reader, name) for name in sorted(load_records(reader))}


def in_a_line(found: ChannelStatus) -> str:
    """Return the state of a channel, in one line."""
    if found.phase in _ABSENT:
        return _ABSENT[found.phase]
    names = {member.sender_id: safe(member.nick) or member.sender_id[:_DIGITS] for member in found.committee}
    waits = ", ".join(names.get(one, one[:_DIGITS]) for one in found.waiting_for)
    words = f"{counted(len(names), 'member')}, checkpoint {found.number}, {counted(found.posts, 'post')}"
    return f"{words}; waits for {waits}" if waits else words


def privacy_of(chosen: Chosen, reader: Reader, name: str) -> dict[str, Any]:
    """Return epoch, members and our standing in a private channel, under `private`; an empty dictionary for another
    one."""
    state = private_state(reader, name)
    return {} if state is None else {"private": private_object(state, own_id(chosen))}


def private_object(state: PrivateState, me: str) -> dict[str, Any]:
    """Return the state of a private channel as JSON. `me` is our sender id."""
    found: dict[str, Any] = {
        "epoch": state.roster.epoch_number,
        "standing": state.standing(me),
        "members": state.members,
    }
    removal = state.removal_epoch(me)
    return found if removal is None else found | {"removed_in_epoch": removal}


def removal_words(state: PrivateState | None, me: str) -> str:
    """Say that we were removed from a private channel; empty if we were not, and for a channel of another kind."""
    removal = None if state is None else state.removal_epoch(me)
    if state is None or removal is None:
        return ""
    since = f"you were removed when key {removal} was made"
    link = "new link of the creator" if state.is_banned(me) else "new link"
    return f"{since}: nothing written since then is here. A {link} lets you in again"


def as_object(name: str, found: ChannelStatus) -> dict[str, Any]:
    return {
        "channel": name,
        "data_set": found.data_set,
        "phase": found.phase,
        "committee": [member._asdict() for member in found.committee],
        "outside": [one._asdict() for one in found.outside],
        "checkpoint": {"number": found.number, "last": found.last, "hash": found.hash},
        "waiting_for": found.waiting_for,
        "operations_since": found.since,
        "posts": found.posts,
        "unsettled": found.unwritten,
        "bytes": found.bytes,
    }


def print_status(name: str, found: ChannelStatus) -> None:
    click.echo(f"{safe(name)}: a members' channel, data set {found.data_set}")
    if found.phase in _ABSENT:
        click.echo(_ABSENT[found.phase])
    if not found.committee:
        if found.unwritten:
            click.echo(f"posts that wait until then: {found.unwritten}")
        return
    names = {member.sender_id: safe(member.nick) or member.sender_id[:_DIGITS] for member in found.committee}
    click.echo(
        f"checkpoint {found.number}, hash {found.hash[:16]}, {counted(found.since, 'operation')} since, "
        f"{counted(found.posts, 'post')}"
    )
    if found.waiting_for:
        click.echo(f"waits for: {', '.join(names.get(one, one[:_DIGITS]) for one in found.waiting_for)}")
    if found.phase == "voting":
        click.echo("a ballot is under way")
    if found.unwritten:
        click.echo(f"own events that are not settled: {found.unwritten}")
    click.echo(f"{found.bytes:,} bytes in the database")
    click.echo("members, and the newest operation of each that they are known to have:")
    at = {str(member.slot): names[member.sender_id] for member in found.committee}
    for member in found.committee:
        has = ", ".join(f"{at[slot]} {seq}" for slot, seq in member.clock.items() if slot in at)
        written = counted(member.seq, "operation")
        answers = answering(member.missed, member.limit, len(found.committee))
        click.echo(f"  {names[member.sender_id]}: wrote {written}; has {has or 'nothing yet'}; {answers}")
    gone = [
        f"{safe(one.nick) or one.sender_id[:_DIGITS]} ({_OUTSIDE.get(one.standing, one.standing)})"
        for one in found.outside
    ]
    if gone:
        click.echo(f"no members any more: {', '.join(gone)}")
