"""`sdschat channels`: list the channels of a profile."""

from __future__ import annotations

import json
import time
from typing import Any, Final

import click

from sdschat.cli.errors import say
from sdschat.cli.histories import channels_of, open_reader, own_id
from sdschat.cli.options import Chosen, local_options
from sdschat.cli.output import counted, moment, safe
from sdschat.cli.timber import in_a_line, private_object, removal_words, statuses
from sdschat.node.members.saved import ChannelStatus
from sdschat.node.private.record import PrivateState, private_channels, private_state
from sdschat.store.display_rows import UNREAD_COUNTED, ChannelInfo

_DATE: Final = 10  # columns


@click.command("channels")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@local_options
def command(chosen: Chosen, as_json: bool) -> None:
    """List the channels of a profile, with counts.

    \b
    Examples:
      sdschat channels --name ann
      sdschat channels --profile work --json

    Two participants whose channels have equal fingerprints have equal logs.
    """
    with open_reader(chosen) as reader:
        members = statuses(chosen, reader)
        found = [_tallied(info, members.get(info.channel)) for info in channels_of(reader)]
        private = {name: state for name in private_channels(reader) if (state := private_state(reader, name))}
    me = own_id(chosen)
    if as_json:
        for info in found:
            described = _described(private.get(info.channel), members.get(info.channel), me)
            click.echo(json.dumps(info._asdict() | described, separators=(",", ":")))
        return
    joined = {info.channel for info in found}
    for name in filter(lambda name: name not in joined, private):
        say(f"{safe(name)} is private, and was not joined yet: sdschat join {safe(name)}")
    if not found and not private:
        say(f"The profile {chosen.profile} has no channels yet. Try: sdschat join lobby --name {chosen.nick}")
        return
    if not found:
        return
    width = max(len("CHANNEL"), *(len(safe(info.channel)) for info in found))
    waits = any(info.held for info in found)  # seldom, and 80 columns are few
    waiting = "  WAITING" if waits else ""
    click.echo(f"{'CHANNEL':{width}}  MESSAGES  UNREAD  UNACKED{waiting}  MISSING  LOST  PEERS  NEWEST      LOG")
    today = moment(time.time_ns() // 1_000_000)[:_DATE]
    for info in found:
        waiting = f"  {info.held:7}" if waits else ""
        unread = f"{info.unread}{'+' if info.unread >= UNREAD_COUNTED else ''}"
        click.echo(
            f"{safe(info.channel):{width}}  {info.messages:8}  {unread:>6}  {info.open_outgoing:7}{waiting}  "
            f"{info.missing:7}  {info.lost:4}  {info.peers:5}  {_newest(info, today):{_DATE}}  {info.fingerprint[:8]}"
            f"{state_words(private.get(info.channel), members.get(info.channel), me)}"
        )


def _newest(info: ChannelInfo, today: str) -> str:
    """Return the time of the newest message if it is of today, else its date."""
    if not info.messages:
        return "-"
    date, _, clock = moment(info.newest).partition(" ")
    return clock if date == today and clock else date


def _tallied(info: ChannelInfo, members: ChannelStatus | None) -> ChannelInfo:
    """Return the counts of a channel. Those of members count posts, and events of ours that are not settled."""
    if members is None:
        return info
    return info._replace(
        messages=members.posts,
        newest=members.newest,
        fingerprint=members.hash,
        unread=members.unread,
        open_outgoing=members.unwritten,
        peers=max(0, len(members.committee) - 1),
    )


def state_words(state: PrivateState | None, members: ChannelStatus | None, me: str) -> str:
    """Return the state of a private or members' channel, behind its counts; empty for an open one."""
    if removal := removal_words(state, me):
        return f"  {removal}"
    if state is not None and state.standing(me) == "outside":
        return "  private, you are not a member: a new link lets you in"
    if members is not None:
        return f"  {in_a_line(members)}"
    if state is None:
        return ""
    return f"  private, key {state.roster.epoch_number}, {counted(len(state.members), 'member')}"


def _described(state: PrivateState | None, members: ChannelStatus | None, me: str) -> dict[str, Any]:
    private = {"private": False} if state is None else {"private": True} | private_object(state, me)
    if members is None:
        return private
    committee = [member.sender_id for member in members.committee]
    return private | {"data_set": members.data_set, "checkpoint": members.number, "members": committee}
