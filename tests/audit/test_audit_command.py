"""`sdschat audit` on databases that real nodes wrote."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sdschat.audit.compare import compare
from sdschat.audit.errors import install_command
from sdschat.audit.members import MembersAudit
from sdschat.audit.report.data import look
from sdschat.audit.schemas import AuditChannel, AuditMissing, AuditNode
from sdschat.audit.sources.databases import databases
from sdschat.audit.verdict import DEFAULT, LOST, Audit, sentence
from sdschat.cli.audit_report import as_object, full_channel, lines, naming
from sdschat.cli.program import program, run
from sdschat.store.audit_reader import AuditReader
from sdschat.store.retention import drop_oldest
from sdschat.store.store import Store
from sdschat.wire.sds_codec import SdsCodec
from tests.audit.field import NAMES, WORDS, change, database, nth, one
from tests.audit.golden import answer
from tests.audit.worlds import drawn
from tests.cli.processes import run as run_process

Ask = Callable[..., Result]


def ask(*arguments: object) -> Result:
    return CliRunner().invoke(program, ["audit", *map(str, arguments)], standalone_mode=False)


def asked(*arguments: object) -> tuple[int, dict[str, Any]]:
    found = ask(*arguments, "--json")
    return found.return_value, json.loads(found.stdout)


def test_nodes_that_agree_end_with_0(untouched: Path) -> None:
    found = ask(untouched)
    assert found.return_value == 0
    assert f"3 nodes and {len(WORDS)} messages; everybody has everything" in found.stdout


def test_a_deleted_message_is_told_with_node_message_and_place(field: Path) -> None:
    place, message_id = nth(field, "bob", 4)
    change(field, "bob", "DELETE FROM log WHERE place = ?", place)
    found = ask(field)
    assert found.return_value == 1
    assert f"bob lacks {message_id[:12]}" in found.stdout
    assert "at place 5 (" in found.stdout


def test_what_two_lack_is_looked_at_closer_once(field: Path) -> None:
    place, message_id = nth(field, "bob", 4)
    change(field, "bob", "DELETE FROM log WHERE place = ?", place)
    change(field, "cleo", "DELETE FROM log WHERE place = ?", nth(field, "cleo", 4)[0])
    found = ask(field)
    assert found.stdout.count(f"sdschat inspect lobby {message_id[:12]}") == 1


def loose(field: Path, *names: str) -> list[Path]:
    """Copy databases out of their profiles, to files with the names of their nodes."""
    return [Path(shutil.copy(database(field, name), field.parent / f"{name}.db")) for name in names]


def closer(said: str) -> list[str]:
    return said.partition("To look closer:\n")[2].splitlines()


def test_the_command_to_look_closer_shows_the_message(
    field: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, message_id = nth(field, "bob", 4)
    change(field, "bob", "DELETE FROM log WHERE place = ?", place)
    kept = Path(shutil.copytree(database(field, "ann").parent, tmp_path / "of ann/profiles/ann%2Fb")).parents[1]
    (line,) = closer(ask(kept, *loose(field, "bob")).stdout)
    assert run(shlex.split(line)[1:]) == 0
    assert message_id in capsys.readouterr().out


def test_of_files_that_inspect_cannot_be_pointed_at_it_is_said_which_has_the_message_and_what_to_do(
    field: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, message_id = nth(field, "bob", 4)
    change(field, "bob", "DELETE FROM log WHERE place = ?", place)
    ann, bob = loose(field, "ann", "bob")
    which, how, line = closer(ask(ann, bob).stdout)
    assert which == f"  message {message_id[:12]} of lobby in {ann}"
    (copied := tmp_path / "DIR/profiles/NAME/sdschat.db").parent.mkdir(parents=True)
    assert "DIR/profiles/NAME/sdschat.db" in how
    shutil.copy(ann, copied)
    asked = line.replace("DIR", str(tmp_path / "DIR"))
    assert run(shlex.split(asked)[1:]) == 0
    assert message_id in capsys.readouterr().out


@pytest.mark.parametrize("folder", ["bob", "profiles/%62ob", "profiles/ "])
def test_a_database_outside_of_profiles_is_no_profile(folder: str) -> None:
    assert look(f"/tmp/ex/{folder}/sdschat.db", "lobby", "3fa9c0") == (
        f"message 3fa9c0 of lobby in /tmp/ex/{folder}/sdschat.db",
        False,
    )


def test_with_one_node_it_is_said_that_there_is_nobody_to_compare_with(field: Path) -> None:
    found = ask(database(field, "ann"))
    assert found.return_value == 0
    assert "there is nobody to compare with" in found.stdout
    assert found.stdout.splitlines()[-1].endswith("  no fault")
    assert "everybody" not in found.stdout


def test_several_channels_of_one_node_are_compared_with_nobody_too() -> None:
    alone = AuditChannel("field", "lobby", 1, 3, True, 0, 0, 0, 0, "")
    assert sentence([alone, alone]).startswith("In each of 2 channels there is nobody to compare with")
    assert "in 1 of them there is nobody to compare with" in sentence([alone, alone._replace(nodes=2)])


def test_the_counts_of_a_channel_are_the_sums_of_those_of_its_nodes() -> None:
    """`excused` of a channel had those in it that `lagging` of its nodes counts."""
    late = 0
    for seed in range(30):
        found = as_object(answer(drawn(seed)), [])
        (channel,) = found["channels"]
        for name in ("missing", "lagging", "excused"):
            assert channel[name] == sum(node[name] for node in found["nodes"]), (seed, name)
        late += channel["lagging"]
    assert late


def test_the_verdict_in_json_is_on_members_channels_beside_others_too(
    untouched: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    garden = MembersAudit("garden", "", {"a": "ann"}, 3, 3, 0, [], [])
    monkeypatch.setattr("sdschat.audit.sources.columnar.Columnar.has_members", lambda columns: True)
    monkeypatch.setattr("sdschat.audit.members.audit_members", lambda paths: [garden])
    _, found = asked(untouched)
    assert found["verdict"].startswith("garden: a members' channel, 1 node, 3 operations settled; ")
    assert "lobby: 3 nodes" in found["verdict"]


def test_of_two_with_one_nick_each_has_its_id_behind_it(untouched: Path) -> None:
    found = compare(databases([untouched]), 0, DEFAULT)
    nodes = [row._replace(nick="ann") for row in found.audit.nodes]
    assert {naming(nodes)(row.node) for row in nodes} == {f"ann <{row.node[:8]}>" for row in nodes}
    posing = [nodes[0]._replace(nick=f"ann <{nodes[1].node[:8]}>")]
    assert naming(posing)(nodes[0].node).endswith(f" <{nodes[0].node[:8]}>")


def test_the_name_of_a_private_channel_is_enough_where_it_is_the_only_one() -> None:
    assert full_channel("garden", ["garden~mjcdnl", "lobby"]) == "garden~mjcdnl"
    assert full_channel("garden", ["garden~mjcdnl", "garden"]) == "garden"
    assert full_channel("garden", ["garden~mjcdnl", "garden~bbbbbb"]) == "garden"
    assert full_channel("gar", ["garden~mjcdnl"]) == "gar"


def test_a_channel_can_be_asked_for_alone(field: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(field, "bob", "DELETE FROM log WHERE place = ?", nth(field, "bob", 4)[0])
    code, found = asked(field, "--channel", "lobby")
    assert (code, [row["channel"] for row in found["channels"]], len(found["missing"])) == (1, ["lobby"], 1)
    assert run(["audit", str(field), "--channel", "loby"]) == 2
    assert "There is no channel 'loby' here. Did you mean lobby?" in capsys.readouterr().err


def many(differ: int, agree: int) -> Audit:
    """Return a verdict on too many nodes to list all of them."""
    missing = [
        AuditMissing("field", "lobby", 1, 1, "m1", "ann", f"bad{number}", LOST, "owed since it was there", 1, 1)
        for number in range(differ)
    ]
    good = AuditNode("field", "lobby", "", None, 3, 3, 0, 0, 0, 0, 1, 1, None, None, None, True)
    bad = good._replace(missing=1, first_position=1, first_lamport=1, first_id="m1", agrees=False)
    nodes = [good._replace(node=f"good{number}") for number in range(agree)]
    nodes += [bad._replace(node=f"bad{number}") for number in range(differ)]
    channel = AuditChannel("field", "lobby", differ + agree, 3, not differ, differ, 0, 0, 0, "")
    return Audit([channel], nodes, missing, [], [])


def test_of_many_nodes_that_agree_only_the_number_is_told() -> None:
    said = list(lines(many(1, 999), 20))
    assert [line.split()[0] for line in said if line.startswith("  ") and "good" in line] == []
    assert "  … 999 more nodes agree; --all lists them" in said
    assert sum(line.startswith("  <bad0> ") for line in said) == 1
    assert list(lines(many(0, 1000), 20))[1:] == ["  … 1,000 nodes agree; --all lists them"]
    assert sum(line.startswith("  <good") for line in lines(many(1, 999), None)) == 999


def test_of_many_nodes_that_differ_the_first_are_listed_and_the_others_counted() -> None:
    said = list(lines(many(30, 5), 20))
    assert sum(line.startswith("  <bad") for line in said) == 20
    assert "  … 10 more nodes do not agree; --all lists them" in said
    assert "  … 5 more nodes agree; --all lists them" in said


def test_of_many_channels_only_those_that_differ_are_told() -> None:
    agreed, wrong = many(0, 2), many(1, 1)
    channels = [agreed.channels[0]._replace(run_id=f"run{number}") for number in range(30)] + wrong.channels
    said = list(lines(Audit(channels, wrong.nodes, wrong.missing, [], []), 20))
    assert said[2].startswith("lobby: 2 nodes and 3 messages; the nodes do not agree")
    assert sum("messages; " in line for line in said[1:]) == 1
    assert said[-1] == "… in 30 more channels everybody agrees; --all lists them"
    assert list(lines(Audit(channels[:-1], [], [], [], []), 20))[1:] == [
        "",
        "… in 30 channels everybody agrees; --all lists them",
    ]


def test_an_empty_file_is_said_to_be_empty(field: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.db"
    empty.touch()
    found = ask(field, empty)
    assert found.return_value == 5
    assert "it is empty, and no database of sdschat" in found.stdout
    assert "older" not in found.stdout


def copied_while_in_use(folder: Path) -> tuple[Path, bytes]:
    """Return a copy of a database that is open, without its -wal file, and the content of that."""
    store = Store.open(folder / "used" / "ann.db", SdsCodec())
    copy = Path(shutil.copy(folder / "used" / "ann.db", folder))
    log = (folder / "used" / "ann.db-wal").read_bytes()
    store.close()
    return copy, log


@pytest.mark.parametrize(
    ("kept", "fault"),
    [(None, "is not there"), (0, "has nothing whole"), (20, "ends in the middle"), (10_000, "ends in the middle")],
)
def test_a_copy_without_its_write_ahead_log_is_said_to_be_that(tmp_path: Path, kept: int | None, fault: str) -> None:
    copy, log = copied_while_in_use(tmp_path)
    if kept is not None:
        (tmp_path / "ann.db-wal").write_bytes(log[:kept])
    found = ask(copy)
    assert found.return_value == 5
    wanted = (
        f"not read: {copy}: is not whole: the latest writes are in ann.db-wal, which {fault}. Copy both files again"
    )
    assert wanted in found.stdout


def test_a_copy_with_a_part_of_its_write_ahead_log_is_read_and_told(field: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(database(field, "ann"), tmp_path / "ann.db"))
    (tmp_path / "ann.db-wal").write_bytes(b"half a frame" * 20)
    found = ask(copy)
    assert f"{len(WORDS)} messages" in found.stdout
    assert f"warning: {copy}: its -wal file ends in the middle" in found.stderr


def test_a_profile_that_never_connected_is_said_to_be_so(field: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    Store.open(new, SdsCodec()).close()
    assert f"not read: {new}: nothing in it says whose it is: it never connected" in ask(field, new).stdout


def test_the_last_message_deleted_is_told_too(field: Path) -> None:
    place, message_id = nth(field, "bob", len(WORDS) - 1)
    change(field, "bob", "DELETE FROM log WHERE place = ?", place)
    code, found = asked(field)
    assert (code, [row["message_id"] for row in found["missing"]]) == (1, [message_id])


@pytest.mark.parametrize(
    ("statement", "kinds"),
    [
        ("UPDATE log SET lamport = lamport + 9000 WHERE place = ?", {"altered", "order", "count"}),
        ("UPDATE log SET dependencies = 'no json' WHERE place = ?", {"altered"}),
        ("UPDATE body SET raw = CAST(raw || x'00' AS BLOB) WHERE place = ?", {"altered"}),
        ("UPDATE text SET text = 'pay me' WHERE place = ?", {"altered"}),
        ("DELETE FROM body WHERE place = ?", {"altered"}),
    ],
)
def test_a_row_altered_by_hand_is_told_with_node_message_and_place(
    field: Path, statement: str, kinds: set[str]
) -> None:
    place, message_id = nth(field, "cleo", 2)
    change(field, "cleo", statement, place)
    code, found = asked(field)
    assert code == 1
    assert {row["kind"] for row in found["findings"]} == kinds
    (altered,) = [row for row in found["findings"] if row["kind"] == "altered"]
    assert (altered["message_id"], altered["position"]) == (message_id, 3)
    (bad,) = [row for row in found["nodes"] if not row["agrees"]]
    assert bad["nick"] == "cleo"


def let_go(field: Path, name: str, before: int) -> None:
    """Remove packets like a Store, which drops those older than its limit."""
    with Store.open(database(field, name), SdsCodec()) as store:
        assert drop_oldest(store, "lobby", before, 100, 1).packets > 0


def lamport_of(field: Path, name: str, index: int) -> int:
    return int(one(field, name, f"SELECT lamport FROM log WHERE place = {nth(field, name, index)[0]}"))


def test_packets_that_a_store_let_go_of_are_no_fault(field: Path) -> None:
    let_go(field, "bob", lamport_of(field, "bob", 6))
    assert ask(field).return_value == 0


def test_a_packet_that_a_store_should_still_have_is_told(field: Path) -> None:
    place, message_id = nth(field, "bob", 8)
    let_go(field, "bob", lamport_of(field, "bob", 6))
    change(field, "bob", "DELETE FROM body WHERE place = ?", place)
    code, found = asked(field)
    assert code == 1
    assert [(row["kind"], row["message_id"]) for row in found["findings"]] == [("altered", message_id)]


def test_a_hole_in_a_journal_is_told_and_no_fault(field: Path) -> None:
    change(field, "ann", "DELETE FROM journal WHERE place = (SELECT max(place) - 5 FROM journal)")
    found = ask(field)
    assert found.return_value == 0
    assert "the journal of ann is incomplete: 1 event is gone" in found.stdout


def test_what_is_no_database_is_named_and_ends_with_5(field: Path, tmp_path: Path) -> None:
    odd = tmp_path / "odd.db"
    odd.write_text("not a database")
    found = ask(field, odd)
    assert found.return_value == 5
    assert "odd.db" in found.stdout
    assert "everybody has everything" in found.stdout


def test_figures_say_who_was_last_what_text_cost_and_which_acknowledgements_were_wrong(
    field: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", str(field), "--figures"]) == 0
    said = capsys.readouterr().out
    assert f"Everybody had {len(WORDS)} of {len(WORDS)} messages" in said
    assert "bytes for each byte" in said
    assert " came from nodes that are here. Not one was wrong (the node did not have the message yet)." in said
    assert run(["audit", str(field), "--figures", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["figures"]
    assert len(found["reached"]) == len(WORDS)
    assert {row["cause"] for row in found["wire"]} >= {"message"}
    assert found["untrue"] == []


def test_figures_need_no_extra(
    field: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("sdschat.audit.report.")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("altair", "vl_convert"):
        monkeypatch.setitem(sys.modules, name, None)
    assert run(["audit", str(field), "--figures"]) == 0
    assert "Figures of lobby:" in capsys.readouterr().out


def test_without_its_extra_a_report_is_not_written_and_the_verdict_is_printed(
    field: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sdschat.cli.audit.find_spec", lambda name: None)
    page = tmp_path / "report.html"
    assert run(["audit", str(field), "--report", str(page)]) == 2
    said = capsys.readouterr()
    assert "everybody has everything" in said.out
    assert install_command("audit") in said.err
    assert not page.exists()
    change(field, "bob", "DELETE FROM log WHERE place = ?", nth(field, "bob", 4)[0])
    assert run(["audit", str(field), "--report", str(page)]) == 1


def test_a_folder_without_databases_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", str(tmp_path)]) == 2
    assert "There is no database of a profile in" in capsys.readouterr().err


def test_a_database_in_a_folder_that_is_empty_or_has_no_beginning_is_not_passed_over(field: Path) -> None:
    for name, content in (("dan.db", b""), ("eve.db", bytes(5000))):
        (field / name).write_bytes(content)
    (field / "fay.db").symlink_to("nowhere")
    found = ask(field)
    assert found.return_value == 5
    assert "everybody has everything" in found.output
    unread = [line for line in found.output.splitlines() if line.startswith("not read: ")]
    assert [Path(line.split()[2].rstrip(":")).name for line in unread] == ["dan.db", "eve.db", "fay.db"]


def test_a_profile_in_a_folder_that_is_a_link_is_not_passed_over(field: Path, tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "ann").symlink_to(database(field, "ann").parent, target_is_directory=True)
    found = ask(tmp_path / "profiles")
    assert found.return_value == 0
    assert "  ann " in found.stdout


def test_the_log_of_each_node_is_the_canonical_log(untouched: Path, field: Path, tmp_path: Path) -> None:
    """The audit compares the same log that `sdschat log` prints."""
    change(field, "bob", "DELETE FROM log")
    missing = compare(databases([field]), 1, DEFAULT).audit.missing
    canonical = [row.message_id for row in sorted(missing, key=lambda row: row.position)]
    assert len(canonical) == len(WORDS)
    done = run_process(
        tmp_path / "home",
        "log",
        "lobby",
        "--json",
        "--profile",
        "bob",
        "--data-dir",
        str(database(untouched, "bob").parents[2]),
    )
    assert [json.loads(line)["message"]["message_id"] for line in done.stdout.splitlines()] == canonical


def test_evidence_is_of_one_moment(field: Path) -> None:
    """A reader sees all or nothing of a transaction that a node writes meanwhile."""
    with AuditReader(database(field, "ann")) as evidence:
        (standing,) = evidence.standings()
        change(field, "ann", "DELETE FROM log WHERE place = ?", nth(field, "ann", 0)[0])
        assert len(list(evidence.messages(standing.number))) == standing.counted == len(WORDS)


def test_what_is_no_database_is_called_that_once(
    field: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.db"
    text.write_text("hello")
    assert run(["audit", str(field), str(text)]) == 5
    assert f"not read: {text}: it is no database, or its beginning is damaged\n" in capsys.readouterr().out


def test_a_database_that_is_named_twice_is_told(
    field: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine, link, copied = database(field, "ann"), tmp_path / "link.db", tmp_path / "copied.db"
    link.symlink_to(mine)
    for again in (link, mine):
        assert run(["audit", str(mine), str(again)]) == 0
        said = capsys.readouterr()
        assert said.err == f"warning: {again} is a database that is named already; it counts once\n"
        assert "All databases are of one node" not in said.out
    shutil.copy(mine, copied)
    assert run(["audit", str(mine), str(copied)]) == 0
    assert capsys.readouterr().out.endswith(
        "All databases are of one node. To compare, name those of other participants too.\n"
    )


def test_nothing_is_made_beside_copies(field: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There were -shm and -wal files."""
    (tmp_path / "copies").mkdir()
    for name in NAMES:
        shutil.copy(database(field, name), tmp_path / "copies" / f"{name}.db")
    before = sorted((tmp_path / "copies").iterdir())
    assert run(["audit", str(tmp_path / "copies")]) == 0
    assert sorted((tmp_path / "copies").iterdir()) == before


def test_an_option_without_its_value_names_the_help_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["audit", "x.db", "--report"], ["pipeline", "report", "--lake"]):
        assert run(words) == 2
        command = " ".join(words[: 1 if words[0] == "audit" else 2])
        assert f"See `sdschat {command} --help`." in capsys.readouterr().err
