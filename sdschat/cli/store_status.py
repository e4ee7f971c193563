"""`sdschat store status` and `compact`: the archive of a Store, its counts, and rewriting its database."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import click

from sdschat.cli.errors import DONE, say
from sdschat.cli.histories import open_reader
from sdschat.cli.options import Chosen
from sdschat.cli.output import moment, safe
from sdschat.node.profile import database_path, open_profile
from sdschat.node.retention import crowded
from sdschat.node.store_server.metrics import COUNTS
from sdschat.store.archive import Archived, archived, database_space
from sdschat.store.retention import DiskSpace
from sdschat.store.retention import compact as write_anew


def status(chosen: Chosen, as_json: bool) -> int:
    """Print archive and counts from the database alone; the Store may be running."""
    with open_reader(chosen) as reader:
        channels, room = archived(reader), database_space(reader)
        counts = json.loads(reader.value(COUNTS) or b"{}")
    counts["running"] = _alive(counts)
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


def _alive(counts: dict[str, Any]) -> bool:
    try:
        os.kill(int(counts["pid"]), 0)
    except PermissionError:
        return True
    except (KeyError, ValueError, OSError):
        return False
    return time.time() * 1000 - int(counts.get("saved", 0)) < 120_000


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
    path = database_path(chosen.data_dir, chosen.profile)
    with open_reader(chosen) as reader:  # raises if there is no such profile, which `open_profile` would make
        before = database_space(reader)
    say(f"writing {path} anew, {_size(before.used)}")
    profile = open_profile(path, chosen.settings)
    try:
        write_anew(profile.store)
        after = database_space(profile.store)
    finally:
        profile.store.close()
    click.echo(f"{_size(before.file)} before, {_size(after.file)} now")
    return DONE
