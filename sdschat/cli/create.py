"""`sdschat create`: make a private channel, a members' channel, or one that is both."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Final, NamedTuple

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem, in_the_chat, say
from sdschat.cli.invite import how_to_join, limits, print_link
from sdschat.cli.options import Chosen, channel_options
from sdschat.cli.session import further_options, mqtt_options, open_alone, refuse_nick
from sdschat.node.members.saved import create_members, create_private_members
from sdschat.node.private.record import create_private, invite_link, private_state
from sdschat.node.profile import Profile
from sdschat.node.view.user_texts import UserTexts, last_broker

_NOT_SINCE_JOIN: Final = (
    "--history since-join is for private channels that are no members' channels: what is in a data set, all its "
    "members have."
)
_NOT_OF_MEMBERS: Final = (
    "is for private channels. Say --private as well, or leave it out: a members' channel has no link, others knock."
)
_RIGHTS: Final = (
    "You may remove members (sdschat remove), and so may admins whom you appoint; nobody can change or delete what is "
    "written."
)
_OF_POSTS: Final = "Whoever wrote a post may change and delete it, and you may delete any."
_RIGHTS_OF_POSTS: Final = f"You may remove members (sdschat remove), and so may admins whom you appoint. {_OF_POSTS}"


@click.command("create")
@click.argument("channel")
@click.option("--private", is_flag=True, help="Only those who are invited can read and write.")
@click.option("--members", is_flag=True, help="Those who are let in write; posts can be changed and deleted.")
@click.option("--admins-invite", is_flag=True, help="Only you, and admins whom you appoint, may invite.")
@click.option(
    "--history",
    type=click.Choice(["all", "since-join"]),
    default="all",
    help="What who joins gets of what was written before: all of it, or nothing.",
)
@click.option(
    "--uses", metavar="N", type=click.IntRange(1, 1_000_000), help="How many may join by the link. Default: any number."
)
@click.option("--expires", metavar="TIME", help="How long the link lets others in, such as 7d. Default: for ever.")
@click.option("--qr", is_flag=True, help="Show the link as a QR code too.")
@channel_options
def command(
    chosen: Chosen,
    channel: str,
    private: bool,
    members: bool,
    admins_invite: bool,
    history: str,
    uses: int | None,
    expires: str | None,
    qr: bool,
) -> None:
    """Make a private channel, and print the link that invites others; or a members' channel, and print its data set.
    With --private --members it is both, and the link is printed.

    \b
    Examples:
      sdschat create garden --private --name ann
      sdschat create garden --members --name ann
      sdschat create garden --private --members --name ann
      sdschat create garden --private --history since-join --name ann
      sdschat create garden --private --broker mqtts://broker.example --qr

    An open channel needs no making: it is there as soon as somebody joins it. `sdschat help private` tells what
    private channels promise.
    """
    since_join = history == "since-join"
    if since_join and (members or not private):
        raise CommandProblem(_NOT_SINCE_JOIN, WRONG_USE)
    if members and not private:
        _refuse({"--admins-invite": admins_invite, "--uses": uses, "--expires": expires, "--qr": qr})
        _create_members(chosen, channel)
        return
    if not private:
        raise CommandProblem(
            f"An open channel needs no making: sdschat join {channel}. Say --private for one that only those read who "
            "are invited, or --members for one whose posts can be changed and deleted.",
            WRONG_USE,
        )
    lasts = limits(expires)
    options, embedded = mqtt_options(chosen)
    broker = "" if embedded else str(options.address)
    kind = "since-join" if since_join else "private members" if members else "private"
    alike = not (admins_invite or uses or expires)  # the chat makes no other
    profile = _opened(chosen, f"/create {shlex.quote(channel)} {kind}" if alike else "")
    with profile.store as store:
        policy = _Policy(admins_invite, since_join, broker)
        name = _create_private(chosen, profile, channel, policy, members=members)
        state = private_state(store, name)
        assert state is not None
        made = f"{name} is made, and {chosen.nick} is its creator. {_RIGHTS_OF_POSTS if members else _RIGHTS}"
        if since_join:
            say(f"{made} Who joins gets nothing from before their invite: make each when needed, sdschat invite {name}")
            return
        now = time.time_ns() // 1_000_000
        link = invite_link(*state, profile.identity, now, uses=uses or 0, lasts=lasts, broker=broker)
    what = "can knock, and a member lets them in" if members else "can join"
    say(f"{made} You open it with: sdschat join {name}. {how_to_join(link, what)}")
    print_link(link, qr)


def _opened(chosen: Chosen, in_chat: str) -> Profile:
    """Open the profile. `in_chat`: the command of the chat that does the same, if there is one."""
    refuse_nick(chosen)
    with in_the_chat(in_chat) if in_chat else nullcontext():
        return open_alone(chosen)


def _refuse(options: Mapping[str, object]) -> None:
    """Raise CommandProblem for an option that was given, and has no effect on an open members' channel."""
    for option, given in options.items():
        if given:
            raise CommandProblem(f"{option} {_NOT_OF_MEMBERS}", WRONG_USE)


class _Policy(NamedTuple):
    admins_invite: bool
    since_join: bool
    broker: str


def _create_private(chosen: Chosen, profile: Profile, channel: str, policy: _Policy, *, members: bool) -> str:
    """Make a private channel, and a members' channel as well if `members`. Return its full name."""
    store, identity = profile.store, profile.identity
    invite, since_join, broker = policy
    try:
        if members:
            timber = chosen.settings.timber
            return create_private_members(store, identity, channel, timber, admins_invite=invite, broker=broker)
        return create_private(store, identity, channel, admins_invite=invite, since_join=since_join, broker=broker)
    except ValueError as error:
        raise CommandProblem(str(error), WRONG_USE) from error


def _create_members(chosen: Chosen, channel: str) -> None:
    """Make a members' channel, and print its data set."""
    options, embedded = mqtt_options(chosen)
    others = str(options.address).replace("://", "://USER@", 1) if options.address.user else options.address
    where = ("" if embedded else f" --broker {others}") + further_options(chosen)
    profile = _opened(chosen, f"/create {shlex.quote(channel)} members")
    with profile.store as store:
        try:
            record = create_members(store, profile.identity, channel, chosen.settings.timber)
        except ValueError as error:
            raise CommandProblem(str(error), WRONG_USE) from error
        name = record.channel
        if not embedded:  # so that joining it over another broker says so
            UserTexts(store).set_value(last_broker(name), str(options.address))
    say(
        f"{name} is made, and {chosen.nick} is its first member. {_OF_POSTS} "
        f"You open it, and others knock, with: sdschat join {name}{where}. This is its data set:"
    )
    click.echo(record.data_set.hex())
