"""`sdschat tap --lint`: dialects and broken rules of the packets of a broker, by sender."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sdschat.cli import by_sender
from sdschat.cli.by_sender import Earlier, Lint
from sdschat.node.view.packet_report import packet_report
from sdschat.sds.values import HistoryEntry, Message
from sdschat.transport.base import Published
from sdschat.wire.nim_codec import NimCodec
from tests.cli.processes import command, environment, run
from tests.cli.test_decode import GOOD, START
from tests.cli.test_decode_timber import IDENTITY, a_sync, sealed
from tests.transport.worlds import Mosquitto, connected, quick
from tests.wire.samples import CODEC
from tests.wire.test_dialects import logos_chat

LATE = Message("a", "m2", "c", 1_760_000_000, (), b"\x01", (), b"text")


def taken(found: Lint, *packets: bytes) -> list[dict[str, Any] | None]:
    lines = [found.add_packet("c", packet) for packet in packets]
    return [None if line is None else json.loads(line) for line in lines]


def totals(found: Lint) -> list[dict[str, Any]]:
    return [json.loads(line) for line in found.totals()]


def test_a_packet_is_printed_where_it_shows_something_new() -> None:
    found = Lint()
    first, again, broken, once_more = taken(found, *(CODEC.encode(each) for each in (GOOD, GOOD, LATE, LATE)))
    assert (again, once_more) == (None, None)
    assert first is not None
    assert broken is not None
    assert (first["verdict"], broken["broken_rules"][0]["rule"]) == ("sound", "S-010")
    (total,) = totals(found)
    assert total["broken_rules"] == [{"rule": "S-010", "what": broken["broken_rules"][0]["what"], "packets": 2}]
    assert (total["sender_id"], total["packets"], total["verdict"]) == ("a", 4, "broken")
    assert found.exit_code == 1


def test_a_copy_with_another_lamport_time_has_a_note() -> None:
    later = replace(GOOD, lamport_timestamp=START + 5_000)
    _, told = taken(Lint(), CODEC.encode(GOOD), CODEC.encode(later))
    assert told is not None
    assert told["accepted"]
    assert told["notes"][-1] == "an earlier packet has this id and another Lamport time: logs that took one each differ"


def test_a_packet_that_nodes_keep_back_has_a_note() -> None:
    report = packet_report(CODEC.encode(replace(GOOD, lamport_timestamp=START + 600_001)))
    Earlier(now=lambda: START).judge("c", report)
    assert report["notes"][-1] == "is dated more than 10 minutes ahead: nodes keep it back until it is due"


def test_senders_and_dialects_are_told_apart() -> None:
    found = Lint()
    taken(found, CODEC.encode(GOOD), NimCodec().encode(GOOD), logos_chat(), b"\xff")
    by_sender = {total["sender_id"]: total for total in totals(found)}
    assert by_sender["a"]["dialects"] == {"spec": 1, "nim-sds": 1}
    assert by_sender["ann"]["dialects"] == {"logos-chat": 1}
    assert by_sender[""]["verdict"] == "no_packet"
    assert found.exit_code == 2


def test_a_packet_of_another_channel_breaks_a_rule() -> None:
    (line,) = taken(Lint(), CODEC.encode(Message("a", "m", "d", GOOD.lamport_timestamp, (), b"\x01", (), b"text")))
    assert line is not None
    assert line["broken_rules"] == [{"rule": "S-004", "what": "channel_id is d, on the topic of c"}]


def test_a_bound_of_nodes_and_an_ignored_filter_are_told_once() -> None:
    found = Lint()
    long_id = CODEC.encode(replace(GOOD, message_id="m" * 200))
    odd_filter = CODEC.encode(replace(GOOD, bloom_filter=b"\x01" * 33))
    lines = taken(found, long_id, long_id, odd_filter, odd_filter)
    assert [line is None for line in lines] == [False, True, False, True]
    (total,) = totals(found)
    assert [(each["rule"], each["packets"]) for each in total["broken_rules"]] == [("field_too_long", 2)]
    assert total["notes"] == [f"bloom_filter is ignored: unknown layout of {size} bytes" for size in (16, 33)]


def said(message_id: str, clock: int, text: bytes = b"text", parent: str = "") -> bytes:
    history = (HistoryEntry(parent),) if parent else ()
    return CODEC.encode(Message("a", message_id, "c", START + clock, history, b"\x01", (), text))


def test_an_id_with_two_contents_breaks_a_rule_as_it_is_refused_by_nodes() -> None:
    found = Lint()
    _, again, other = taken(found, said("m", 0), said("m", 0), said("m", 1, b"other"))
    assert again is None
    assert other is not None
    assert (other["verdict"], other["accepted"], other["reason"]) == ("broken", False, "id_conflict")
    assert [each["rule"] for each in other["broken_rules"]] == ["S-003"]
    (total,) = totals(found)
    assert total["refused"] == {"id_conflict": 1}


def test_a_message_dated_no_later_than_its_parent_breaks_a_rule() -> None:
    _, child, later = taken(Lint(), said("p", 5), said("m", 5, parent="p"), said("n", 6, parent="p"))
    assert later is None
    assert child is not None
    assert (child["accepted"], child["reason"]) == (False, "clock_not_above_parent")
    assert child["detail"] == "is dated no later than a message in its causal history: p"
    assert [each["rule"] for each in child["broken_rules"]] == ["S-019"]


def test_what_was_refused_is_held_against_nothing() -> None:
    found = Lint()
    taken(found, said("p", 5), said("m", 5, b"early", parent="p"))
    assert taken(found, said("m", 6, parent="p"), said("n", 7, parent="m")) == [None, None]


def test_a_further_reason_of_one_rule_is_told() -> None:
    nameless = replace(GOOD, causal_history=(HistoryEntry(""),))
    lines = taken(Lint(), *(CODEC.encode(each) for each in (replace(GOOD, message_id="a\nb"), nameless)))
    assert [line and line["reason"] for line in lines] == ["unreadable", "field_missing"]


def test_of_many_messages_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_sender, "_MOST_IDS", 2)
    found = Lint()
    taken(found, *(said(name, 0) for name in "mno"))
    assert taken(found, said("m", 0, b"other")) == [None]


def test_made_up_senders_take_no_more_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_sender, "_MOST_SENDERS", 2)
    found = Lint()
    taken(found, *(CODEC.encode(Message(name, "m", "c", GOOD.lamport_timestamp, (), b"\x01")) for name in "abcd"))
    assert [(total["sender_id"], total["packets"]) for total in totals(found)] == [("(others)", 2), ("a", 1), ("b", 1)]


def test_nothing_heard_is_nothing_broken() -> None:
    assert Lint().exit_code == 0


async def _listening(broker: Mosquitto, folder: Path) -> subprocess.Popen[bytes]:
    started = subprocess.Popen(
        command("tap", "c", "--lint", "--broker", broker.url),
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert started.stderr is not None
    assert b"listening to" in await asyncio.to_thread(started.stderr.readline)
    return started


def test_it_ends_once_nobody_reads_what_it_prints(tmp_path: Path) -> None:
    async def story() -> None:
        async with Mosquitto(tmp_path) as broker:
            listening = await _listening(broker, tmp_path)
            assert listening.stdout is not None
            listening.stdout.close()
            async with connected(quick(broker.url)) as (transport, facts):
                transport.publish("sds/1/c/msg", CODEC.encode(GOOD))
                await facts.until(Published)
            with listening:
                try:
                    assert await asyncio.to_thread(listening.wait, 5) == 0
                finally:
                    listening.kill()

    asyncio.run(story())


def test_a_live_broker(tmp_path: Path) -> None:
    async def story() -> tuple[int, list[dict[str, Any]]]:
        async with Mosquitto(tmp_path) as broker:
            listening = await _listening(broker, tmp_path)
            assert listening.stdout is not None
            async with connected(quick(broker.url)) as (transport, facts):
                for packet in (CODEC.encode(GOOD), logos_chat()):
                    transport.publish("sds/1/c/msg", packet)
                transport.publish("sds/1/c/timber/bob/ann", sealed(a_sync()))
                await facts.until(Published, 3)
            lines = [json.loads(await asyncio.to_thread(listening.stdout.readline)) for _ in range(3)]
            listening.send_signal(signal.SIGINT)
            rest, _ = await asyncio.to_thread(listening.communicate)
            return listening.returncode, lines + [json.loads(line) for line in rest.splitlines()]

    code, found = asyncio.run(story())
    assert code == 1
    assert [(line["event"], line["sender_id"]) for line in found] == [
        ("packet", "a"),
        ("packet", "ann"),
        ("packet", IDENTITY.sender_id),
        *(("sender", name) for name in sorted(("a", "ann", IDENTITY.sender_id))),
    ]
    assert found[2]["dialect"] == "timber", "packets of members' channels too"


def test_it_ends_after_a_time_and_says_where_nobody_listens(tmp_path: Path) -> None:
    assert run(tmp_path, "tap", "c", "--lint", "--broker", "mqtt://127.0.0.1:1").returncode == 3
    for wrong in (("tap", "c"), ("tap", "c", "--lint", "--to", "x"), ("tap", "c", "--to", "x", "--for", "1s")):
        assert run(tmp_path, *wrong).returncode == 2
    assert "--for goes with --lint" in run(tmp_path, *wrong).stderr
    broker = Mosquitto(tmp_path)
    asyncio.run(broker.start())
    try:
        silent = run(tmp_path, "tap", "c", "--lint", "--for", "300ms", "--broker", broker.url)
        assert silent.returncode == 0
        assert "no packet was heard on sds/1/c/msg" in silent.stderr
    finally:
        broker.stop()
