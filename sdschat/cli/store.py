"""`sdschat store`: run a Store node, show its archive, or compact its database."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from sdschat.cli.errors import (
    DONE,
    NOT_AUTHORISED,
    UNREACHABLE,
    WRONG_USE,
    CommandProblem,
    channel_name,
    say,
    time_option,
)
from sdschat.cli.histories import open_reader
from sdschat.cli.listening import is_place
from sdschat.cli.options import (
    LOCAL,
    NETWORK,
    STORE_NAME,
    WORKED_OUT,
    Chosen,
    FoundSettings,
    with_options,
    written,
)
from sdschat.cli.output import counted, moment, safe
from sdschat.cli.session import ATTEMPTS_EMBEDDED, first_connection, run_node
from sdschat.node.node import Node
from sdschat.node.private.links import gives_since_join, invites_to_members
from sdschat.node.profile import open_profile
from sdschat.node.retention import RetentionLimits, crowded
from sdschat.node.store_server.discovery import MOST, Discovery
from sdschat.node.store_server.metrics import COUNTS, MetricsServer, prometheus
from sdschat.node.store_server.server import StoreNode
from sdschat.store.archive import Archived, archived, database_space
from sdschat.store.files import is_in_use
from sdschat.store.retention import DiskSpace
from sdschat.store.retention import compact as write_anew
from sdschat.transport.address import Address
from sdschat.transport.base import Why

ALL: Final = "#"
_LIMIT: Final = "store.max_size"
_JOURNAL_KEEP: Final = 24 * 3600 * 1000  # ms; a Store's journal of a month would be larger than its archive
_SILENT: Final = 45_000  # milliseconds without a save; a Store saves its counts every 10 s
_FULL: Final = (
    f"{MOST} channels are archived, and something is heard in all of them; others are passed over. Start another Store "
    "that names them."
)


_OPTIONS: Final = (
    *NETWORK,
    click.option("--name", metavar="NICK", help=f"Its nick. Default: {STORE_NAME}."),
    click.option("--profile", metavar="NAME", help="The profile: messages and key. Default: the nick."),
    *LOCAL[2:],
)


@click.command("store")
@click.argument("channels", nargs=-1, required=True, metavar="CHANNEL... | # | status | compact")
@click.option("--keep", metavar="TIME", help="Drop packets older than this, such as 90d. Default: keep them for ever.")
@click.option("--max-size", metavar="SIZE", help="Drop the oldest packets beyond this; the setting store.max_size.")
@click.option("--metrics", metavar="IP:PORT", help="Serve metrics for Prometheus here, such as 127.0.0.1:9464.")
@click.option("--json", "as_json", is_flag=True, help="With status: as JSON.")
@partial(with_options, options=_OPTIONS)
def command(chosen: Chosen, channels: Sequence[str], keep: str | None, metrics: str | None, as_json: bool) -> int:
    """Archive channels, and answer for participants who were away.

    \b
    Examples:
      sdschat store lobby kitchen   archive two channels, until it is interrupted
      sdschat store '#' --keep 90d  archive every channel that it may read
      sdschat store status          show the archive and the answers so far
      sdschat store compact         while none runs: give back unused space

    A Store is a participant that writes nothing itself. Other participants find it by its presence, and ask it for
    messages that they miss. Several Stores of one channel share the work. Its name and its profile are "store" unless
    you give others. To archive a channel called status or compact, name it twice.
    """
    chosen = _as_store(chosen)
    if channels in (("status",), ("compact",)):
        return status(chosen, as_json) if channels[0] == "status" else compact(chosen)
    if channels[0] in ("status", "compact") and channels.count(channels[0]) == 1:
        raise CommandProblem(
            f"`sdschat store {channels[0]}` takes no channel. To archive one called {channels[0]}, name it twice.",
            WRONG_USE,
        )
    if as_json:
        raise CommandProblem("--json goes with `sdschat store status` only.", WRONG_USE)
    names = [name if name == ALL else channel_name(name) for name in dict.fromkeys(channels)]
    if any(map(_of_members, names)):
        raise CommandProblem(
            "This link is of a members' channel, which its members keep: there is nothing for a Store. Join it with: "
            "sdschat join LINK",
            WRONG_USE,
        )
    if any(map(gives_since_join, names)):
        raise CommandProblem(
            "Who joins this channel gets nothing that was written before, and a Store would give it: there is nothing "
            "for a Store.",
            WRONG_USE,
        )
    limits = RetentionLimits(_keep_time(keep), chosen.settings.max_size)
    place = None if metrics is None else _place(metrics)
    return run_node(chosen, lambda node: _Run(node, chosen, names, limits, place).run(), names, keeps=False)


def _as_store(chosen: Chosen) -> Chosen:
    """Use the name and profile "store" by default, so that a Store does not ask for the profile of the user's node."""
    general = chosen.general
    if general["name"].origin in WORKED_OUT:
        general["name"] = FoundSettings(STORE_NAME, "default")
    if general["profile"].origin in WORKED_OUT:
        general["profile"] = FoundSettings(general["name"].value, "the nick")
    if "journal.keep" not in chosen.settings.explicit:
        chosen.settings = replace(chosen.settings, journal_keep=_JOURNAL_KEEP)
    if "trust.messages_per_minute" not in chosen.settings.explicit:
        chosen.settings = replace(chosen.settings, messages_per_minute=0)  # an archive has its size as its limit
    if "trust.strangers_share" not in chosen.settings.explicit:
        chosen.settings = replace(chosen.settings, strangers_share=0)
    return chosen


def _of_members(name: str) -> bool:
    try:
        return invites_to_members(name)
    except ValueError as error:
        raise CommandProblem(str(error), WRONG_USE) from error


def _keep_time(text: str | None) -> int:
    if text is None:
        return 0
    found = time_option("--keep", text, "; 90d is 90 days.")
    if found < 60_000:
        raise CommandProblem(
            f"--keep is {text!r}; nothing under a minute makes sense. Write 90d for 90 days.", WRONG_USE
        )
    return found


def _place(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not colon or not is_place(host, port):
        raise CommandProblem(f"--metrics is {text!r}, and must be an IP address and a port: 127.0.0.1:9464.", WRONG_USE)
    return host, int(port)


class _Run:
    """One run of a Store."""

    def __init__(
        self, node: Node, chosen: Chosen, names: list[str], limits: RetentionLimits, metrics: tuple[str, int] | None
    ) -> None:
        self.node = node
        node.silent = True
        self.names = [name if name == ALL else node.named(name) for name in names]
        self.metrics = metrics
        self.embedded = chosen.text("broker") is None
        self.limit = written(_LIMIT, limits.size) if _LIMIT not in chosen.settings.explicit else None
        self.store = StoreNode(node, node.profile.store, limits, warn=lambda text: say(f"warning: {text}"))
        self._server = MetricsServer(lambda: prometheus(self.store.snapshot()))

    async def run(self) -> int:
        discovery: Discovery | None = None
        try:
            await self._serve_metrics()
            if self.limit is not None:
                say(f"keeps the newest {self.limit}; --max-size changes that")
            for name in self.names:
                if name != ALL:
                    await first_connection(self.node, name, embedded=self.embedded)
                    self._say(name)
            if ALL in self.names:
                discovery = await self._discover()
            await self.store.keep()
            return DONE
        finally:
            with contextlib.suppress(Exception):
                self.store.save_counts()
            await self._server.close()
            if discovery is not None:
                await discovery.close()

    async def _serve_metrics(self) -> None:
        if self.metrics is None:
            return
        host, port = self.metrics
        try:
            found = await self._server.start(host, port)
        except OSError as error:
            raise CommandProblem(
                f"--metrics {host}:{port} cannot be served there: {error.strerror or error}. Choose another place.",
                WRONG_USE,
            ) from error
        say(f"metrics at http://{found[0]}:{found[1]}/metrics")
        if not Address("mqtt", found[0], found[1]).loopback:
            say("warning: anybody on the network can read the metrics, and with them the names of your channels")

    async def _discover(self) -> Discovery:
        """Join the channels archived before, at most as many as there is room for, and every further one that
        appears."""
        for one in sorted(archived(self.node.profile.store), key=lambda one: one.newest, reverse=True):
            if one.channel not in self.node.sessions and len(self.node.sessions) < MOST:
                self.node.join(one.channel)
                self._say(one.channel)
        discovery = Discovery(self.node, self.node.network, self._say, lambda: say(_FULL))
        discovery.start()
        lost = await discovery.first_connection(ATTEMPTS_EMBEDDED if self.embedded else 1)
        if lost is not None:
            await discovery.close()
            code = NOT_AUTHORISED if lost.why == Why.NOT_AUTHORISED else UNREACHABLE
            raise CommandProblem(lost.detail, code)
        say("listening for channels")
        return discovery

    def _say(self, name: str) -> None:
        messages = next((one.messages for one in archived(self.node.profile.store) if one.channel == name), 0)
        say(f"{safe(name)}: archiving, {counted(messages, 'message')} so far")


def status(chosen: Chosen, as_json: bool) -> int:
    """Print archive and counts from the database alone; the Store may be running."""
    with open_reader(chosen) as reader:
        channels, room = archived(reader), database_space(reader)
        counts = json.loads(reader.value(COUNTS) or b"{}")
    counts["running"] = _alive(counts, chosen.database)
    if as_json:
        click.echo(json.dumps(_report(channels, room, counts), separators=(",", ":")))
        return DONE
    if not channels:
        say(f"The profile {chosen.profile} has archived nothing yet. Try: sdschat store lobby")
    else:
        _table(channels)
    _totals(room, counts)
    _ids(channels, int(counts.get("max_size", 0)))
    return DONE


def _ids(channels: list[Archived], max_size: int) -> None:
    """Print the space taken by ids of dropped packets, if there are any."""
    taken = sum(one.ids_bytes for one in channels)
    if taken:
        click.echo(f"ids of dropped packets: {sum(one.floor.ids for one in channels):,}, about {_size(taken)}")
    for one in channels:
        if one.floor.ids_from:
            begins = moment(one.floor.ids_from)
            click.echo(f"the history of {safe(one.channel)} begins at {begins}: earlier ids were dropped too")
    if warning := crowded(taken, max_size):
        click.echo(f"warning: {warning}")


def _alive(counts: dict[str, Any], path: Path) -> bool:
    """True if the Store runs, also if it cannot save: then its counts are old, and its number may be another's."""
    try:
        os.kill(int(counts["pid"]), 0)
    except PermissionError:
        return True
    except (KeyError, ValueError, OSError):
        return False
    return not _silent(counts) or is_in_use(path)


def _silent(counts: dict[str, Any]) -> int:
    """Return for how many seconds a Store has saved nothing; 0 while that is usual."""
    silent = int(time.time() * 1000) - int(counts.get("saved", 0))
    return silent // 1000 if silent > _SILENT else 0


def _report(channels: list[Archived], room: DiskSpace, counts: dict[str, Any]) -> dict[str, Any]:
    found = [
        {
            "channel": one.channel,
            "messages": one.messages,
            "packets": one.packets,
            "oldest": one.oldest,
            "newest": one.newest,
            "floor": one.floor.lamport,
            "dropped": one.floor.packets,
            "ids": one.floor.ids,
            "ids_bytes": one.ids_bytes,
            "begins": one.floor.ids_from,
        }
        for one in channels
    ]
    return {"channels": found, "database_bytes": room.file, "free_bytes": room.free, "counts": counts}


def _table(channels: list[Archived]) -> None:
    width = max(len("CHANNEL"), *(len(safe(one.channel)) for one in channels))
    click.echo(f"{'CHANNEL':{width}}    MESSAGES  KEPT IN FULL  {'OLDEST':19}  {'NEWEST':19}")
    for one in channels:
        oldest = moment(one.oldest) if one.oldest else "-"
        newest = moment(one.newest) if one.newest else "-"
        click.echo(f"{safe(one.channel):{width}}  {one.messages:10,}  {one.packets:12,}  {oldest:19}  {newest:19}")


def _totals(room: DiskSpace, counts: dict[str, Any]) -> None:
    click.echo(f"database {_size(room.file)}, of which {_size(room.free)} free")
    if "saved" not in counts:
        return
    answered: dict[str, int] = counts["answered"]
    refused: dict[str, int] = counts["refused"]
    state = "running" if counts["running"] else "not running"
    if counts["running"] and (silent := _silent(counts)):
        state += f", but it has saved nothing for {silent} s (is its disk full?)"
    click.echo(f"{state}; since {moment(counts['started'])}, as of {moment(counts['saved'])}:")
    click.echo(f"  archived {counts['archived']:,} messages, {_size(counts['archived_bytes'])}")
    click.echo(
        f"  answered {sum(answered.values()):,} questions ({answered['ids']:,} for messages, {answered['page']:,} for "
        f"pages, {answered['hints']:,} for hints) with {counts['messages_out']:,} messages, "
        f"{_size(counts['bytes_out'])}"
    )
    click.echo(f"  had not {counts['unknown']:,} of the messages asked for; dropped {counts['dropped_packets']:,}")
    if refused:
        click.echo(f"  refused {', '.join(f'{count:,} {reason}' for reason, count in sorted(refused.items()))}")


def _size(size: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:,.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} TiB"


def compact(chosen: Chosen) -> int:
    """Rewrite the database without free pages. Needs the profile alone, and meanwhile twice the disk."""
    path = chosen.database
    with open_reader(chosen) as reader:  # raises if there is no such profile, which `open_profile` would make
        before = database_space(reader)
    profile = open_profile(path, chosen.settings)
    say(f"writing {path} anew, {_size(before.used)}")
    try:
        write_anew(profile.store)
        after = database_space(profile.store)
    finally:
        profile.store.close()
    click.echo(f"{_size(before.file)} before, {_size(after.file)} now")
    return DONE
