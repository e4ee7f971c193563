"""The report of a lake is the page that an audit of the same databases writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from sdschat.audit.figures import figures
from sdschat.audit.node_evidence import BronzeRows, conform, member_of
from sdschat.audit.report.data import ReportData
from sdschat.cli.program import run
from sdschat.lake.duck import open_duck
from sdschat.lake.figures import measure, report_data
from tests.audit.golden import answer
from tests.audit.worlds import event, everybody_has, read_once, taken
from tests.lake.bronze import bronze
from tests.lake.test_duck import judged
from tests.needs import needs_module

needs_module("duckdb")
needs_module("pyarrow")
needs_module("altair")
needs_module("vl_convert")
from sdschat.audit.report.page import page
from tests.audit.test_report import drawn, values


@pytest.fixture(scope="module")
def killed() -> BronzeRows:
    """Return the rows of three nodes, of which bob does not run for 25 s."""
    events = []
    held = everybody_has(("ann", "bob", "cleo"), (("m1", 1_000), ("m2", 9_000)))
    for seq, (name, sent) in enumerate((("m1", 1_000), ("m2", 9_000)), 1):
        events.append(event("ann", seq, "sent", sent, name, cause="message", bytes=100, payload_bytes=40))
        events.append(event("cleo", seq, "delivered", sent + 20, name, sender="ann", cause="live"))
    events.append(event("bob", 1, "delivered", 1_030, "m1", sender="ann", cause="live"))
    events.append(event("bob", 1, "delivered", 26_030, "m2", sender="ann", cause="sync", boot="boot-2"))
    return taken(*held, *events)


def test_it_is_the_page_of_an_audit_of_the_databases(killed: BronzeRows, tmp_path: Path) -> None:
    silver, audit = conform(read_once(killed)), answer(killed)
    wanted = ReportData(audit, figures(silver, audit), {}, {member_of(row): row.source for row in silver.nodes})
    bronze(tmp_path, killed)
    judged(tmp_path)
    with open_duck(tmp_path) as lake:
        found = report_data(lake, str(tmp_path), measure(lake, keep=False), 1)
    assert page(found._replace(provenance={})) == page(wanted)


def test_the_command_draws_a_node_that_did_not_run(
    killed: BronzeRows, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake, output = str(bronze(tmp_path / "lake", killed)), tmp_path / "report.html"
    assert run(["pipeline", "audit", "--lake", lake, "--engine", "duckdb"]) == 0
    assert run(["pipeline", "report", "--lake", lake, "-o", str(output), "--engine", "duckdb"]) == 0, (
        capsys.readouterr().err
    )
    html = output.read_text()
    assert "not running for 25 s" in values(drawn(html)[0], "words")
    assert "with DuckDB" in html
