"""`sdschat create`: make a private channel."""

from __future__ import annotations

import time

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem
from sdschat.cli.invite import limits, print_link
from sdschat.cli.options import channel_options, say
from sdschat.cli.session import mqtt_options
from sdschat.cli.setting_sources import Chosen
from sdschat.node.members.creating import create_members, create_private_members
from sdschat.node.private.creating import create_private
from sdschat.node.private.inviting import invite_link, private_state
from sdschat.node.profile import database_path, open_profile


@click.command("create")
@click.argument("channel")
@click.option("--private", is_flag=True, help="Only those who are invited can read and write.")
@click.option("--members", is_flag=True, help="Those who are let in write; posts can be changed and deleted.")
@click.option("--admins-invite", is_flag=True, help="Only you, and admins whom you appoint, may invite.")
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
      sdschat create garden --private --broker mqtts://broker.example --expires 7d --qr

    An open channel needs no making: it is there as soon as somebody joins it. `sdschat help private` tells what
    private channels promise.
    """
    if members and not private:
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
    profile = open_profile(database_path(chosen.data_dir, chosen.profile), chosen.settings)
    with profile.store as store:
        try:
            if members:
                name = create_private_members(
                    store,
                    profile.identity,
                    channel,
                    chosen.settings.timber,
                    admins_invite=admins_invite,
                    broker=broker,
                )
            else:
                name = create_private(store, profile.identity, channel, admins_invite=admins_invite, broker=broker)
        except ValueError as error:
            raise CommandProblem(str(error), WRONG_USE) from error
        state = private_state(store, name)
        assert state is not None
        now = time.time_ns() // 1_000_000
        link = invite_link(*state, profile.identity, now, uses=uses or 0, lasts=lasts, broker=broker)
    what = "can knock, and a member lets them in" if members else "can join"
    say(f"{name} is made, and {chosen.nick} is its creator. Whoever has this link {what}: sdschat join LINK")
    print_link(link, qr)


def _create_members(chosen: Chosen, channel: str) -> None:
    """Make a members' channel, and print its data set."""
    options, embedded = mqtt_options(chosen)
    where = "" if embedded else f" --broker {options.address}"
    profile = open_profile(database_path(chosen.data_dir, chosen.profile), chosen.settings)
    with profile.store as store:
        try:
            record = create_members(store, profile.identity, channel, chosen.settings.timber)
        except ValueError as error:
            raise CommandProblem(str(error), WRONG_USE) from error
    name = record.channel
    say(
        f"{name} is made, and {chosen.nick} is its first member. Others knock with: sdschat join {name}{where}. "
        "This is its data set:"
    )
    click.echo(record.data_set.hex())
