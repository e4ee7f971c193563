"""The address that a command listens at, from `--listen`."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from typing import Final

from sdschat.cli.errors import WRONG_USE, CommandProblem
from sdschat.transport.address import own_addresses

LAST_PORT: Final = 65535


def listening_place(listen: str, otherwise: int) -> tuple[str, int]:
    """Return the address and the port of `IP` or `IP:PORT`. An IPv6 address may have brackets, and needs them before a
    port. `otherwise`: the port where none is given. Raises CommandProblem."""
    host, colon, port = listen.rpartition(":")
    if not colon or _is_ip(listen):
        host, port = listen, str(otherwise)
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not is_place(host, port):
        raise CommandProblem(
            f"--listen is {listen!r}, and must be an IP address, or one and a port: 127.0.0.1:{otherwise}.", WRONG_USE
        )
    return host, int(port)


def is_place(host: str, port: str) -> bool:
    """True for an address and a port that something can listen at. An address of one link (fe80::1%eth0) is none for
    the embedded broker."""
    is_address = host == "localhost" or (_is_ip(host) and not {*"[]%"} & {*host})
    return is_address and port.isascii() and port.isdecimal() and int(port) <= LAST_PORT


def reachable_hosts(host: str) -> list[str]:
    """Return the addresses by which others reach what listens at `host`: those of this machine where that is all."""
    if not _is_ip(host) or not ip_address(host).is_unspecified:
        return [host]
    return [*(own_addresses(socket.AF_INET6) if ":" in host else []), *own_addresses()] or [host]


def _is_ip(text: str) -> bool:
    try:
        return bool(ip_address(text.strip("[]")))
    except ValueError:
        return False
