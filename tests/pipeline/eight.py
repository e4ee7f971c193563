"""Eight nodes that talk with faults, one of them killed on the way. The audit must agree with the nodes' own logs.

    python -m tests.pipeline.eight --seconds 600 --to field

Real processes with a real broker, in real time. The folder then has the profiles, the recording of a tap, the lake, the
report and a picture of it. Afterwards copies are altered, and both audits run again.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from sdschat.store.audit_reader import AuditReader
from tests.audit.field import change, database, nth
from tests.audit.test_report import ask_browser
from tests.cli.processes import Pipe, command, environment
from tests.needs import needs_program
from tests.transport.worlds import free_port

NAMES = ("ann", "bob", "cleo", "dan", "eve", "fay", "gus", "hal")
FAULTS = ("fault.loss=0.15", "fault.duplicate=0.05", "fault.reorder=0.1", "fault.delay=300ms")
KILLED = "eve"
_PAUSE = (2.0, 6.0)  # seconds between two messages of a node
_PATIENCE = 600.0  # seconds until everybody must have everything

Claim = tuple[str, bool, str]


@contextmanager
def running(arguments: Sequence[str], folder: Path, name: str, stop: int) -> Iterator[None]:
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(arguments, cwd=folder, env=environment(folder), stdout=log, stderr=log)
        try:
            yield
        finally:
            process.send_signal(stop)
            process.wait(60)


def node(folder: Path, url: str, name: str) -> Pipe:
    faults = [*FAULTS, f"fault.seed={NAMES.index(name)}"]
    settings = [part for fault in faults for part in ("--set", fault)]
    return Pipe(
        folder,
        "lobby",
        "--name",
        name,
        "--broker",
        url,
        "--timing",
        "demo",
        "--linger",
        "20s",
        "--data-dir",
        str(folder / "data"),
        *settings,
    )


def talk(folder: Path, seconds: float, seed: int) -> int:
    """Run the nodes. Return the number of messages that all of them have in the end."""
    draw = random.Random(seed)
    port = free_port()
    (folder / "broker.conf").write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\n", encoding="utf-8"
    )
    url = f"mqtt://127.0.0.1:{port}"
    with ExitStack() as stack:
        broker = [needs_program("mosquitto"), "-c", str(folder / "broker.conf")]
        stack.enter_context(running(broker, folder, "broker", signal.SIGTERM))
        tap = command("tap", "lobby", "--to", "tap", "--broker", url)
        stack.enter_context(running(tap, folder, "tap", signal.SIGINT))
        nodes = {name: node(folder, url, name) for name in NAMES}
        for each in nodes.values():
            each.until_event("joined")
        _say(nodes, folder, url, seconds, draw)
        count = _settled(folder)
        for name, each in nodes.items():
            if each.end() != 0:
                raise RuntimeError(f"{name} ended with {each.process.returncode}: {each.said[-3:]}")
    return count


def _say(nodes: dict[str, Pipe], folder: Path, url: str, seconds: float, draw: random.Random) -> None:
    began = time.monotonic()
    due = {name: draw.uniform(*_PAUSE) for name in NAMES}
    count = dict.fromkeys(NAMES, 0)
    while (past := time.monotonic() - began) < seconds:
        away = seconds / 3 < past < seconds / 2
        if away and KILLED in nodes:
            nodes.pop(KILLED).kill(signal.SIGKILL)
        if not away and KILLED not in nodes:
            nodes[KILLED] = node(folder, url, KILLED)
        for name, each in nodes.items():
            if due[name] <= past:
                count[name] += 1
                each.say(f"{name} says {count[name]}")
                due[name] = past + draw.uniform(*_PAUSE)
        time.sleep(0.05)


def _settled(folder: Path) -> int:
    """Wait until all databases hold the same log. Return the number of its messages."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        found = {standing(database(folder, name)) for name in NAMES}
        if len(found) == 1:
            return found.pop()[0]
        time.sleep(2)
    raise RuntimeError(f"after {_PATIENCE:.0f} s they do not have the same")


def standing(path: Path) -> tuple[int, str]:
    with AuditReader(path) as evidence:
        return next((each.counted, each.counted_fingerprint) for each in evidence.standings())


def sdschat(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command(*arguments), cwd=folder, env=environment(folder), capture_output=True, text=True, check=False
    )
    print(f"sdschat {' '.join(arguments)}: exit {done.returncode}", file=sys.stderr)
    return done


def judge(folder: Path, spark: Sequence[str]) -> Iterator[Claim]:
    """Yield the claims about the unaltered databases."""
    quick = sdschat(folder, "audit", "data")
    yield "audit: they agree", quick.returncode == 0, quick.stdout.splitlines()[0]
    whole = sdschat(folder, "pipeline", "run", "data", "tap", "--lake", "lake", "-o", "report.html", *spark)
    first = (whole.stdout.splitlines() or whole.stderr.splitlines() or [""])[0]
    yield "pipeline run: they agree", whole.returncode == 0, first
    rows = pq.read_table(folder / "lake" / "gold" / "log", columns=["position", "message_id"]).to_pylist()
    canonical = [row["message_id"] for row in sorted(rows, key=lambda row: row["position"])]
    for name in NAMES:
        said = sdschat(folder, "log", "lobby", "--json", "--profile", name, "--data-dir", "data").stdout
        own = [json.loads(line)["message"]["message_id"] for line in said.splitlines()]
        yield f"log of {name}: is the canonical one", own == canonical, f"{len(own):,} messages"
    profile = folder / ".browser"
    shown = ask_browser(needs_program("chromium"), profile, "--dump-dom", (folder / "report.html").as_uri())
    verdict = f"<h1>{first}</h1>"
    yield "report: a browser shows the verdict", verdict in shown, f"{shown.count('<svg')} pictures"
    picture = f"--screenshot={folder / 'report.png'}"
    ask_browser(
        needs_program("chromium"),
        profile,
        "--hide-scrollbars",
        "--window-size=1100,3200",
        picture,
        (folder / "report.html").as_uri(),
    )


def judge_tampered(folder: Path, spark: Sequence[str]) -> Iterator[Claim]:
    """Yield the claims about a copy: one database has an altered row, and another lacks a deleted message."""
    shutil.rmtree(folder / "tampered", ignore_errors=True)
    shutil.copytree(folder / "data", folder / "tampered")
    tampered = folder / "tampered"
    at = standing(database(tampered, "dan"))[0] // 3
    gone, altered = nth(tampered, "dan", 2 * at), nth(tampered, "cleo", at)
    change(tampered, "dan", "DELETE FROM log WHERE place = ?", gone[0])
    change(tampered, "cleo", "UPDATE log SET lamport = lamport + 5000 WHERE place = ?", altered[0])
    quick = sdschat(folder, "audit", "tampered")
    told = (("dan", 2 * at + 1, "lacks", gone[1]), ("cleo", at + 1, "altered", altered[1]))
    yield from _named("audit", quick, told)
    sdschat(folder, "pipeline", "ingest", "tampered", "--lake", "tampered-lake", *spark)
    whole = sdschat(folder, "pipeline", "audit", "--lake", "tampered-lake", *spark)
    yield from _named("pipeline audit", whole, told)


def _named(
    what: str, done: subprocess.CompletedProcess[str], told: Sequence[tuple[str, int, str, str]]
) -> Iterator[Claim]:
    yield f"{what}: exit code 1", done.returncode == 1, (done.stdout.splitlines() or [""])[0]
    for name, at, kind, message_id in told:
        start, place = f"    {name} {kind} {message_id[:12]}", f"at place {at} ("
        lines = [line for line in done.stdout.splitlines() if line.startswith(start)]
        found = any(place in line for line in lines)
        yield f"{what}: names {name}, the message and its place", found, (lines or [done.stdout[-300:]])[0].strip()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--to", type=Path, required=True, help="a new folder; with --judge one that is there")
    parser.add_argument("--judge", action="store_true", help="nobody talks: only look at what is there")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    folder = options.to.absolute()
    if not options.judge:
        folder.mkdir(parents=True)
        print(f"{talk(folder, options.seconds, options.seed):,} messages", file=sys.stderr)
    spark = ["--master", options.master, "--conf", "spark.driver.memory=2g"]
    claims = [*judge(folder, spark), *judge_tampered(folder, spark)]
    for what, holds, said in claims:
        print(f"{'holds' if holds else 'FAILS':6} {what:56} {said}")
    return 0 if all(holds for _, holds, _ in claims) else 1


if __name__ == "__main__":
    sys.exit(main())
