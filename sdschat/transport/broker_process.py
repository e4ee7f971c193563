"""The process of the embedded broker. `broker.py` starts this script by its path.

rumqttd, which iotcore wraps, cannot be stopped once it runs. So it gets a process of its own, which ends when its
standard input ends: on request of the parent, or when the parent is killed. It prints one line: if the start worked.
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

LOCK_PATIENCE = 1.0  # seconds; another broker that starts at this moment is done by then
POLL = 0.01


def main() -> None:
    order = json.loads(sys.stdin.buffer.readline())
    addresses = [(str(host), int(port)) for host, port in order["addresses"]]
    held = contextlib.ExitStack()
    try:
        held.enter_context(guards(addresses))
        run(str(order["config"]))
        wait_until_open(addresses)
        if not order["inherited"]:
            held.close()  # guards that are held on are the sign that another process may take the port over
        say("ready")
    except Exception as error:
        say(f"failed {' '.join(str(error).split())}")
        os._exit(1)
    # From here on nothing may be printed: the terminal belongs to the parent process.
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    sys.stdin.buffer.read()
    os._exit(0)  # rumqttd's threads would never end


def run(config: str) -> None:
    """Start rumqttd's threads."""
    # rumqttd logs every packet as an "error". Writing these lines would be most of its work.
    logging.getLogger("rumqttd").setLevel(logging.CRITICAL + 1)
    logging.getLogger("tracing").setLevel(logging.CRITICAL + 1)
    from iotcore.iotcore import IotCoreBroker

    # rumqttd reads its settings from a file only. They may hold passwords: close the file to others, then remove it.
    descriptor, path = tempfile.mkstemp(prefix="sdschat-broker-", suffix=".toml")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(config)
        IotCoreBroker(config_path=path).start()
    finally:
        os.unlink(path)


@contextlib.contextmanager
def guards(addresses: list[tuple[str, int]]) -> Iterator[None]:
    """Hold the UDP port of each address until its TCP port is bound, or longer if others may take the port over.

    iotcore checks if the port is free, and rumqttd binds it a moment later and does not report a failure. So if two
    brokers start at once, both believe that they serve. Only one process can bind a UDP port, and the kernel always
    frees it when the process ends.
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
                return None  # another program uses this UDP port; rely on iotcore's own check
            time.sleep(POLL)
        else:
            return guard


def is_guarded(host: str, port: int) -> bool:
    """True if a process holds the UDP port, or begins to."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # two that look at once see no process
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False


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
