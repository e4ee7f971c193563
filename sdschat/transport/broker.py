"""The embedded broker: rumqttd from the package iotcore, in a process that ends with ours."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import json
import socket
import ssl
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sdschat.transport.address import LOCAL, Address, Secret
from sdschat.transport.mqtt_options import no_passphrase, reason

_SCRIPT: Final = Path(__file__).with_name("broker_process.py")
_START_PATIENCE: Final = 15.0  # seconds
_STOP_PATIENCE: Final = 2.0


class BrokerError(Exception):
    """The embedded broker cannot serve. The message says what happened, why, and what to do."""


class PortTakenError(BrokerError):
    """Another program listens on this port: very likely the broker that we wanted."""


@dataclass(frozen=True, slots=True)
class BrokerTls:
    """Files in PEM form. A client authority is not offered: iotcore's rumqttd accepts the setting but ignores it."""

    cert_file: Path
    key_file: Path


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """The broker's settings. `port` speaks MQTT 3.1.1: rumqttd has one version per port, and all clients know it."""

    host: str = LOCAL.host
    port: int = LOCAL.port
    port_v5: int | None = None
    port_websocket: int | None = None
    users: Mapping[str, Secret] = field(default_factory=dict)  # empty: everybody may connect
    tls: BrokerTls | None = None
    max_packet: int = 1024 * 1024
    max_connections: int = 1000

    @property
    def addresses(self) -> list[tuple[str, int]]:
        ports = (self.port, self.port_v5, self.port_websocket)
        return [(self.host, port) for port in ports if port is not None]

    @property
    def open_to_all(self) -> bool:
        """True if anybody on the network can read and write everything. The user must be told this at the start."""
        return not self.users and not Address("mqtt", self.host, self.port).loopback

    def problems(self) -> list[str]:
        """Return the problems of these values, in words for the user."""
        found = []
        try:
            ipaddress.ip_address(self.host)
        except ValueError:
            found.append(f"The broker is to listen on {self.host!r}. Give an IP address, such as 127.0.0.1 or 0.0.0.0.")
        ports = [port for _, port in self.addresses]
        if not all(0 < port < 65536 for port in ports) or len(set(ports)) < len(ports):
            named = ", ".join(map(str, ports))
            found.append(f"The broker cannot listen on port {named}. Ports go from 1 to 65535, and each has one use.")
        if not 1024 <= self.max_packet <= 256 * 1024 * 1024:
            found.append(f"The broker is to take packets of {self.max_packet} bytes. Give 1024 to 268435456.")
        for user, password in self.users.items():
            if not user or not (user + password.reveal()).isprintable():
                found.append("A user or password of the broker is empty or has control characters. Choose another one.")
        if self.tls is not None:
            found += _tls_problems(self.tls)
        return found

    def toml(self) -> str:
        """Return the settings in rumqttd's own form."""
        lines = ["id = 0", "[router]", "id = 0", f"max_connections = {self.max_connections}"]
        # rumqttd keeps ten segments of each topic in memory. A slow client that falls further behind loses packets, and
        # SDS repairs that loss.
        lines += ["max_outgoing_packet_count = 200", "max_segment_size = 1048576", "max_segment_count = 10"]
        lines += self._server("v4", self.port)
        if self.port_v5 is not None:
            lines += self._server("v5", self.port_v5)
        if self.port_websocket is not None:
            lines += self._server("ws", self.port_websocket)
        return "\n".join(lines) + "\n"

    def _server(self, kind: str, port: int) -> list[str]:
        host = f"[{self.host}]" if ":" in self.host else self.host
        lines = [f"[{kind}.1]", f'name = "{kind}"', f'listen = "{host}:{port}"', "next_connection_delay_ms = 1"]
        if self.tls is not None:
            lines += [f"[{kind}.1.tls]", f"certpath = {_quoted(self.tls.cert_file)}"]
            lines += [f"keypath = {_quoted(self.tls.key_file)}"]
        lines += [f"[{kind}.1.connections]", "connection_timeout_ms = 10000", f"max_payload_size = {self.max_packet}"]
        lines += ["max_inflight_count = 200", "dynamic_filters = true"]
        if self.users:
            lines += [f"[{kind}.1.connections.auth]"]
            lines += [f"{_quoted(user)} = {_quoted(password.reveal())}" for user, password in self.users.items()]
        return lines


def _tls_problems(tls: BrokerTls) -> list[str]:
    """Return the problems of the certificate files. rumqttd would start with any file and then refuse everybody."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.cert_file, tls.key_file, password=no_passphrase)
    except (OSError, ValueError) as error:
        return [
            f"The broker's certificate {tls.cert_file} cannot be used with the key {tls.key_file}: {reason(error)}. "
            "Both must be in PEM form, belong together, and the key must have no passphrase."
        ]
    return []


def _refused_by_system(host: str, port: int) -> str:
    """Return the system's reason against this address, or "". iotcore reports every such refusal as a port in use."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except PermissionError:
            return f"Port {port} may not be used by this user. Choose one from 1024 on with --listen."
        except OSError as error:
            if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                return (
                    f"{host} is no address of this machine. Choose one of its own, or 0.0.0.0 for all, with --listen."
                )
    return ""


def _quoted(value: object) -> str:
    """Return a TOML basic string. It equals JSON's string if it has no control characters and no escaped surrogates."""
    return json.dumps(str(value), ensure_ascii=False)


class EmbeddedBroker:
    """One broker process. `inherited`: when it ends, others on this machine may start one in its place."""

    def __init__(self, config: BrokerConfig, *, inherited: bool = False) -> None:
        for problem in config.problems():
            raise BrokerError(problem)
        self.config = config
        self._inherited = inherited
        self._process: asyncio.subprocess.Process | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self.running else None

    async def start(self) -> None:
        """Start the broker and return once it accepts connections. Raises PortTakenError or BrokerError."""
        if self.running:
            return
        order: dict[str, object] = {
            "config": self.config.toml(),
            "addresses": self.config.addresses,
            "inherited": self._inherited,
        }
        try:
            # -P: Python must not import a file named json.py from the current directory. A session of its own: Ctrl+C
            # in our terminal is for us, and the broker must still run when we disconnect from it.
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", str(_SCRIPT)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
            async with asyncio.timeout(_START_PATIENCE):
                answer = await self._ask(order)
        except (OSError, TimeoutError) as error:
            await self.stop()
            raise BrokerError(
                f"The embedded broker did not start: {error or 'it took too long'}. Try again."
            ) from error
        if answer != "ready":
            await self.stop()
            raise self._explained(answer.removeprefix("failed").strip())

    async def _ask(self, order: dict[str, object]) -> str:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # Through the pipe, not as arguments: every user of this machine can read arguments.
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        with contextlib.suppress(ConnectionError):  # in that case the answer says why
            await self._process.stdin.drain()
        return (await self._process.stdout.readline()).decode(errors="replace").strip()

    def _explained(self, answer: str) -> BrokerError:
        for host, port in self.config.addresses:
            if told := _refused_by_system(host, port):
                return BrokerError(told)
        ports = ", ".join(str(port) for _, port in self.config.addresses)
        if "already" in answer or "in use" in answer:
            return PortTakenError(
                f"Port {ports} on {self.config.host} is taken. Perhaps by a chat on this machine: it runs a broker "
                "where there is none. Leave all chats here, start this again, and then the chats; or choose another "
                "port with --listen."
            )
        return BrokerError(f"The embedded broker cannot serve on port {ports}: {answer or 'it ended without a word'}.")

    async def stop(self) -> None:
        """Stop the broker: ask first, then kill. Every connection to it is lost."""
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), _STOP_PATIENCE)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        self._process = None

    async def wait(self) -> None:
        """Return once the broker has ended, for any reason."""
        if self._process is not None:
            await self._process.wait()
