"""`sdschat broker`: the embedded broker alone."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from sdschat.cli.errors import FILE, INTERRUPTED, TERMINATED, UNEXPECTED, WRONG_USE, CommandProblem, not_empty, say
from sdschat.cli.listening import listening_place, reachable_hosts
from sdschat.cli.signals import stopped_by
from sdschat.transport.address import LOCAL, Address, Secret
from sdschat.transport.broker import BrokerConfig, BrokerTls, EmbeddedBroker, PortTakenError
from sdschat.transport.credentials import find_password
from sdschat.transport.tasks import first


@click.command("broker")
@click.option("--listen", default=LOCAL.host, metavar="IP[:PORT]", help="Default: 127.0.0.1:1883.")
@click.option("--websocket-port", type=click.IntRange(1, 65535), metavar="PORT", help="Speak websockets here.")
@click.option("--user", metavar="NAME", callback=not_empty, help="Let in this user only.")
@click.option("--password-file", type=FILE, help="Holds the user's password.")
@click.option("--cert-file", type=FILE, help="Speak TLS with this certificate.")
@click.option("--key-file", type=FILE, help="The certificate's key.")
def command(
    listen: str,
    websocket_port: int | None,
    user: str | None,
    password_file: str | None,
    cert_file: str | None,
    key_file: str | None,
) -> int:
    """Run the embedded broker alone, until it is interrupted.

    \b
    Examples:
      sdschat broker
      sdschat broker --listen 0.0.0.0:1883 --user team --password-file secret.txt
      sdschat broker --listen 0.0.0.0:8883 --cert-file cert.pem --key-file key.pem

    The password comes from SDSCHAT_BROKER_PASSWORD, the file, or a prompt. Other commands connect to this broker with
    --broker mqtt://host:port. It speaks MQTT 3.1.1.
    """
    host, port = listening_place(listen, LOCAL.port)
    if password_file is not None and user is None:
        raise CommandProblem("--password-file is for a user: with no --user anybody would be let in.", WRONG_USE)
    if (cert_file is None) != (key_file is None):
        raise CommandProblem("TLS needs both --cert-file and --key-file.", WRONG_USE)
    tls = BrokerTls(Path(cert_file), Path(key_file)) if cert_file and key_file else None
    scheme = "mqtts" if tls else "mqtt"
    address = Address(scheme, host, port, user=user)
    config = BrokerConfig(host, port, port_websocket=websocket_port, users=_users(address, password_file), tls=tls)
    for problem in config.problems():
        raise CommandProblem(problem, WRONG_USE)
    if config.open_to_all:
        say("warning: anybody on the network can read and write everything; --user lets in one user only")
    return asyncio.run(_serve(config, address))


def _users(address: Address, password_file: str | None) -> dict[str, Secret]:
    if address.user is None:
        return {}
    import getpass

    ask = getpass.getpass if sys.stdin is not None and sys.stdin.isatty() else None
    file = Path(password_file) if password_file else None
    password = find_password(address, None, os.environ, file=file, ask=ask)
    if password is None:
        raise CommandProblem(
            f"{address.user} has no password. Give one by SDSCHAT_BROKER_PASSWORD or --password-file.", WRONG_USE
        )
    return {address.user: password}


def places(config: BrokerConfig, address: Address) -> Iterator[Address]:
    """Yield the addresses that clients can give to --broker: where it listens everywhere, those of this machine."""
    for host in reachable_hosts(address.host):
        yield replace(address, host=host)
        if config.port_websocket is not None:
            yield Address("wss" if config.tls else "ws", host, config.port_websocket, "/mqtt")


def invitation(config: BrokerConfig, address: Address) -> str:
    """Return what others type to talk over this broker."""
    place = next(places(config, address))
    whole = str(place) if place.user is None else str(place).replace("://", f"://{place.user}@", 1)
    options = "" if config.tls is None else " --ca-file FILE"
    who = "others on this machine" if place.loopback else "others"
    return f"{who} type:\n  sdschat join CHANNEL --broker {whole}{options}"


async def _serve(config: BrokerConfig, address: Address) -> int:
    stopped = stopped_by({signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED, signal.SIGHUP: TERMINATED})
    broker = EmbeddedBroker(config)
    try:
        await broker.start()
    except PortTakenError as error:
        raise CommandProblem(str(error), WRONG_USE) from error
    try:
        print("\n".join(f"listening at {place}" for place in places(config, address)), flush=True)
        print(invitation(config, address), flush=True)
        code = await first(stopped, broker.wait())
        if code is None:
            raise CommandProblem("The broker ended by itself. Start it again.", UNEXPECTED)
        return code
    finally:
        await broker.stop()
