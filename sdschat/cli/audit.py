"""`sdschat audit`: check that several nodes have the same log, from their databases alone."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sdschat.audit.verdict import names_by
from sdschat.cli import audit_report
from sdschat.cli.errors import DONE, PROFILE, UNEXPECTED, WRONG_USE, FilePath, say
from sdschat.cli.output import counted, safe, whole_file
from sdschat.cli.report_file import report_file
from sdschat.cli.spark.common import cache_folder, rules_of, settle_option, tell_cut_logs

if TYPE_CHECKING:
    from sdschat.audit.answers import Figures
    from sdschat.audit.compare import Comparison
    from sdschat.audit.members import MembersAudit
    from sdschat.audit.node_evidence import AuditEvidence
    from sdschat.audit.schemas import Quarantine
    from sdschat.audit.verdict import Audit, Rules
    from sdschat.identity.private.roster import Roster

    ByChannel = Mapping[tuple[str, str], Figures]


@click.command("audit")
@click.argument("sources", nargs=-1, required=True, metavar="DB…", type=FilePath())
@click.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object.")
@audit_report.all_option
@audit_report.channel_option
@click.option(
    "--report",
    "page",
    type=FilePath(),
    callback=report_file,
    help="Write an HTML report too.",
)
@click.option(
    "--figures",
    "counted",
    is_flag=True,
    help="Say also who had it last, what text cost, and which acknowledgements were wrong.",
)
@settle_option
def command(
    sources: tuple[Path, ...],
    as_json: bool,
    everything: bool,
    channel: str | None,
    page: Path | None,
    counted: bool,
    settle: str,
) -> int:
    """Compare the databases of several nodes: does everybody have everything, in the same order?

    \b
    Examples:
      sdschat audit ann.db bob.db cleo.db
      sdschat audit ~/.local/share/sdschat/profiles
      sdschat audit field/*.db --channel lobby --json
      sdschat audit field/*.db --report report.html
      sdschat audit field/ --figures

    Databases are only read, and their nodes may be running. Exit code 0: they agree; 1: they do not, and the output
    says which node, which message, and where in the log; 5: a database cannot be read. OWED: messages that a node
    should have, since they were said after it joined and it had the time to get them; LACKS: those of them that it has
    not. A damaged search index is told; no message depends on it, and it changes no verdict. A report needs the extra:
    pip install 'sdschat[audit]'; without it, or where the file cannot be written, the verdict is printed, and the exit
    code is 2 in place of 0.
    """
    from sdschat.audit.compare import compare
    from sdschat.audit.processes import no_collection
    from sdschat.audit.sources.databases import databases

    rules, now = rules_of(settle), time.time_ns() // 1_000_000
    paths = _each_once(databases(sources))
    drawn = page is not None and all(find_spec(name) is not None for name in ("altair", "vl_convert"))
    with no_collection():
        excused = partial(_excused, paths)
        found = compare(paths, now, rules, excused, by_row=drawn or counted)  # figures follow from the rows
    tell_cut_logs(paths, found.quarantine)
    everyone: list[MembersAudit] = []
    if found.members:  # the code for them is slow to import
        from sdschat.audit.members import audit_members

        everyone = audit_members(paths)
    if channel is not None:
        names = {*(row.channel for row in found.audit.channels), *(one.channel for one in everyone)}
        channel = audit_report.full_channel(channel, names)
    members = [one for one in everyone if channel in (None, one.channel)]
    found = found._replace(audit=_without(audit_report.only(found.audit, channel), {one.channel for one in members}))
    if as_json:
        _print_object(found, members, counted)
    else:
        _print_report(found, members, counted, None if everything else audit_report.SHOWN)
        _print_if_alone(found, len(paths))
    code = UNEXPECTED if any(one.findings for one in members) else exit_code(found.audit, found.quarantine)
    if page is None or (_written(page, found, rules) if drawn else _not_drawn()):
        return code
    return code or WRONG_USE


def _not_drawn() -> bool:
    from sdschat.audit.errors import install_command

    say(
        "sdschat: The report was not written: it needs the packages altair and vl-convert-python, which are not "
        f"installed. Do: {install_command('audit')}"
    )
    return False


def _each_once(paths: list[Path]) -> list[Path]:
    """Leave out, and tell, a file that another path names already."""
    first: dict[Path, Path] = {}
    for path in paths:
        if first.setdefault(path.resolve(), path) is not path:
            say(f"warning: {path} is a database that is named already; it counts once")
    return list(first.values())


def _print_if_alone(found: Comparison, count: int) -> None:
    unread = {row.source for row in found.quarantine if not row.place}
    if len({row.node for row in found.audit.nodes}) == 1 and count - len(unread) > 1:
        click.echo("All databases are of one node. To compare, name those of other participants too.")


def _excused(paths: list[Path], said: AuditEvidence) -> AuditEvidence:
    """Add what the nodes need not have. The private code, slow to import, is needed only for private channels."""
    if not any("~" in row.channel for row in said.presences):
        return said
    from sdschat.audit.node_evidence import with_nonmembers

    return with_nonmembers(said, rosters(paths))


def rosters(paths: Iterable[Path]) -> dict[str, Roster]:
    """Return the members of each private channel after the operations that any of the databases has."""
    from sdschat.identity.private.roster import SignedOperation, fold
    from sdschat.node.private.record import load_operations, load_record, private_channels
    from sdschat.store.errors import StoreError
    from sdschat.store.reader import Reader
    from sdschat.wire.private_codec import Genesis
    from sdschat.wire.sds_codec import SdsCodec

    begun: dict[str, Genesis] = {}
    operations: dict[str, list[SignedOperation]] = defaultdict(list)
    for path in paths:
        try:
            with Reader.open(path, SdsCodec()) as reader:
                for channel in private_channels(reader):
                    record = load_record(reader, channel)
                    if record is not None:
                        begun[channel] = record.genesis
                        operations[channel] += load_operations(reader, channel)
        except (StoreError, ValueError, TypeError, KeyError, AssertionError):
            continue  # the reader of the logs names this database
    return {channel: fold(genesis, operations[channel]) for channel, genesis in begun.items()}


def _without(found: Audit, members: set[str]) -> Audit:
    """Leave out the logs of members' channels, which are empty: nothing is said there in messages of SDS."""
    empty = {row.channel for row in found.channels if row.channel in members and row.converged and not row.messages}
    return found._replace(
        channels=[row for row in found.channels if row.channel not in empty],
        nodes=[row for row in found.nodes if row.channel not in empty],
    )


def _print_object(found: Comparison, members: list[MembersAudit], with_figures: bool) -> None:
    import json

    report = audit_report.as_object(found.audit, found.quarantine) | {
        "unsearchable": [str(path) for path in found.unsearchable]
    }
    report["members"] = [
        one._asdict() | {"agreed": not one.findings, "findings": [row._asdict() for row in one.findings]}
        for one in members
    ]
    report["agreed"] = found.audit.agreed and not any(one.findings for one in members)
    if members:
        said = [str(report["verdict"])] if found.audit.channels else []
        report["verdict"] = " ".join([*map(_members_sentence, members), *said])
    if with_figures:
        report["figures"] = _figures_object(_figures_of(found))
    click.echo(json.dumps(report, separators=(",", ":")))


def _print_report(found: Comparison, members: list[MembersAudit], with_figures: bool, most: int | None) -> None:
    for line in (
        *_members_lines(members, most),
        *(audit_report.lines(found.audit, most) if found.audit.channels or not members else ()),
        *audit_report.refused_lines(found.quarantine, most),
        *audit_report.unsearchable_lines(found.unsearchable, most),
        *audit_report.closer_lines(found.audit, found.sources, most),
    ):
        click.echo(line)
    if with_figures:
        for line in _figures_lines(_figures_of(found)):
            click.echo(line)


def _written(page: Path, found: Comparison, rules: Rules) -> bool:
    """Write the report. Return True if it could be written; the verdict has been printed already in any case."""
    from sdschat.audit.report.data import report_data
    from sdschat.audit.report.page import page as made

    text = made(report_data(found, rules, time.time_ns() // 1_000_000), cache_folder("report"))
    try:
        with whole_file(page) as output:
            output.write(text)
    except OSError as error:
        say(f"sdschat: {page} cannot be written: {error.strerror}. Choose another --report.")
        return False
    say(f"The report is written to {page}.")
    return True


def _members_lines(found: list[MembersAudit], most: int | None) -> Iterator[str]:
    """Describe the verdict on each members' channel: a sentence, then at most `most` faults of each node."""
    for one in found:
        yield _members_sentence(one)
        of, name = defaultdict[str, list[str]](list), names_by(one.nodes)
        for row in one.findings:
            of[safe(name(row.node))].append(safe(row.detail))
        for node, details in of.items():
            yield from (f"  {node}: {detail}" for detail in details[:most])
            if most is not None and len(details) > most:
                yield f"  {node}: {counted(len(details) - most, 'other fault')}; --all lists them"
        for alone in one.alone:
            yield f"  {safe(name(alone))}: no other database has the hash of a checkpoint that this one has"


def _members_sentence(one: MembersAudit) -> str:
    operations = counted(one.highest, "operation")
    between = operations if one.lowest == one.highest else f"{one.lowest:,} to {operations}"
    what = f"{safe(one.channel)}: a members' channel, {counted(len(one.nodes), 'node')}, {between} settled"
    gone = f"nothing is left of {counted(one.deleted, 'deleted post')}"
    if one.findings:
        faults = "fault was found" if len(one.findings) == 1 else "faults were found"
        return f"{what}; the nodes do not agree: {len(one.findings)} {faults}."
    if len(one.nodes) < 2:
        return f"{what}; there is nobody to compare with; {gone}."
    return f"{what}; all checkpoints are prefixes of one another, all committees are equal, and {gone}."


def _figures_of(found: Comparison) -> ByChannel:
    from sdschat.audit.figures import figures
    from sdschat.audit.report.data import of_channel

    every = figures(found.said)
    keys = [(row.run_id, row.channel) for row in found.audit.channels]
    return {key: of_channel(every, key) for key in keys}


def _figures_object(by_channel: ByChannel) -> dict[str, list[dict[str, Any]]]:
    every = list(by_channel.values())
    return {
        name: [row._asdict() for each in every for row in getattr(each, name)]
        for name in ("reached", "last", "wire", "acknowledged", "untrue", "unproven")
    }


def _figures_lines(by_channel: ByChannel) -> Iterator[str]:
    from sdschat.audit.report.tables import everybody_note, truth_note, unproven_note, wire_note

    for (_, channel), found in by_channel.items():
        yield ""
        yield f"Figures of {safe(channel)}:"
        notes = (
            everybody_note(found.spread),
            wire_note(found.wire),
            truth_note(found.acknowledged),
            unproven_note(found.unproven),
        )
        yield from (f"  {note}" for note in notes if note)


def exit_code(found: Audit, quarantine: Iterable[Quarantine]) -> int:
    """Return the exit code. Different logs weigh more than an unreadable input of which nobody knows the content."""
    if not found.agreed:
        return UNEXPECTED
    return PROFILE if any(not row.place for row in quarantine) else DONE
