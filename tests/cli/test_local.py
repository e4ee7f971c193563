"""Commands that need no network: log, channels, inspect."""

from __future__ import annotations

import asyncio
import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from sdschat.cli.output import counted, moment, safe, zoned
from sdschat.node.node import Node
from sdschat.node.profile import database_path, open_profile
from sdschat.node.settings import make_settings
from sdschat.node.view.moments import parse_moment, parse_search
from sdschat.sds.values import Evidence, Put, Table
from sdschat.transport.memory import MemoryNetwork
from tests.cli.processes import ROOT, command, environment, run
from tests.needs import needs_module
from tests.node.worlds import InMemory, world

EVIDENCE = {"filter": 5.7e-11, "range": 2.0**-64, "mention": 0.0}  # chance that it is wrong, by its kind
START = 1_760_000_000_000


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which ann has written three messages in two channels."""

    async def talk() -> None:
        settings = make_settings({})
        profile = open_profile(database_path(tmp_path / "data" / "sdschat", "ann"), settings)
        loop = asyncio.get_running_loop()
        node = Node(profile, "ann", settings, InMemory(MemoryNetwork(loop.call_soon), settings))
        for name in ("lobby", "späti"):
            node.join(name)
        node.send("lobby", "the release is out")
        node.send("lobby", "line one\nline two \x1b[31m")
        node.send("späti", "hallo")
        await node.close()

    asyncio.run(talk())
    return tmp_path


Lines = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def lines(home: Path) -> Lines:
    def read(*arguments: str) -> list[dict[str, Any]]:
        done = run(home, *arguments, "--name", "ann")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return read


def test_log_prints_the_history_and_nothing_that_drives_a_terminal(home: Path) -> None:
    done = run(home, "log", "lobby", "--name", "ann")
    assert done.returncode == 0, done.stderr
    first, second, third = done.stdout.splitlines()
    assert re.fullmatch(r"[\d-]{10} [\d:]{8}[+-]\d\d:\d\d ann: the release is out \[unacked\]", first)
    assert second.endswith(" ann: line one")
    assert third == "    line two \\u{1b}[31m [unacked]"
    assert "\x1b" not in done.stdout


def test_on_a_terminal_no_text_begins_a_line_of_its_own(tmp_path: Path) -> None:
    """Spaces up to the edge brought what follows them to the first column, where it looked like a line of somebody."""
    forged = "2026-11-30 12:20:41+00:00 bob: I agree"

    async def talk() -> None:
        settings = make_settings({})
        profile = open_profile(database_path(tmp_path / "data" / "sdschat", "ann"), settings)
        node = Node(profile, "ann", settings, InMemory(MemoryNetwork(asyncio.get_running_loop().call_soon), settings))
        node.join("lobby")
        for blank in (" ", "\u00a0", "\u3000"):
            node.send("lobby", "hello".ljust(200, blank) + forged)
        await node.close()

    asyncio.run(talk())
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    done = subprocess.run(
        command("log", "lobby", "--name", "ann"), cwd=tmp_path, env=environment(tmp_path), stdout=follower, check=False
    )
    os.close(follower)
    assert done.returncode == 0
    rows = os.read(leader, 65536).decode().replace("\r", "").splitlines()
    os.close(leader)
    assert max(map(cell_len, rows)) <= 80
    assert all(row.startswith(" ") or " ann: hello" in row for row in rows)
    assert sum(row.startswith(f"    {forged}") for row in rows) == 3


def test_a_message_that_nobody_but_us_has_is_queued(tmp_path: Path, lines: Lines) -> None:
    async def talk() -> None:
        settings = make_settings({})
        profile = open_profile(database_path(tmp_path / "data" / "sdschat", "ann"), settings)
        network = MemoryNetwork(lambda _: None)  # a network on which nothing ever happens
        node = Node(profile, "ann", settings, InMemory(network, settings))
        node.join("attic")
        node.send("attic", "stays here")
        await node.close(0)

    asyncio.run(talk())
    done = run(tmp_path, "log", "attic", "--name", "ann")
    assert done.stdout.endswith(" ann: stays here [queued]\n"), done
    assert [(line["state"], line["sends"]) for line in lines("log", "attic", "--json")] == [("unacked", 0)]
    assert [(line["state"], line["sends"]) for line in lines("log", "späti", "--json")] == [("unacked", 1)]


def test_log_as_json_lines(lines: Lines) -> None:
    found = lines("log", "lobby", "--json")
    assert [line["message"]["text"] for line in found] == ["the release is out", "line one\nline two \x1b[31m"]
    assert all(line["event"] == "delivered" and line["channel"] == "lobby" for line in found)
    assert found[0]["message"].keys() == {
        "message_id",
        "sender_id",
        "nick",
        "lamport",
        "text",
        "own",
        "verdict",
    }


def test_log_can_be_narrowed(lines: Lines) -> None:
    every = lines("log", "lobby", "--json")
    assert lines("log", "lobby", "--json", "--search", "release") == every[:1]
    assert lines("log", "lobby", "--json", "--last", "1") == every[1:]
    assert lines("log", "lobby", "--json", "--since", str(every[1]["message"]["lamport"])) == every[1:]
    assert lines("log", "lobby", "--json", "--until", "1h") == []


def test_a_search_names_senders_as_in_the_chat_and_refuses_unknown_ones(home: Path, lines: Lines) -> None:
    every = lines("log", "lobby", "--json")
    assert lines("log", "lobby", "--json", "--search", "from:ann") == every
    assert lines("log", "lobby", "--json", "--search", "from:me") == every
    assert lines("log", "lobby", "--json", "--search", "release from:@ANN") == every[:1]
    assert lines("log", "lobby", "--json", "--search", "from:ann", "--last", "1") == every[1:]
    assert lines("log", "lobby", "--json", "--search", "since:1h") == every
    assert lines("log", "lobby", "--json", "--search", "release since:1h") == every[:1]
    assert lines("log", "lobby", "--json", "--search", "before:1h") == []
    assert lines("log", "lobby", "--json", "--search", f"from:{every[0]['message']['sender_id'][:6]}") == every
    for words, told in (("from:zoe", "Nobody known here goes by zoe. Known are: ann."), ("from:", "needs a nick")):
        done = run(home, "log", "lobby", "--name", "ann", "--search", words)
        assert (done.returncode, done.stdout) == (2, "")
        assert told in done.stderr


def test_two_forms_of_the_log_are_refused(home: Path) -> None:
    done = run(home, "log", "lobby", "--json", "--format", "md", "--name", "ann")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--json is --format json, and --format md is given too. Leave one out." in done.stderr


def test_log_as_markdown_and_journal(home: Path, lines: Lines) -> None:
    done = run(home, "log", "lobby", "--format", "md", "--name", "ann")
    assert done.stdout.startswith("**ann** (")
    journal = lines("log", "späti", "--journal")
    assert {"delivered", "sent"} <= {row["event"] for row in journal}
    assert {row["channel"] for row in journal} == {"späti"}


def test_the_journal_can_be_narrowed_by_time_and_by_nothing_else(home: Path, lines: Lines) -> None:
    every = lines("log", "lobby", "--journal")
    first, last = every[0]["ts_ms"], every[-1]["ts_ms"]
    assert first < last
    since = lines("log", "lobby", "--journal", "--since", str(first + 1))
    until = lines("log", "lobby", "--journal", "--until", str(first))
    assert since
    assert until
    assert until + since == every
    for option, value in (("--search", "release"), ("--last", "1"), ("--format", "md")):
        done = run(home, "log", "lobby", "--journal", option, value, "--name", "ann")
        assert (done.returncode, option in done.stderr, done.stdout) == (2, True, ""), done


def test_log_and_journal_as_parquet(home: Path, lines: Lines) -> None:
    needs_module("pyarrow")
    parquet = needs_module("pyarrow.parquet")
    for more in ((), ("--journal",)):
        arguments = command("log", "lobby", "--format", "parquet", "--name", "ann", *more)
        done = subprocess.run(arguments, cwd=home, env=environment(home), capture_output=True, check=True)
        rows = parquet.read_table(io.BytesIO(done.stdout)).to_pylist()
        expected = lines("log", "lobby", "--json", *more)
        if more:
            assert rows == expected
        else:
            assert [row["text"] for row in rows] == [line["message"]["text"] for line in expected]


def test_parquet_without_its_package_says_what_to_install(home: Path) -> None:
    (home / "pyarrow.py").write_text("raise ImportError('as if it were not installed')\n")
    done = run(home, "log", "lobby", "--format", "parquet", "--name", "ann", env={"PYTHONPATH": f"{home}:{ROOT}"})
    assert done.returncode == 2
    assert "[pipeline]" in done.stderr


def test_a_channel_that_is_not_there(home: Path) -> None:
    done = run(home, "log", "attic", "--name", "ann")
    assert done.returncode == 2
    assert "lobby" in done.stderr


def test_channels(home: Path, lines: Lines) -> None:
    found = {line["channel"]: line for line in lines("channels", "--json")}
    assert {name: line["messages"] for name, line in found.items()} == {"lobby": 2, "späti": 1}
    assert found["lobby"]["open_outgoing"] == 2
    head, *rows = run(home, "channels", "--name", "ann").stdout.splitlines()
    assert "späti" in rows[1]
    assert re.search(r"  \d\d:\d\d:\d\d    [0-9a-f]{8}$", rows[1]), "of today: the time alone"
    assert max(map(len, [head, *rows])) <= 80


def test_an_empty_channel_has_no_newest_message(tmp_path: Path) -> None:
    async def visit() -> None:
        settings = make_settings({})
        profile = open_profile(database_path(tmp_path / "data" / "sdschat", "ann"), settings)
        node = Node(profile, "ann", settings, InMemory(MemoryNetwork(lambda _: None), settings))
        node.join("attic")
        await node.close(0)

    asyncio.run(visit())
    printed = run(tmp_path, "channels", "--name", "ann").stdout
    assert "1970" not in printed
    assert printed.splitlines()[1].split()[-2] == "-"


def test_where_nothing_was_said_yet_the_first_step_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, "log", "lobby")
    assert done.returncode == 2
    assert "There is none at all: sdschat join CHANNEL --name NICK begins one." in done.stderr


def test_a_search_that_finds_nothing_says_so_and_prints_nothing(home: Path) -> None:
    for form, words in (("text", "no message fits: "), ("json", "")):
        done = run(home, "log", "lobby", "--name", "ann", "--search", "elease", "--format", form)
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.startswith(words)
        assert bool(done.stderr) == bool(words), "a program counts lines"
    assert not run(home, "log", "lobby", "--name", "ann", "--search", "releas").stderr


def test_inspect_a_channel(home: Path, lines: Lines) -> None:
    (report,) = lines("inspect", "lobby", "--json")
    assert report["messages"] == 2
    assert [known["state"] for known in report["outgoing"]] == ["unacked", "unacked"]
    assert report["missing"] == report["gaps"] == []
    assert "outgoing: 2" in run(home, "inspect", "lobby", "--name", "ann").stdout


def test_a_channel_that_is_not_there_has_all_others_named(tmp_path: Path) -> None:
    names = sorted(f"channel{number}" for number in range(22))

    async def join() -> None:
        async with world(tmp_path / "data") as w:
            w.start("ann", *names)

    asyncio.run(join())
    done = run(tmp_path, "inspect", "nowhere", "--data-dir", str(tmp_path / "data"), "--name", "ann")
    assert done.returncode == 2
    assert done.stderr.endswith(f"It has {', '.join(names[:20])} and 2 more.\n")


def test_without_a_name_it_says_that_the_name_of_the_user_was_taken(tmp_path: Path) -> None:
    for name in ("ann", "bob"):
        open_profile(database_path(tmp_path / "data", name), make_settings({})).store.close()
    there = f"{tmp_path / 'data'}", "There are ann, bob. Choose one with --profile or --name."
    user = run(tmp_path, "channels", "--data-dir", there[0], env={"LOGNAME": "mallory"}).stderr
    assert user == f"sdschat: None of the profiles in {there[0]} has your user name, mallory. {there[1]}\n"
    named = run(tmp_path, "channels", "--data-dir", there[0], "--name", "nobody").stderr
    assert named == f"sdschat: There is no profile nobody in {there[0]}. {there[1]}\n"
    store = run(tmp_path, "store", "status", "--data-dir", there[0]).stderr
    assert store == f"sdschat: There is no profile store in {there[0]}. {there[1]}\n"


def test_inspect_a_message(home: Path, lines: Lines) -> None:
    first, second = (line["message"]["message_id"] for line in lines("log", "lobby", "--json"))
    (report,) = lines("inspect", "lobby", second[:10], "--json")
    assert report["message_id"] == second
    assert [found["message_id"] for found in report["ancestors"]] == [first]
    assert report["packet"]["content"]["signature"] == "valid"
    assert report["packet"]["broken_rules"] == []
    assert report["acknowledgement"]["sends"] == 1
    done = run(home, "inspect", "lobby", "zz", "--name", "ann")
    assert done.returncode == 2
    shown = run(home, "inspect", "lobby", second, "--name", "ann").stdout
    assert "\x1b" not in shown
    assert "Lamport time (orders the log): 2" in shown
    assert not re.search(r"\b1[0-9]{12}\b", shown), "a time without a unit"
    assert f"sender id: {report['sender_id']} (ann)" in shown
    assert "verdict: signed, by your key" in shown
    assert "came by: you wrote it here" in shown
    assert "verdict signed, by your key, own yes, came by you wrote it here" in shown, "an ancestor"
    assert "% full, complete since " in shown


def test_inspect_gives_figures_and_evidence_as_people_read_them(home: Path, lines: Lines) -> None:
    (first, *_) = (line["message"]["message_id"] for line in lines("log", "lobby", "--json"))
    evidence = tuple(Evidence("b" * 32, how, "p1", 1_800_000_000_000, rate) for how, rate in EVIDENCE.items())
    with open_profile(database_path(home / "data" / "sdschat", "ann"), make_settings({})).store as store:
        snapshot = store.channel("lobby").snapshot()
        assert snapshot is not None
        row = next(row for row in snapshot.outgoing if row.message_id == first)
        with store.transaction() as transaction:
            transaction.apply("lobby", [Put(Table.OUTGOING, first, row._replace(evidence=evidence))])
    shown = run(home, "inspect", "lobby", first, "--name", "ann").stdout
    assert "evidence its filter has it, packet id p1, at " in shown
    assert "wrong by chance 1 in 18,000,000,000, signed yes" in shown
    assert "evidence its log is the same, packet id p1" in shown
    assert "wrong by chance less than 1 in 1,000,000,000,000,000" in shown
    assert "evidence named it" in shown
    assert not re.search(r"\de-\d", shown)
    (report,) = lines("inspect", "lobby", first, "--json")
    assert [found["error_rate"] for found in report["acknowledgement"]["evidence"]] == [*EVIDENCE.values()]


def test_inspect_a_members_channel_in_words(tmp_path: Path) -> None:
    assert run(tmp_path, "create", "yard", "--members", "--name", "ann").returncode == 0
    shown = run(tmp_path, "inspect", "yard", "--name", "ann").stdout
    assert "data set (the id of this members' channel): " in shown
    assert "operations not answered yet 0, silent at " in shown
    assert {"limit", "seq"} <= set(
        json.loads(run(tmp_path, "inspect", "yard", "--name", "ann", "--json").stdout)["committee"][0]
    )
    assert "sdschat log yard --json has their ids." in run(tmp_path, "inspect", "yard", "ab", "--name", "ann").stderr


def test_text_of_others_is_made_harmless() -> None:
    assert safe("plain ünïcode") == "plain ünïcode"
    assert safe("a\x1b[2Jb\u202ec\x9bd") == "a\\u{1b}[2Jb\\u{202e}c\\u{9b}d"
    assert safe("a\nb") == "a\\nb"


def test_one_of_a_thing_is_not_several() -> None:
    assert [counted(number, "message") for number in (0, 1, 2, 1500)] == [
        "0 messages",
        "1 message",
        "2 messages",
        "1,500 messages",
    ]


def test_moments() -> None:
    now = 1_760_000_000_000
    assert parse_moment("now", now) == now
    assert parse_moment("30m", now) == now - 1_800_000
    assert parse_moment("2d", now) == now - 172_800_000
    assert parse_moment("1759999999999", now) == 1_759_999_999_999
    assert parse_moment("2026-01-31T15:00+00:00", now) == 1_769_871_600_000
    assert parse_moment("2026-01-31T15:00:00.000Z", now) == 1_769_871_600_000
    with pytest.raises(ValueError, match="is no moment"):
        parse_moment("tomorrow", now)


def test_a_search_in_the_log_takes_what_one_in_the_chat_takes() -> None:
    now = 1_760_000_000_000
    asked = parse_search("long  rope from:@bob since:2d before:30m", now)
    assert asked.text.split() == ["long", "rope"]
    assert (asked.names, asked.since, asked.before) == (("bob",), now - 172_800_000, now - 1_800_000)
    assert parse_search("to:me long rope", now)[:3] == ("long rope", (), True)
    assert parse_search("to:bob", now)[:3] == ("to:bob", (), False)
    assert parse_search("rope until:30m", now).before == now - 1_800_000 + 1, "that moment is in it"
    assert parse_search("rope until:30m before:2d", now).before == now - 172_800_000
    with pytest.raises(ValueError, match="since: needs a time"):
        parse_search("since:", now)


def test_doctor_says_where_a_profile_cannot_be_made(tmp_path: Path) -> None:
    there = ("--data-dir", "/proc/nothing", "--broker", "mqtt://127.0.0.1:1")  # nobody can write there, not even root
    done = run(tmp_path, "doctor", *there)
    line = next(line for line in done.stdout.splitlines() if " profile " in line)
    assert not line.startswith("ok")
    assert "/proc. Choose another place with --data-dir" in line
    fine = run(tmp_path, "doctor", "--broker", "mqtt://127.0.0.1:1").stdout
    assert "is made with the first use" in fine


def test_a_time_that_no_calendar_has_is_written_as_its_number() -> None:
    assert moment(2**63 - 1) == zoned(2**63 - 1) == f"@{2**63 - 1}"


def test_whoever_names_the_profile_alone_goes_by_its_nick_in_a_members_channel_too(tmp_path: Path) -> None:
    """The nick was kept with the first message of SDS, and there is none: one went by the name of the user."""
    for name in ("ann", "bob"):
        assert run(tmp_path, "create", "yard", "--members", "--name", name).returncode == 0
    status = run(tmp_path, "timber", "status", "yard", "--profile", "ann", "--json").stdout
    assert [one["nick"] for one in json.loads(status)["committee"]] == ["ann"]


def test_a_nick_that_no_message_can_have_makes_no_channel(tmp_path: Path) -> None:
    done = run(tmp_path, "create", "yard", "--members", "--name", "a\nb", "--profile", "ann")
    assert (done.returncode, "nick" in done.stderr) == (2, True)
