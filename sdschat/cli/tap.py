"""`sdschat tap`: record the topics of channels into files for the data pipeline."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from sdschat.cli.errors import (
    DONE,
    NOT_AUTHORISED,
    UNREACHABLE,
    WRONG_USE,
    CommandProblem,
    FilePath,
    channel_name,
    say,
    time_option,
)
from sdschat.cli.options import Chosen, FoundSettings, channel_options
from sdschat.cli.output import counted, safe
from sdschat.cli.session import mqtt_options
from sdschat.cli.signals import stopped_by
from sdschat.identity.private.link import is_private_name
from sdschat.node.private.links import link_broker, link_channel
from sdschat.node.private.opening import open_for_reading
from sdschat.node.private.record import is_link
from sdschat.transport import base
from sdschat.transport.base import Topics, Transport, Why, place
from sdschat.transport.client import MqttTransport
from sdschat.transport.segments import DuplicateFilter, Recorded, Spool, known_in
from sdschat.transport.tasks import first

_STATE: Final = ".tap"  # name of the file with the state of a folder
_FLUSH: Final = 0.05  # seconds until a received packet is on disk
_NOTHING_FOR: Final = 15.0  # seconds without any packet until that is told
_NOTHING: Final = (
    "nothing has come yet: is somebody in these channels, by these names, and with this broker? Recording goes on"
)


@click.command("tap")
@click.argument("channels", nargs=-1, required=True, metavar="CHANNEL…")
@click.option("--to", "folder", metavar="DIR", type=FilePath(), help="For the segments.")
@click.option("--lint", "lints", is_flag=True, help="Record nothing; print the rules that packets break, by sender.")
@click.option("--for", "length", metavar="TIME", help="With --lint: so long, and not until it is interrupted.")
@click.option("--every", default="5s", metavar="TIME", help="A segment after so long, or 4 MiB. Default: 5s.")
@click.option("--keep", default="24h", metavar="TIME", help="So long the broker keeps what passes while no tap runs.")
@channel_options
def command(
    chosen: Chosen,
    channels: tuple[str, ...],
    folder: Path | None,
    lints: bool,
    length: str | None,
    every: str,
    keep: str,
) -> int:
    """Record everything that passes over the topics of channels, until it is interrupted.

    \b
    Examples:
      sdschat tap lobby --to tap --broker mqtt://broker.example
      sdschat tap lobby dev --to tap --every 1m
      sdschat pipeline ingest tap --lake lake
      sdschat tap lobby --lint --for 1m --broker mqtt://broker.example

    A link (`sdschat invite`) in the place of the only channel records a private one, opened, until its key is changed.
    It takes no part in the channels. Segments are whole files that never change. A packet is on disk before it is
    acknowledged to the broker, and the next run takes over the files of a killed one. While no tap records into this
    folder, the broker keeps packets for --keep, as many as it has room for (mosquitto: max_queued_messages).

    With --lint, it prints a JSON line for each packet, also of members' channels, that shows something new about its
    sender (dialect, reason of a refusal, broken rule), like those of `sdschat decode`, and at the end a line for each
    sender. Exit code then: 0 all packets are sound, 1 some break rules, 2 something is no packet.
    """
    if (folder is None) != lints:
        raise CommandProblem("Say either --to DIR, to record, or --lint, with --for TIME if you like.", WRONG_USE)
    if length and not lints:
        raise CommandProblem("--for goes with --lint: a recording lasts until it is interrupted.", WRONG_USE)
    links = [name for name in channels if is_link(name)]
    if links and (lints or len(channels) > 1):
        raise CommandProblem("A private channel is recorded alone: one link, no other channel, no --lint.", WRONG_USE)
    if folder is None:
        from sdschat.cli.lint import lint

        return lint(
            chosen, [channel_name(name) for name in channels], time_option("--for", length) / 1000 if length else None
        )
    longest, kept = time_option("--every", every) / 1000, time_option("--keep", keep) // 1000
    for name in channels:
        if is_private_name(name):
            raise CommandProblem(f"{name} is a private channel: an invite to it has to stand in its place.", WRONG_USE)
    named = [link_channel(name) if is_link(name) else name for name in map(channel_name, channels)]
    topics = [Topics(name, chosen.settings.topic_prefix).everything for name in named]
    if links and chosen.text("broker") is None and (broker := link_broker(links[0])):
        chosen.general["broker"] = FoundSettings(broker, "the invite")
    with tap_folder(folder) as here:
        try:
            spool = Spool(folder, secrets.token_hex(8))
        except OSError as error:
            raise CommandProblem(
                f"{folder} cannot be written: {error.strerror}. Choose another --to.", WRONG_USE
            ) from error
        for path in spool.recovered:
            say(f"{path.name}: taken over from a run that was killed")
        return asyncio.run(_record(chosen, topics, spool, here, longest, kept, *links))


class TapProgress:
    """Counts for a terminal, and a sentence where nothing comes."""

    def __init__(self, *, watched: bool) -> None:
        self._watched = watched
        self._began: float | None = None
        self._told = False
        self._shown = ""

    def connected(self, now: float) -> None:
        """Note the moment from which on packets can come."""
        if self._began is None:
            self._began = now

    def sentence(self, now: float, packets: int) -> str:
        """Return a sentence if nothing came for a while, once; else an empty text."""
        if self._told or packets or self._began is None or now - self._began < _NOTHING_FOR:
            return ""
        self._told = True
        return _NOTHING

    def line(self, packets: int) -> str:
        """Return what draws the count in the place of the last one; empty if it is there already."""
        text = counted(packets, "packet")
        if not self._watched or self._began is None or text == self._shown:
            return ""
        self._shown = text
        return f"\r{text}\x1b[K"

    def cleared(self) -> str:
        """Return what removes the count, before a sentence is printed."""
        shown, self._shown = self._shown, ""
        return "\r\x1b[K" if shown else ""


async def _record(
    chosen: Chosen, topics: list[str], spool: Spool, folder: TapFolder, longest: float, kept: int, link: str = ""
) -> int:
    return await _Tap(chosen, topics, spool, folder, longest, kept, link).run()


class _Tap:
    def __init__(
        self,
        chosen: Chosen,
        topics: list[str],
        spool: Spool,
        folder: TapFolder,
        longest: float,
        kept: int,
        link: str,
    ) -> None:
        self._prefix = chosen.settings.topic_prefix
        self._spool = spool
        self._folder = folder
        self._longest = longest
        self._ever = False
        self._known: DuplicateFilter = known_in(spool.folder)
        self._progress = TapProgress(watched=sys.stderr.isatty())
        self._unsaid: list[Callable[[], None]] = []  # acknowledgements to the broker of packets not on disk yet
        options, _ = mqtt_options(chosen)
        self._session = folder.session(str(options.address), topics) if kept else ""
        self._transport: Transport = MqttTransport(replace(options, session=self._session, session_kept=kept))
        self._key_changed = False
        if link:
            self._transport = open_for_reading(self._transport, link, self._prefix, self._tell_key_changed)
        self._transport.listen(self._hear)
        for each in topics:
            self._transport.subscribe(each)

    async def run(self) -> int:
        self._ended = stopped_by(dict.fromkeys((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), DONE))
        self._transport.start()
        try:
            await first(self._ended, self._keep())
        finally:
            with contextlib.suppress(OSError):
                self._flush()
            await self._transport.close()
            self._close()
        packets, segments = counted(self._spool.seq, "packet"), counted(self._spool.segments, "segment")
        self._say(f"{packets} in {segments} in {self._spool.folder}")
        return DONE

    def _tell_key_changed(self) -> None:
        if not self._key_changed:
            self._key_changed = True
            self._say(
                "packets of another key are not recorded: of who was removed before, or the key was changed since this "
                "invite. A tap is no member, and then needs a new one"
            )

    def _close(self) -> None:
        try:
            self._spool.close()
        except OSError as error:
            raise self._unwritable(error) from error

    def _flush(self) -> None:
        self._spool.flush()
        unsaid, self._unsaid = self._unsaid, []
        for acknowledge in unsaid:
            acknowledge()

    def _unwritable(self, error: OSError) -> CommandProblem:
        return CommandProblem(
            f"{self._spool.folder} cannot be written: {error.strerror}. Packets recorded before are kept."
        )

    async def _keep(self) -> None:
        """Write to disk every `_FLUSH` seconds, and close a segment every `every` seconds."""
        began = time.monotonic()
        while True:
            await asyncio.sleep(_FLUSH)
            try:
                self._flush()
                if time.monotonic() - began >= self._longest:
                    self._spool.seal()
                    began = time.monotonic()
            except OSError as error:
                raise self._unwritable(error) from error
            if sentence := self._progress.sentence(time.monotonic(), self._spool.seq):
                self._say(sentence)
            self._draw(self._progress.line(self._spool.seq))

    def _say(self, text: str) -> None:
        self._draw(self._progress.cleared())
        say(text)

    def _draw(self, text: str) -> None:
        if text:
            sys.stderr.write(text)
            sys.stderr.flush()

    def _hear(self, event: base.Event) -> None:
        match event:
            case base.Received():
                self._take(event)
            case base.Connected(address, resumed=resumed):
                self._ever = True
                self._progress.connected(time.monotonic())
                self._say(f"recording from {safe(address)}")
                if self._session and self._folder.begin(self._session) and not resumed:
                    self._say("the broker kept nothing of what passed meanwhile; the journals of the nodes have it")
            case base.Disconnected(why, detail):
                self._lost(why, detail)
            case base.SubscribeRefused(_, detail):
                self._say(safe(detail))
            case base.HandlerFailed(OSError() as error, base.Connected()):
                self._fail(self._unwritable(error))
            case base.HandlerFailed(error, _) | base.Crashed(error):
                self._fail(error)
            case _:
                pass

    def _take(self, heard: base.Received) -> None:
        topic, payload, retained, receipt, _ = heard
        number = 0 if receipt is None else receipt.packet_id
        if receipt is not None:
            self._unsaid.append(receipt.acknowledge)
            if receipt.again and self._known.has(number, topic, payload):
                return  # a packet on disk, sent again because the broker did not get the acknowledgement
            self._known.add(number, topic, payload)
        found = place(topic, self._prefix)
        channel = "" if found is None else found.channel
        self._spool.take(Recorded(time.time_ns() // 1_000_000, topic, channel, retained, payload, number))

    def _lost(self, why: Why, detail: str) -> None:
        if why is Why.CLOSED:
            return
        if self._ever or self._ended.done():
            self._say(f"not recording: {safe(detail)}")
            return
        code = NOT_AUTHORISED if why is Why.NOT_AUTHORISED else UNREACHABLE
        self._fail(CommandProblem(f"{self._transport.describe()}: {detail}", code))

    def _fail(self, error: Exception) -> None:
        if not self._ended.done():
            self._ended.set_exception(error)


class TapFolder:
    """The state of a folder of recordings: its own random name, and the broker sessions that recorded before. A broker
    keeps packets for a session while no tap runs."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._own, self._recorded = self._read()

    def _read(self) -> tuple[str, list[str]]:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            found = json.loads(os.pread(self._descriptor, 1 << 20, 0))
            return str(found["tap"]), [str(each) for each in found["recorded"]]
        return secrets.token_hex(8), []

    def session(self, broker: str, topics: Sequence[str]) -> str:
        """Return the session name for a broker and a set of topics: a session keeps the topics it was made with."""
        whole = json.dumps([self._own, broker, sorted(topics)])
        return f"sdschat-tap-{hashlib.sha256(whole.encode()).hexdigest()[:16]}"

    def begin(self, session: str) -> bool:
        """Note that the session records. Return True if it recorded before: the broker kept packets for it."""
        before = session in self._recorded
        if not before:
            self._recorded.append(session)
            whole = json.dumps({"tap": self._own, "recorded": self._recorded}).encode()
            os.pwrite(self._descriptor, whole, 0)
            os.ftruncate(self._descriptor, len(whole))
            os.fsync(self._descriptor)
        return before


@contextlib.contextmanager
def tap_folder(folder: Path) -> Iterator[TapFolder]:
    """Lock the folder for the block: two taps would take each other's session. Raises CommandProblem."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / _STATE, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CommandProblem(
            f"{folder} cannot be written: {error.strerror}. Choose another --to.", WRONG_USE
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandProblem(f"Another tap records into {folder}. Choose another --to.", WRONG_USE) from None
        yield TapFolder(descriptor)
    finally:
        os.close(descriptor)
