"""The stages of a lake, one after the other. Each writes its tables, and the next one reads them."""

from __future__ import annotations

from sdschat.audit import schemas as tables
from sdschat.audit.rules import DEFAULT, Rules
from sdschat.pipeline.lake import Lake
from sdschat.pipeline.transforms import audit as judge
from sdschat.pipeline.transforms import conform, costs, latency
from sdschat.pipeline.transforms.consolidate import K
from sdschat.pipeline.transforms.consolidate import consolidate as canonical
from sdschat.pipeline.transforms.filters import filters
from sdschat.pipeline.transforms.fingerprint import fingerprints
from sdschat.pipeline.transforms.kept import keeping
from sdschat.pipeline.transforms.silver import SilverTables


def refine(lake: Lake, rules: Rules = DEFAULT, k: int = K) -> SilverTables:
    """Make silver from bronze."""
    lake.note_bronze()
    nodes = conform.latest_nodes(lake.read(tables.Node))
    events = lake.replace(tables.Event, conform.events(lake.read(tables.Journal)))
    held = conform.in_order(conform.copies(lake.read(tables.Message), events, nodes))
    copies = lake.replace(tables.Copy, held)
    lake.replace(tables.Presence, conform.presences(nodes, events, copies, rules))
    lake.replace(tables.Fingerprint, fingerprints(copies, k))
    return silver(lake)


def silver(lake: Lake) -> SilverTables:
    """Return silver as it was made last."""
    nodes = conform.latest_nodes(lake.read(tables.Node))
    declared = conform.latest_declared(lake.read(tables.Declared), nodes)
    events, copies = lake.read(tables.Event), lake.read(tables.Copy)
    return SilverTables(events, copies, lake.read(tables.Presence), lake.read(tables.Fingerprint), nodes, declared)


def consolidate(lake: Lake, k: int = K) -> None:
    """Make the canonical log from silver."""
    with keeping() as keep:
        lake.replace(tables.Log, canonical(lake.read(tables.Copy), k, keep))


def audit(lake: Lake, rules: Rules = DEFAULT, k: int = K) -> None:
    """Make the tables of the verdict from silver and the canonical log."""
    lake.note_verdict(whole=False)
    found, log = silver(lake), lake.read(tables.Log)
    with keeping() as keep:
        wrong = judge.evidence(found, log, rules, keep, k)
        lacking = lake.replace(tables.AuditMissing, wrong.missing)
        findings = lake.replace(tables.AuditFinding, wrong.findings)
    nodes = lake.replace(tables.AuditNode, judge.audit_nodes(found, lacking, findings))
    lake.replace(tables.AuditChannel, judge.audit_channels(nodes, log, lacking, findings))
    lake.replace(tables.AuditJournal, judge.audit_journals(found.events))
    lake.note_verdict(whole=True)


def metrics(lake: Lake) -> None:
    """Make the tables of figures from silver and the packets in bronze."""
    found = silver(lake)
    passed = latency.passages(found.events)
    pairs = lake.replace(tables.MetricsClock, latency.clocks(passed))
    lake.replace(tables.MetricsDelivery, latency.deliveries(passed, pairs))
    lake.replace(tables.MetricsAck, costs.acks(found.events))
    lake.replace(tables.MetricsRepair, costs.repairs(found.events))
    lake.replace(tables.MetricsTraffic, costs.traffic(found.events))
    lake.replace(tables.MetricsRejected, costs.rejections(found.events))
    messages = lake.read(tables.Message)
    lake.replace(tables.MetricsParts, costs.parts(messages, lake.read(tables.Packet)))
    lake.replace(tables.MetricsFilter, filters(found.events, messages, found.copies, pairs))
