"""Tests of the judgement of a group at rest: only sync messages pass, and no node has anything to do."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path

from sdschat.node.profile import database_path
from sdschat.sds.values import HistoryEntry, Message
from sdschat.wire.sds_codec import SdsCodec
from tests.cli.processes import Pipe
from tests.soak.liveness import Rest, judge_quiet, judge_rest, kinds, packets, read_rest
from tests.transport.worlds import free_port

SYNC = Message("a" * 64, "s" * 64, "soak", 7, (), b"")
CODEC = SdsCodec()


def _packet(message: Message) -> tuple[str, bytes]:
    return "sds/1/soak/msg", CODEC.encode(message)


def test_sync_messages_alone_are_right() -> None:
    assert judge_quiet({"ann": {"sync_sent": 3, "sync_received": 9}}, kinds([_packet(SYNC)])) == []


def test_an_event_of_anything_else_is_wrong() -> None:
    assert judge_quiet({"ann": {"sync_sent": 3, "resent": 2, "pushed": 0}}, {"sync": 1}) == [
        "ann, when nobody spoke any more and all was acknowledged: 2 resent"
    ]


def test_a_packet_of_anything_else_is_wrong() -> None:
    asking = replace(SYNC, repair_request=(HistoryEntry("m" * 64),))
    said = replace(SYNC, content=b"hello")
    found = kinds(
        [
            _packet(SYNC),
            _packet(asking),
            _packet(said),
            ("sds/1/soak/who/x", b""),
            ("sds/1/soak/sync/x/y", b""),
            ("sds/1/soak/msg", b"x"),
        ]
    )
    assert judge_quiet({}, found) == ["of a group at rest passed: 1 broken, 1 content, 1 request, 1 sync topic"]


def test_a_group_that_says_nothing_at_all_is_not_at_rest_but_dead() -> None:
    assert judge_quiet({}, {}) == ["no sync message passed"]


def test_what_the_broker_kept_from_before_did_not_pass(tmp_path: Path) -> None:
    raw = base64.b64encode(b"x").decode()
    lines = [json.dumps({"topic": "t", "retained": retained, "raw": raw}) for retained in (True, False)]
    (tmp_path / "one.jsonl").write_text("\n".join(lines))
    assert list(packets(tmp_path)) == [("t", b"x")]


def test_whoever_has_something_to_do_is_named() -> None:
    assert judge_rest({"ann": Rest(open=2, missing=1), "bob": Rest()}) == ["ann never came to rest: 2 open, 1 missing"]


def test_a_message_that_nobody_acknowledged_is_open_in_the_database(tmp_path: Path) -> None:
    options = ("--timing", "demo", "--set", f"embedded.port={free_port()}")
    ann = Pipe(tmp_path, "soak", "--name", "ann", "--linger", "forever", *options)
    ann.until_event("joined")
    ann.say("hello")
    ann.until_event("delivered")
    assert read_rest(database_path(tmp_path / "data" / "sdschat", "ann"), "soak") == Rest(open=1)
    ann.kill(15)
