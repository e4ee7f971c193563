"""Rows for the benchmark: deliveries by many nodes as columns, and databases like those of nodes."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sdschat.audit.schemas import FIELD, Ids, KnownVersion, Message, Node
from sdschat.sds.values import Append, Put, Table, Write
from sdschat.store.journal import JournalRow
from sdschat.store.journal_writer import JournalSettings
from sdschat.store.store import Store
from tests.store.samples import CODEC, START, log_row, packet_of, state_row

if TYPE_CHECKING:
    from sdschat.lake.tables import Tables


class Copy(NamedTuple):
    """A message that a node has."""

    run_id: str
    channel: str
    node: str
    message_id: str
    lamport: int
    sender: str
    deps: Ids
    digest: str
    own: bool
    via: str | None
    received_ms: int
    origin: str  # log or journal
    damage: str | None


NODES = 100
NAMES = [f"node{at:03}" for at in range(NODES)]
WITH_GAPS = NAMES[:4]  # the nodes that lack some messages
CHANNELS = 10
JOINED_LATE, OLD = 50, 51  # the nodes that have only a part
_STEP = 500  # messages in a transaction


def make_copies(path: Path, count: int, *, partial: bool = False, channels: int = CHANNELS) -> int:
    """Write deliveries of messages by nodes in the order of the logs, like silver. Return the number of missing ones.

    Some nodes lack some messages of one hundredth of the log. With `partial` one node joined in the middle, and of
    another one there is an old copy.
    """
    messages = count // NODES
    draw = np.random.default_rng(1)
    ids = pa.array([f"{value:064x}" for value in draw.integers(0, 2**63, messages)])
    names, lost = pa.array(NAMES), 0
    path.mkdir()
    with ExitStack() as stack:
        writer = None
        for channel in range(channels):  # one after the other: a hundred million rows do not fit into memory
            message = np.repeat(np.arange(channel, messages, channels), NODES)
            node = np.tile(np.arange(NODES), len(message) // NODES)
            stretch = (message >= messages // 3) & (message < messages // 3 + max(1, messages // 100))
            lacking = (node < len(WITH_GAPS)) & stretch & (draw.random(len(node)) < 0.2)
            lost += int(lacking.sum())
            kept = ~lacking
            if partial:
                kept &= ~((node == JOINED_LATE) & (message < messages // 2))
                kept &= ~((node == OLD) & (message >= messages // 3 * 2))
            node, message = node[kept], message[kept]
            at = START + message * 500
            columns: dict[str, Any] = {
                "run_id": _all("field", len(node)),
                "channel": _all(f"c{channel}", len(node)),
                "node": names.take(pa.array(node)),
                "message_id": ids.take(pa.array(message)),
                "sender": names.take(pa.array(message % NODES)),
                "digest": _all("0", len(node)),
                "origin": _all("log", len(node)),
                "via": _all("live", len(node)),
                "lamport": pa.array(at),
                "received_ms": pa.array(at + node),
                "deps": pa.array([[]] * len(node), pa.list_(pa.string())),
                "own": pa.array(node < 0),
                "damage": pa.nulls(len(node), pa.string()),
            }
            table = pa.table({name: columns[name] for name in Copy._fields})
            writer = writer or stack.enter_context(pq.ParquetWriter(path / "copies.parquet", table.schema))
            writer.write_table(table)
    return lost


def lake_of_copies(copies: Path, lake: Path, horizon: int = 0, channels: int = CHANNELS) -> None:
    """Make a lake with the same copies as messages in logs; every twentieth is in an earlier reading too. The horizon
    is that of the node that joined late."""
    from sdschat.lake.sources.batch import table_of
    from sdschat.lake.tables import Tables

    tables = Tables(str(lake))
    twice = "hash(message_id, node) % 20 = 0"
    for reading, which, again in ((0, twice, "false"), (1, "true", twice)):
        _append(tables, copies, reading, which, again)
    late = [row._replace(horizon=horizon) if row.node == NAMES[JOINED_LATE] else row for row in readings(channels)]
    tables.append(Node, table_of(Node, late))


def one_more_in_a_hundred(copies: Path, lake: Path, channels: int = CHANNELS) -> None:
    """Add as many messages as are a hundredth of all, to one of at most a hundred channels."""
    from sdschat.lake.tables import Tables

    _append(
        Tables(str(lake)),
        copies,
        1,
        f"channel = 'c0' AND hash(message_id) % {100 // channels} = 0",
        "false",
        "'more ' || message_id",
    )


def _append(tables: Tables, copies: Path, as_of: int, which: str, again: str, message_id: str = "message_id") -> None:
    from sdschat.lake.duck import connected

    noted = {
        "nick": "NULL::VARCHAR",
        "text": "NULL::VARCHAR",
        "sent_ms": "lamport",
        "state": "NULL::VARCHAR",
        "raw": "NULL::BLOB",
        "gone": "false",
        "read_ms": "1::BIGINT",
        "again": again,
        "row_sum": "lamport",
        "channel_key": "SUBSTRING(MD5(run_id || CHR(31) || channel), 1, 8)",
        "day": "received_ms // 86400000",
    }
    sizes = {name: "NULL::BIGINT" for name in Message._fields if name == "bytes" or name.endswith("_bytes")}
    columns = ", ".join(f"{value} AS {name}" for name, value in {**noted, **sizes}.items())
    plain_rows = (
        f"SELECT * EXCLUDE (origin) REPLACE ({message_id} AS message_id), {columns}, {as_of}::BIGINT AS as_of "
        f"FROM '{copies}/*.parquet' WHERE {which}"
    )
    message = "run_id, channel, message_id"
    keys = {
        "member_key": "run_id, channel, node",
        "message_key": message,
        "version_key": f"{message}, CAST(lamport AS VARCHAR), sender, ARRAY_TO_STRING(deps, CHR(31)), digest",
    }
    numbers = ", ".join(f"number_of(CONCAT_WS(CHR(31), {said})) AS {name}" for name, said in keys.items())
    rows = f"SELECT *, {numbers} FROM ({plain_rows}) AS copies"
    names = ", ".join((*KnownVersion._fields, "row_sum", "channel_key", "0::BIGINT AS day"))
    with TemporaryDirectory() as scratch, connected(scratch) as database:
        tables.append(Message, database.sql(rows))
        tables.append(KnownVersion, database.sql(f"SELECT DISTINCT {names} FROM ({rows}) AS rows"))


def readings(channels: int) -> list[Node]:
    """Return the readings of the nodes' databases."""
    return [
        Node(FIELD, name, f"c{at}", 1, 1, name, 0, 1, "", 1, "", f"{name}.db")
        for at in range(channels)
        for name in NAMES
    ]


def _all(text: str, count: int) -> Any:
    return pa.array([text]).take(pa.array(np.zeros(count, dtype=np.int64)))


def make_databases(folder: Path, nodes: int, messages: int) -> list[Path]:
    """Write databases of nodes that all have the same log, with a journal of it."""
    packets = [packet_of("lobby", f"node{at % nodes}", START + at * 500, f"number {at}") for at in range(messages)]
    made = []
    for number in range(nodes):
        name = f"node{number}"
        made.append(folder / name / "sdschat.db")
        journal = JournalSettings(name, f"boot{number}", 10**12)
        with Store.open(made[-1], CODEC, journal=journal) as store:
            for start in range(0, messages, _STEP):
                part = packets[start : start + _STEP]
                writes: list[Write] = [Append(log_row(each, own=each.sender_id == name)) for each in part]
                newest = START + (start + len(part)) * 500
                told = [
                    JournalRow(
                        "delivered",
                        "lobby",
                        START + at * 500 + number,
                        at,
                        each.message_id,
                        each.sender_id,
                        START + at * 500,
                        cause="live",
                    )
                    for at, each in enumerate(part, start)
                ]
                store.commit([("lobby", [*writes, Put(Table.CHANNEL, "", state_row(newest))])], told)
    return made
