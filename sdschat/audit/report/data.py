"""The data of a report, the same from a lake and from a few databases; durations, sizes and moments in words."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

import sdschat
from sdschat.audit.answers import Figures
from sdschat.audit.compare import Comparison
from sdschat.audit.figures import figures
from sdschat.audit.schemas import FAULTS, VERSION, AuditChannel, AuditFinding, Quarantine
from sdschat.audit.verdict import Audit, OfChannel, Rules, counted
from sdschat.identity.sanitize import harmless

Named = Callable[[str], str]  # returns the shown name of a node
NOTHING: Final = "\u2013"


def escaped(text: str) -> str:
    """Return a text for a page: no element of it, and nothing that hides or turns round what stands beside it."""
    return escape(harmless(text))


def duration(ms: float | None) -> str:
    if ms is None:
        return NOTHING
    for size, unit in ((3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if abs(ms) >= size:
            return f"{ms / size:.3g} {unit}"
    return f"{ms:.3g} ms"


def size(count: float) -> str:
    for unit, amount in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= amount:
            return f"{count / amount:.3g} {unit}"
    return f"{count:.0f} B"


def moment(ms: int | None) -> str:
    if not ms:
        return NOTHING
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return f"@{ms}"


_SHOWN = 12  # digits of an id that are shown
_SAFE = " @+"  # not escaped in the names of profile folders


class Look(NamedTuple):
    text: str
    runs: bool  # True: the text is a command; False: it describes the position of the message


def look(source: str, channel: str, message_id: str) -> Look:
    """Return the command or text for a message. `inspect` finds only profiles in the folders of sdschat."""
    short, path = message_id[:_SHOWN], Path(source)
    profile = unquote(path.parent.name)
    kept = path.name == "sdschat.db" and path.parent.parent.name == "profiles"
    # A folder whose name is not the escaped form of a profile's name would be searched under another name.
    if not kept or not profile.strip() or quote(profile, safe=_SAFE) != path.parent.name:
        return Look(f"message {short} of {channel} in {source}", False)
    options = ("--profile", profile, "--data-dir", str(path.parent.parent.parent))
    return Look(shlex.join(["sdschat", "inspect", channel, short, *options]), True)


def best_look(sources: Iterable[str], channel: str, message_id: str) -> Look | None:
    """Return the look at a message in one of these databases, a command if there is one."""
    looks = [look(source, channel, message_id) for source in sources]
    return next((each for each in looks if each.runs), looks[0] if looks else None)


Channel = tuple[str, str]
_MOST_CHANNELS: Final = 12


class ReportData(NamedTuple):
    audit: Audit
    figures: Figures
    provenance: Mapping[str, str]
    sources: Mapping[tuple[str, str, str], str]  # run, channel and node: the file that they were read from
    unread: Sequence[Quarantine] = ()  # the first of what could not be read
    unread_inputs: int = 0


class ChannelPart(NamedTuple):
    """The part of a page on one channel."""

    data: ReportData
    channel: AuditChannel
    rows: OfChannel
    figures: Figures  # of this channel
    named: Named

    @property
    def faults(self) -> list[AuditFinding]:
        return [row for row in self.rows.findings if row.kind in FAULTS]


def shown_channels(audit: Audit) -> list[AuditChannel]:
    """Return the channels that are drawn, the worst ones first, then those with the most nodes."""

    def place(row: AuditChannel) -> tuple[bool, int, int, str, str]:
        return row.converged, -row.missing - row.faults, -row.nodes, row.run_id, row.channel

    return sorted(audit.channels, key=place)[:_MOST_CHANNELS]


def of_channel(figures: Figures, key: Channel) -> Figures:
    """Return the figures of one channel, and the absences of all nodes."""
    lists = {
        name: [row for row in rows if (row.run_id, getattr(row, "channel", key[1])) == key]
        for name, rows in figures._asdict().items()
        if name != "grain"
    }
    return Figures(figures.grain, **lists)


def report_data(found: Comparison, rules: Rules, made_ms: int) -> ReportData:
    copies = sum(len(one.versions) for one in found.said.held.values())
    provenance = {
        "Made": f"{moment(made_ms)} UTC by sdschat {sdschat.__version__}, without Spark, tables of version {VERSION}",
        "Databases": ", ".join(map(str, sorted(found.read))),
        "Rows": f"{counted(copies, 'copy of a message', 'copies of messages')}, "
        f"{counted(len(found.said.journal), 'event', 'events')}",
        "Rules": f"a node may lag {rules.settle / 1000:g} s behind; dates may lie {rules.max_skew / 1000:g} s ahead",
    }
    unread = len({row.source for row in found.quarantine})
    return ReportData(
        found.audit, figures(found.said, found.audit), provenance, found.sources, found.quarantine, unread
    )
