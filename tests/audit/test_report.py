"""The page of a report, as shown by a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sdschat.audit.answers import MetricsRepair
from sdschat.audit.compare import compare
from sdschat.audit.figures import figures
from sdschat.audit.node_evidence import conform
from sdschat.audit.report.data import ReportData, duration, report_data, shown_channels
from sdschat.audit.report.tables import repair_note
from sdschat.audit.schemas import AuditChannel
from sdschat.audit.sources.databases import databases
from sdschat.audit.verdict import DEFAULT, Audit
from tests.audit import worlds
from tests.audit.field import NAMES, WORDS, change, database, nth, one, talk
from tests.audit.golden import answer
from tests.audit.worlds import event, read_once
from tests.needs import needs_module, needs_program

needs_module("altair")
needs_module("vl_convert")
import vl_convert

from sdschat.audit.report.page import page
from sdschat.audit.report.timeline import with_room

START = 1_760_000_000_000
WAIT = ("--virtual-time-budget=10000",)  # until a page has drawn its pictures


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talk(tmp_path_factory.mktemp("field"))


@pytest.fixture(scope="module")
def tampered(untouched: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(shutil.copytree(untouched, tmp_path_factory.mktemp("tampered") / "field"))
    change(folder, "bob", "DELETE FROM log WHERE place = ?", nth(folder, "bob", 4)[0])
    change(
        folder, "cleo", "UPDATE text SET text = '<script>alert(1)</script>' WHERE place = ?", nth(folder, "cleo", 2)[0]
    )
    return folder


def made(folder: Path) -> str:
    return page(report_data(compare(databases([folder]), START, DEFAULT, by_row=True), DEFAULT, START))


def test_it_opens_with_the_verdict(untouched: Path, tampered: Path) -> None:
    said = f"lobby: 3 nodes and {len(WORDS)} messages; "
    assert re.search(r"<h1>(.*?)</h1>", made(untouched))[1] == (  # type: ignore[index]
        f"{said}everybody has everything they should have, in the same order."
    )
    assert re.search(r"<h1>(.*?)</h1>", made(tampered))[1] == (  # type: ignore[index]
        f"{said}the nodes do not agree: 1 copy of a message is missing and 2 faults were found."
    )


def test_what_is_missing_is_listed_with_the_command_that_shows_it(tampered: Path) -> None:
    message_id = nth(tampered, "cleo", 4)[1]
    assert f"sdschat inspect lobby {message_id[:12]} --profile" in made(tampered)


def test_of_files_that_inspect_cannot_be_pointed_at_it_says_which_has_the_message(
    tampered: Path, tmp_path: Path
) -> None:
    files = [Path(shutil.copy(database(tampered, name), tmp_path / f"{name}.db")) for name in NAMES]
    html = page(report_data(compare(files, START, DEFAULT, by_row=True), DEFAULT, START))
    assert "sdschat inspect" not in html
    assert f"message {nth(tampered, 'cleo', 4)[1][:12]} of lobby in {tmp_path}/" in html


def test_what_a_node_lacks_is_looked_at_where_it_is(untouched: Path, tmp_path: Path) -> None:
    """This also holds if no node agrees with the log."""
    folder = Path(shutil.copytree(untouched, tmp_path / "field"))
    for at, name in enumerate(NAMES):
        change(folder, name, "DELETE FROM log WHERE place = ?", nth(folder, name, 4 + at)[0])
    commands = re.findall(r"inspect lobby (\w+) --profile (\w+) --data-dir", made(folder))
    assert len(commands) >= len(NAMES)
    for start, name in commands:
        assert one(folder, name, f"SELECT count(*) FROM log WHERE message_id LIKE '{start}%'") == "1"


def test_it_needs_nothing_from_elsewhere(tampered: Path) -> None:
    class Outside(HTMLParser):
        found: list[str] = []  # noqa: RUF012

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag in ("link", "img", "iframe") or any(name in ("src", "href") for name, _ in attrs):
                self.found.append(tag)

    html = made(tampered)
    Outside().feed(html)
    assert Outside.found == []
    style = html[html.index("<style>") : html.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert "default-src 'none'" in html


def test_a_channel_of_which_there_is_nothing_makes_a_page_too(tmp_path: Path) -> None:
    empty = compare([], START, DEFAULT, by_row=True)
    assert "There is nothing to compare: no channel of a database" in page(report_data(empty, DEFAULT, START))


@pytest.fixture(scope="module")
def browser() -> str:
    return needs_program("chromium")


def ask_browser(browser: str, profile: Path, *arguments: str) -> str:
    """Run a browser with `--headless`. It has a profile of its own, so that two runs do not disturb each other."""
    done = subprocess.run(
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            f"--user-data-dir={profile}",
            *arguments,
        ],
        capture_output=True,
        timeout=110,
        check=True,
    )
    return done.stdout.decode()


def test_a_browser_shows_every_picture(browser: str, tampered: Path, tmp_path: Path) -> None:
    """A script at the end of the page measures its layout in the browser, once all is drawn."""
    measure = (
        "<script>const places = [...document.querySelectorAll('[data-picture]')], wait = setInterval(() => {"
        "if (places.some(e => !e.dataset.drawn)) return; clearInterval(wait);"
        "document.body.setAttribute('data-found', JSON.stringify({"
        "svg: places.filter(e => e.querySelector('svg').getBoundingClientRect().height > 20).length,"
        "all: places.length,"
        "wide: document.documentElement.scrollWidth <= window.innerWidth,"
        "h1: document.querySelector('h1').getBoundingClientRect().top < 200,"
        "odd: document.body.innerText.includes('undefined') || document.body.innerText.includes('None')}))"
        "}, 50)</script>"
    )
    file = tmp_path / "report.html"
    file.write_text(made(tampered).replace("</body></html>\n", f"{measure}</body></html>\n"), encoding="utf-8")
    shown = ask_browser(browser, tmp_path / "profile", "--window-size=1100,900", *WAIT, "--dump-dom", file.as_uri())
    found = re.search(r"data-found=\"(.*?)\"", shown)
    assert found is not None
    said = found[1].replace("&quot;", '"')
    assert '"wide":true' in said
    assert '"h1":true' in said
    assert '"odd":false' in said
    svg, every = re.search(r'"svg":(\d+),"all":(\d+)', said).groups()  # type: ignore[union-attr]
    assert svg == every
    assert int(svg) >= 4


def drawn(html: str) -> list[dict[str, Any]]:
    """Return the specifications of the pictures of a page."""
    found = re.findall(r'<script type="application/json" id="picture-\d+">(.*?)</script>', html, re.DOTALL)
    return [json.loads(each) for each in found]


EVENTS = ("delivered", "sync_received", "repair_wanted", "repair_requested", "duplicate", "rejected")


@pytest.mark.parametrize("lacks", ["", *EVENTS])
def test_every_picture_can_be_drawn_whatever_the_journals_lack(lacks: str) -> None:
    """The first picture of a group without deliveries stayed empty."""
    for seed in range(2):
        group = worlds.drawn(seed)
        silver, audit = conform(read_once(group)), answer(group)
        silver.journal[:] = [row for row in silver.journal if row.event != lacks]
        for picture in drawn(page(ReportData(audit, figures(silver, audit), {}, {}))):
            assert vl_convert.vegalite_to_svg(picture).startswith("<svg")


def values(picture: dict[str, Any], key: str) -> set[Any]:
    """Return all values that a picture has of one field."""
    return {row[key] for rows in picture["datasets"].values() for row in rows if key in row}


def test_every_node_is_in_the_pictures_of_time_and_of_who_has_what(tampered: Path) -> None:
    time, held = drawn(made(tampered))[:2]
    assert values(time, "node") == set(NAMES)
    assert values(held, "node") == set(NAMES)
    assert "lacks some" in values(held, "state") or "lacks more than half" in values(held, "state")


def test_a_node_that_did_not_run_is_in_the_first_picture(untouched: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(untouched, tmp_path / "field"))
    last = int(one(folder, "bob", "SELECT max(ts_ms) FROM journal"))
    found = compare(databases([folder]), START, DEFAULT, by_row=True)
    bob = next(row.node for row in found.audit.nodes if row.nick == "bob")
    found.said.journal.append(event(bob, 1, "sync_received", last + 25_000, boot="another"))
    first = drawn(page(report_data(found, DEFAULT, START)))[0]
    assert "not running for 25 s" in values(first, "words")


def test_what_an_attacker_calls_himself_is_text_and_nothing_else(browser: str, untouched: Path, tmp_path: Path) -> None:
    nick = "</script><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    found = compare(databases([untouched]), START, DEFAULT, by_row=True)
    nodes = [row._replace(nick=nick if row.nick == "bob" else row.nick) for row in found.audit.nodes]
    html = page(report_data(found._replace(audit=found.audit._replace(nodes=nodes)), DEFAULT, START))
    assert any(nick in values(picture, "node") for picture in drawn(html))
    file = tmp_path / "report.html"
    file.write_text(html, encoding="utf-8")
    shown = ask_browser(browser, tmp_path / "profile", *WAIT, "--dump-dom", file.as_uri())
    assert 'data-drawn="yes"' in shown
    assert "<title>sdschat report: agreed</title>" in shown
    assert not re.search(r"<img\b", shown[shown.index("<body>") : shown.index('<script type="application/json"')])


def test_a_name_turns_round_nothing_that_stands_beside_it(untouched: Path) -> None:
    found = compare(databases([untouched]), START, DEFAULT, by_row=True)
    nodes = [row._replace(nick="\u202eeve" if row.nick == "bob" else row.nick) for row in found.audit.nodes]
    html = page(report_data(found._replace(audit=found.audit._replace(nodes=nodes)), DEFAULT, START))
    text = html[html.index("<body>") : html.index('<script type="application/json"')]
    assert "\u202e" not in text
    assert "<td>\\u{202e}eve</td>" in text


def test_what_could_not_be_read_stands_at_the_top_and_takes_the_green(untouched: Path, tmp_path: Path) -> None:
    (cut := tmp_path / "cut.db").write_bytes(databases([untouched])[0].read_bytes()[:5000])
    found = compare([*databases([untouched]), cut], START, DEFAULT, by_row=True)
    html = page(report_data(found, DEFAULT, START))
    text = re.sub(r"<[^>]+>", "|", html[html.index("<body>") : html.index("What happened when")])
    assert "|agreed; 1 input was not read|" in text
    assert f"|{cut}|" in text
    assert text.count(str(cut)) == 1
    assert 'class="verdict bad"' in html
    assert "Not read" not in made(untouched)


def test_the_texts_of_messages_are_not_in_the_page(untouched: Path) -> None:
    html = made(untouched)
    assert not [word for word in WORDS if word in html[: html.index("window.vegaEmbed")]]


def test_what_draws_pictures_is_kept_and_made_anew_where_it_is_not_whole(untouched: Path, tmp_path: Path) -> None:
    data = report_data(compare(databases([untouched]), START, DEFAULT, by_row=True), DEFAULT, START)
    html = page(data)
    assert page(data, tmp_path / "cache") == html
    (kept,) = (tmp_path / "cache").iterdir()
    assert kept.read_text("utf-8") in html
    kept.write_text(kept.read_text("utf-8")[:1_000], "utf-8")
    assert page(data, tmp_path / "cache") == html
    kept.unlink()
    kept.parent.rmdir()
    kept.parent.touch()  # a folder cannot be made here
    assert page(data, kept.parent) == html


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({}, "No repair was wanted."),
        ({"wanted": 1}, "No repair had to be requested."),
        ({"wanted": 1, "requested": 1}, "Nobody answered 1 request."),
        (
            {"wanted": 2, "requested": 2, "answered": 1, "useful": 1, "heal_p95": 2_000.0},
            "1 of 1 answer was of use. 95 % of what was wanted was there within 2 s at the slowest node.",
        ),
    ],
)
def test_what_nobody_asked_for_nobody_is_said_not_to_have_answered(values: dict[str, Any], says: str) -> None:
    nothing = {name: None if "_p" in name else 0 for name in MetricsRepair._fields}
    row = MetricsRepair(**nothing | {"run_id": "field", "channel": "lobby", "node": "ann"} | values)
    assert repair_note([row]) == says


def test_half_of_the_deliveries_counts_those_of_every_way(untouched: Path) -> None:
    found = compare(databases([untouched]), START, DEFAULT, by_row=True)
    ways = [("live", 10)] * 4 + [("repair", 1_000)] * 3 + [("sync", 2_000)] * 3
    journal = []
    for seq, (via, took) in enumerate(ways):
        sent = event("ann", 2 * seq + 1, "sent", 5_000, f"m{seq}", cause="message")
        got = event("bob", 2 * seq + 2, "delivered", 5_000 + took, f"m{seq}", sender="ann", lamport=5_000, cause=via)
        journal += [sent, got]
    found = found._replace(said=found.said._replace(journal=journal))
    html = page(report_data(found, DEFAULT, START))
    assert f"<b>{duration(1_000)}</b><span>half delivered within</span>" in html
    assert "place in the log that all should have" in html


def test_one_message_of_one_node_has_no_empty_picture_and_agrees_with_nobody(tmp_path: Path) -> None:
    html = made(talk(tmp_path, ("ann",), ("alone",)))
    assert "What happened when" not in html
    assert ">agrees<" not in html
    assert html.count(">nobody to compare with</span>") == 2  # at the top, and at the node
    assert "<title>sdschat report: nobody to compare with</title>" in html
    (held,) = (each for each in drawn(html) if "place in the log that all should have" in json.dumps(each))
    assert '"values": [1]' in json.dumps(held["layer"][0]["encoding"]["x"]["axis"])


def test_channels_that_differ_come_first_then_those_with_the_most_nodes() -> None:
    nothing = {name: 0 for name in AuditChannel._fields}
    rows = [("alpha", 1, True), ("beta", 3, True), ("gamma", 2, False), ("delta", 3, True)]
    channels = [
        AuditChannel(**nothing | {"run_id": "field", "channel": name, "nodes": nodes, "converged": agrees})  # type: ignore[arg-type]
        for name, nodes, agrees in rows
    ]
    shown = shown_channels(Audit(channels, [], [], [], []))
    assert [row.channel for row in shown] == ["gamma", "beta", "delta", "alpha"]


def test_words_above_a_lane_neither_meet_nor_leave_the_picture() -> None:
    """They lay over each other, and were cut at the right edge."""

    def away(at: int, until: int, node: str) -> dict[str, Any]:
        return {"at": at, "until": until, "node": node, "kind": "not running", "words": "not running for 12.3 s"}

    longest, beside, other, last = away(0, 12_300, "a"), away(13_000, 25_000, "a"), away(0, 9, "b"), away(99, 100, "c")
    shown = with_room([beside, longest, other, last], 0, 100_000)
    assert shown == [longest, other, last]
    (moved,) = with_room([away(99_000, 100_000, "a")], 0, 100_000)
    assert 70_000 < moved["at"] < 90_000
    assert with_room([longest | {"kind": "ended before others"}], 0, 100_000) == []
