"""`sdschat doctor`: check everything that a chat needs."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import click

from sdschat import __version__
from sdschat.cli.errors import DONE, NOT_AUTHORISED, PROFILE, UNEXPECTED, UNREACHABLE, WRONG_USE, CommandProblem
from sdschat.cli.histories import open_reader
from sdschat.cli.options import Chosen, channel_options
from sdschat.cli.output import counted, listed, moment, safe
from sdschat.cli.session import mqtt_options
from sdschat.cli.timber import in_a_line, statuses
from sdschat.identity.keyfile import KEY_FILE, KeyFileError, load
from sdschat.node.network import MqttNetwork
from sdschat.node.profile import database_path, profile_names
from sdschat.store.errors import StoreDamaged, StoreError
from sdschat.transport import base
from sdschat.transport.address import AddressError

_PATIENCE: Final = 15.0
_PACKAGES: Final = ("paho-mqtt", "protobuf", "PyNaCl", "mmh3", "sqlite-utils", "iotcore", "click")
_ROOM: Final = 16 * 1024 * 1024  # bytes of free disk; a checkpoint of the database may need so much
_SANE: Final = 1_700_000_000_000  # a clock before this moment of 2023 was never set


class CheckResult(NamedTuple):
    good: bool
    what: str
    detail: str
    exit_code: int = DONE


@click.command("doctor")
@click.option("--salvage", metavar="PROFILE", help="Put what can be read of a damaged database into this new profile.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object for each check.")
@channel_options
def command(chosen: Chosen, salvage: str | None, as_json: bool) -> int:
    """Check versions, clock, files and the broker: reached, written, read back.

    \b
    Examples:
      sdschat doctor --name ann
      sdschat doctor --broker mqtts://broker.example:8883
      sdschat doctor --name ann --salvage ann-rescued

    The exit code is 0 if all is well, otherwise the code of the first trouble.
    """
    if salvage is not None:
        return _salvage(chosen, salvage)
    code = DONE
    for finding in _findings(chosen):
        if as_json:
            check = {"check": finding.what, "ok": finding.good, "detail": finding.detail}
            click.echo(json.dumps(check, separators=(",", ":")))
        else:
            click.echo(f"{'ok  ' if finding.good else 'FAIL'}  {finding.what:9}  {finding.detail}")
        code = code or finding.exit_code
    return code


def _salvage(chosen: Chosen, name: str) -> int:
    """Rescue the readable messages into a new profile. The damaged profile is not changed."""
    from sdschat.cli.output import show_progress
    from sdschat.node.tools.salvage import salvage

    target = database_path(chosen.data_dir, name)
    source = chosen.database
    if target.parent.exists():
        raise CommandProblem(f"There is a profile {name} already. Choose another name after --salvage.", WRONG_USE)
    if not source.exists():
        raise CommandProblem(f"There is no database {source}. Choose its profile with --profile or --name.", WRONG_USE)
    try:
        rescued = salvage(source, target, chosen.settings, lambda packets: show_progress(packets, "reading", None))
    except StoreDamaged as error:
        raise CommandProblem(
            f"Nothing of {source} can be read ({safe(error.detail)}), so no profile is made. Move {source.name} away, "
            f"with all files beside it whose names begin so, and leave {KEY_FILE}: you stay the same person. The next "
            "join begins a new database, and others send the history again. Private channels need a new invite.",
            PROFILE,
        ) from error
    except OSError as error:
        raise CommandProblem(
            f"The new profile cannot be written in {target.parent}: {error.strerror}. {source} is as it was.", WRONG_USE
        ) from error
    for channel, count in rescued.channels.items():
        click.echo(f"{safe(channel)}: {count} messages")
    if rescued.unreadable:
        click.echo(f"{rescued.unreadable} packets are damaged. Other participants send those messages again.")
    if not rescued.channels:
        click.echo("Nothing could be read.")
        return PROFILE
    click.echo(f"Use them with: --name {chosen.nick} --profile {name}")
    return DONE


def _findings(chosen: Chosen) -> Iterator[CheckResult]:
    yield _versions()
    now = time.time_ns() // 1_000_000
    yield CheckResult(now > _SANE, "clock", moment(now), DONE if now > _SANE else UNEXPECTED)
    yield from _files(chosen, now)
    if chosen.settings.timing != "spec":
        yield CheckResult(True, "timing", chosen.settings.timing)
    if chosen.settings.faults.active:
        yield CheckResult(True, "faults", str(chosen.settings.faults))
    try:
        yield asyncio.run(_broker(chosen))
    except (AddressError, CommandProblem) as error:  # of the address, or a file for the way there
        yield CheckResult(False, "broker", str(error), getattr(error, "exit_code", WRONG_USE))


def _versions() -> CheckResult:
    found, missing = [], []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    python = ".".join(map(str, sys.version_info[:3]))
    detail = f"sdschat {__version__}, Python {python}, {', '.join(found)}"
    if missing:
        return CheckResult(False, "versions", f"{detail}; not installed: {', '.join(missing)}", UNEXPECTED)
    return CheckResult(True, "versions", detail)


def _files(chosen: Chosen, now: int) -> Iterator[CheckResult]:
    path = chosen.database
    try:
        found = path.exists()
    except PermissionError:
        yield CheckResult(False, "profile", f"{path} cannot be read: no permission. Is it another user's?", PROFILE)
        return
    if not found and path.is_symlink():
        yield CheckResult(False, "profile", f"{path} is a link that leads to nothing. Move it away.", PROFILE)
        return
    if not found:
        there = next(folder for folder in path.parents if os.path.lexists(folder))  # a link may lead to nothing
        try:
            with tempfile.TemporaryFile(dir=there):
                others = profile_names(chosen.data_dir)
                unseen = f"; not checked: {listed(others)}, each with --profile" if others else ""
                yield CheckResult(True, "profile", f"{path} is made with the first use{unseen}")
        except OSError as error:
            why = f"{path} cannot be made: {error.strerror}: {there}. Choose another place with --data-dir"
            yield CheckResult(False, "profile", why, WRONG_USE)
        return
    if _is_open_to_others(path):
        yield CheckResult(False, "profile", f"others may read {path}. Close it with: chmod 600 {path}", PROFILE)
    yield _key(path.parent / KEY_FILE)
    try:
        with open_reader(chosen) as reader:
            reader.check()
            channels, rejections = reader.channels(), reader.rejections()
            members = statuses(chosen, reader)
    except (StoreError, CommandProblem) as error:
        yield CheckResult(False, "profile", str(error), getattr(error, "exit_code", PROFILE) or PROFILE)
        return
    yield from _trouble_with_writing(path)
    messages = sum(info.messages for info in channels) + sum(state.posts for state in members.values())
    yield CheckResult(True, "profile", f"{path}: {counted(len(channels), 'channel')}, {counted(messages, 'message')}")
    for name, state in members.items():
        yield CheckResult(True, "members", f"{safe(name)}: {in_a_line(state)}")
    for info in channels:
        ahead = info.newest - now
        if ahead > chosen.settings.config.max_skew:
            yield CheckResult(
                False,
                "clock",
                f"the newest message of {safe(info.channel)} is {ahead // 1000} s ahead of this clock",
                UNEXPECTED,
            )
        refused = rejections.get(info.channel)
        if refused:
            counts = ", ".join(f"{count} {reason}" for reason, count in refused.items())
            yield CheckResult(True, "refused", f"{safe(info.channel)}: {counts}")


def _trouble_with_writing(path: Path) -> Iterator[CheckResult]:
    if not all(os.access(each, os.W_OK) for each in (path, path.parent)):
        why = f"{path} and its folder cannot be written: no permission. It can only be read"
        yield CheckResult(False, "profile", why, PROFILE)
    if (full := room_problem(path.parent, shutil.disk_usage(path.parent).free)) is not None:
        yield full


def room_problem(folder: Path, free: int) -> CheckResult | None:
    """Return what is wrong with so many free bytes on the disk of a folder, or None."""
    if free >= _ROOM:
        return None
    why = f"the disk of {folder} has {free // 1024} KiB left. Once it is full, nothing is saved, sent or shown"
    return CheckResult(False, "disk", why, PROFILE)


def _key(path: Path) -> CheckResult:
    """Look at a key file without closing it to others, as `load` does: a key that others have read is theirs too."""
    try:
        is_open = _is_open_to_others(path)
        if not is_open:
            return CheckResult(True, "key", f"{path}: {load(path).sender_id}")
    except FileNotFoundError:
        why = f"{path} is not there: the next start makes another one, under which others will not know you"
        return CheckResult(False, "key", f"{why}. Put a copy of it back", PROFILE)
    except OSError as error:
        return CheckResult(False, "key", f"{path} cannot be read: {error.strerror}", PROFILE)
    except KeyFileError as error:
        return CheckResult(False, "key", str(error), PROFILE)
    why = f"others may read {path}, and with it write in your name. Close it with: chmod 600 {path}"
    return CheckResult(False, "key", why, PROFILE)


def _is_open_to_others(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


class _Probe:
    """A client that connects, sends a packet to itself, and waits for it to come back."""

    def __init__(self, transport: base.Transport, topic: str, qos: int) -> None:
        self.result: asyncio.Future[CheckResult] = asyncio.get_running_loop().create_future()
        self.place = ""
        self._transport = transport
        self._topic = topic
        self._qos = qos
        self._token = secrets.token_bytes(8)
        transport.listen(self._hear)
        transport.subscribe(topic)

    def _hear(self, event: base.Event) -> None:
        match event:
            case base.Connected(address, protocol, max_payload, encrypted):
                tls = "TLS" if encrypted else "not encrypted"
                self.place = f"{address}: {protocol}, {tls}, packets of up to {max_payload} bytes"
                self._transport.publish(self._topic, self._token, qos=self._qos)
            case base.Disconnected(why, detail):
                code = NOT_AUTHORISED if why is base.Why.NOT_AUTHORISED else UNREACHABLE
                self._found(False, f"{self._transport.describe()}: {detail}", code)
            case base.Received(topic, payload) if topic == self._topic and payload == self._token:
                self._found(True, f"{self.place}; written and read back", DONE)
            case base.HandlerFailed(error, _) | base.Crashed(error):
                self._fail(error)
            case base.SubscribeRefused(_, detail) | base.PublishFailed(_, _, detail):
                self._found(False, f"{self.place}; {detail}", NOT_AUTHORISED)

    def _fail(self, error: Exception) -> None:
        if not self.result.done():
            self.result.set_exception(error)

    def _found(self, good: bool, detail: str, code: int) -> None:
        if not self.result.done():
            self.result.set_result(CheckResult(good, "broker", detail, code))


async def _broker(chosen: Chosen) -> CheckResult:
    options, embedded = mqtt_options(chosen)
    network = MqttNetwork(options, chosen.settings, embedded=embedded)
    hosts: list[bool] = []
    network.listen(hosts.append)
    topic = f"{chosen.settings.topic_prefix}/{base.DOCTOR}/{secrets.token_hex(8)}"
    transport = network.transport(f"{topic}/who")
    probe = _Probe(transport, topic, chosen.settings.qos)
    try:
        transport.start()
        async with asyncio.timeout(_PATIENCE):
            found = await probe.result
        return found._replace(detail=f"{found.detail}, started by this command") if any(hosts) else found
    except TimeoutError:
        if not probe.place:
            return CheckResult(False, "broker", f"{transport.describe()}; no answer came in time", UNREACHABLE)
        why = f"what was written to {topic} did not come back: the broker forbids to read it, or hangs"
        return CheckResult(False, "broker", f"{probe.place}; {why}", UNREACHABLE)
    finally:
        await transport.close()
        await network.close()
