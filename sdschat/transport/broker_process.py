"""The process that the embedded broker lives in. A script of its own: `broker.py` starts it by its path.

rumqttd, which iotcore wraps, cannot be stopped once it runs, so it gets a process, which ends when its standard input
does: when the parent says so, and just as well when the parent is killed. It says one line about how starting went.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator

LOCK_PATIENCE = 1.0  # seconds; others that start at this moment are done by then
POLL = 0.01


def main() -> None:
    order = json.loads(sys.stdin.buffer.readline())
    addresses = [(str(host), int(port)) for host, port in order["addresses"]]
    try:
        with guards(addresses):
            run(str(order["config"]))
            wait_until_open(addresses)
        say("ready")
    except Exception as error:
        say(f"failed {' '.join(str(error).split())}")
        os._exit(1)
    # From here on nothing may be printed: the terminal belongs to the parent.
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    sys.stdin.buffer.read()
    os._exit(0)  # rumqttd's threads would never end


def run(config: str) -> None:
    """Start rumqttd's threads."""
    # rumqttd reports every packet as an "error", which would be most of its work.
    logging.getLogger("rumqttd").setLevel(logging.CRITICAL + 1)
    logging.getLogger("tracing").setLevel(logging.CRITICAL + 1)
    from iotcore.iotcore import IotCoreBroker

    # It reads its settings from a file only. They may hold passwords: closed to others, and gone at once.
    descriptor, path = tempfile.mkstemp(prefix="sdschat-broker-", suffix=".toml")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(config)
        IotCoreBroker(config_path=path).start()
    finally:
        os.unlink(path)


@contextlib.contextmanager
def guards(addresses: list[tuple[str, int]]) -> Iterator[None]:
    """Hold the UDP port of each address while its TCP port is being taken.

    iotcore looks whether the port is free, and rumqttd binds it a moment later without telling when that failed: of
    two that start at once, both would believe that they serve. A UDP port is free for exactly one, and is given back
    by the kernel whatever happens.
    """
    with contextlib.ExitStack() as stack:
        for host, port in addresses:
            guard = lock(host, port)
            if guard is not None:
                stack.enter_context(guard)
        yield


def lock(host: str, port: int) -> socket.socket | None:
    until = time.monotonic() + LOCK_PATIENCE
    while True:
        guard = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
        try:
            guard.bind((host, port))
        except OSError:
            guard.close()
            if answers(host, port):
                raise OSError(f"something listens on port {port} already") from None
            if time.monotonic() >= until:
                return None  # something else uses this UDP port; then rumqttd's own check has to do
            time.sleep(POLL)
        else:
            return guard


def answers(host: str, port: int) -> bool:
    any_address = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    try:
        with socket.create_connection((any_address.get(host, host), port), timeout=1):
            return True
    except OSError:
        return False


def wait_until_open(addresses: list[tuple[str, int]]) -> None:
    until = time.monotonic() + 10
    for host, port in addresses:
        while not answers(host, port):
            if time.monotonic() >= until:
                raise OSError(f"port {port} was not opened")
            time.sleep(POLL)


def say(line: str) -> None:
    with contextlib.suppress(OSError):  # the parent may be gone
        os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    main()
