"""The address of the broker, and its password."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

_PORTS: Final = {"mqtt": 1883, "mqtts": 8883, "ws": 80, "wss": 443}
_WEBSOCKET_PATH: Final = "/mqtt"
_SIOCGIFADDR: Final = 0x8915  # of Linux: asks for the address of an interface
_ADDRESS: Final = slice(20, 24)  # of its answer


class AddressError(ValueError):
    """A broker's address or credentials cannot be used. The message says what happened, why, and what to do."""


class Secret:
    """A password that never appears in a repr, a log or a traceback with locals."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(("Secret", self._value))

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a secret is not to be pickled")


@dataclass(frozen=True, slots=True)
class Address:
    """A broker's address without its secret."""

    scheme: str
    host: str
    port: int
    path: str = ""
    user: str | None = None

    @property
    def encrypted(self) -> bool:
        return self.scheme in ("mqtts", "wss")

    @property
    def websocket(self) -> bool:
        return self.scheme in ("ws", "wss")

    @property
    def loopback(self) -> bool:
        """True if data sent to this address stays on this machine."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost" or self.host.endswith(".localhost")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"


LOCAL: Final = Address("mqtt", "127.0.0.1", 1883)


def parse_url(url: str) -> tuple[Address, Secret | None]:
    """Return the address and password in `mqtt://user:password@host:port`, `mqtts://`, `ws://` or `wss://`."""
    # No part of the given text is quoted in an error: a password may be anywhere in it.
    wanted = "Write it as mqtt://host:port, mqtts://host:port, ws://host:port/path or wss://host:port/path."
    text = url.strip()
    try:
        parts = urlsplit(text if "://" in text else f"mqtt://{text}")
        port = parts.port
    except ValueError:
        raise AddressError(f"The broker's address cannot be read: its host or port is malformed. {wanted}") from None
    if parts.scheme not in _PORTS:
        raise AddressError(f"The broker's address begins with an unknown scheme. {wanted}")
    if not parts.hostname:
        raise AddressError(f"The broker's address has no host in it. {wanted}")
    if parts.query or parts.fragment:
        raise AddressError(
            "The broker's address has a '?' or '#' in it, which means nothing there. "
            "In a password write them as %3F and %23, or give the password in SDSCHAT_BROKER_PASSWORD."
        )
    if port == 0:
        raise AddressError(f"The broker's address has port 0, which nothing listens on. {wanted}")
    user = None if parts.username is None else unquote(parts.username)
    address = Address(parts.scheme, parts.hostname, port or _PORTS[parts.scheme], _path(parts), user)
    return address, None if parts.password is None else Secret(unquote(parts.password))


def _path(parts: SplitResult) -> str:
    if parts.scheme in ("ws", "wss"):
        return parts.path if parts.path not in ("", "/") else _WEBSOCKET_PATH
    if parts.path not in ("", "/"):
        raise AddressError(
            f"The broker's address has a path after the host, and {parts.scheme}:// has none. Leave it out, "
            "or use ws:// or wss:// for a broker behind a web server."
        )
    return ""


def own_addresses(family: socket.AddressFamily = socket.AF_INET) -> list[str]:
    """Return the addresses of this machine that others may reach, the one of its way out first. Nothing is sent."""
    found = _others_reach(_own_addresses(family))
    if not found and family == socket.AF_INET:
        found = _others_reach(interface_addresses())  # a network without a way out, of a few machines alone
    return found


def _others_reach(addresses: Iterable[str]) -> list[str]:
    return [each for each in dict.fromkeys(addresses) if not ipaddress.ip_address(each.partition("%")[0]).is_loopback]


def _own_addresses(family: socket.AddressFamily) -> Iterator[str]:
    far = "2001:db8::1" if family == socket.AF_INET6 else "192.0.2.1"  # of documentation: of nobody
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((far, 9))  # this chooses a way out, and sends nothing
        yield str(probe.getsockname()[0])
    with contextlib.suppress(OSError):
        yield from (str(each[4][0]) for each in socket.getaddrinfo(socket.gethostname(), None, family))


def interface_addresses() -> Iterator[str]:
    """Yield the IPv4 address of each network interface, where the system is Linux; elsewhere nothing."""
    if sys.platform != "linux":
        return
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):  # it has none
                found = fcntl.ioctl(asked.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
                yield socket.inet_ntoa(found[_ADDRESS])


def clear_text_problem(address: Address, password: Secret | None, allowed: bool = False) -> str | None:
    """Return the reason why this password must not be sent to this address, or None if it may be sent."""
    if password is None or allowed or address.encrypted or address.loopback:
        return None
    return (
        f"The password for {address.host} would be sent unencrypted, for everybody on the way to read. "
        f"Use {'wss' if address.websocket else 'mqtts'}://, or say --allow-clear-password if the way is safe."
    )
