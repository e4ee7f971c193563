"""History and journal as Parquet."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from sdschat.cli.errors import WRONG_USE, CommandProblem
from sdschat.cli.json_events import state_name
from sdschat.cli.log_formats import DIRECT
from sdschat.store.display_rows import DisplayMessage
from sdschat.store.journal import JournalRow

_ROWS: Final = 10_000  # rows in memory at a time
_MESSAGE: Final = {
    "channel": "string",
    "message_id": "string",
    "sender_id": "string",
    "nick": "string",
    "lamport": "int64",
    "text": "string",
    "verdict": "string",
    "own": "bool",
    "via": "string",
    "received_at": "int64",
    "sent_at": "int64",
    "state": "string",
    "dependencies": "ids",
}
_JOURNAL: Final = {
    "v": "int32",
    "node": "string",
    "boot": "string",
    "seq": "int64",
    "ts_ms": "int64",
    "mono_us": "int64",
    "channel": "string",
    "event": "string",
    "message_id": "string",
    "sender": "string",
    "lamport": "int64",
    "peer": "string",
    "bytes": "int64",
    "payload_bytes": "int64",
    "overhead_bytes": "int64",
    "deps": "ids",
    "attempt": "int64",
    "cause": "string",
    "messages": "int64",
    "fingerprint": "string",
}


def write_messages(messages: Iterable[DisplayMessage]) -> None:
    """To standard output."""
    _write(_MESSAGE, (_message(each) for each in messages))


def write_journal(rows: Iterable[JournalRow]) -> None:
    """To standard output."""
    _write(_JOURNAL, (row._asdict() for row in rows))


def _message(message: DisplayMessage) -> dict[str, Any]:
    found = message._asdict() | {"state": None if message.state is None else state_name(message.state)}
    return found | {"lamport": None} if message.via == DIRECT else found


def _write(columns: Mapping[str, str], rows: Iterator[Mapping[str, Any]]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise CommandProblem(
            "Parquet needs the package pyarrow, which is not installed. Install sdschat[pipeline], or choose "
            "--format json.",
            WRONG_USE,
        ) from error
    if sys.stdout.isatty():
        raise CommandProblem("Parquet is not for a terminal. Send it to a file: … > history.parquet", WRONG_USE)
    types = {"ids": pyarrow.list_(pyarrow.string()), "bool": pyarrow.bool_()}
    schema = pyarrow.schema([(name, types.get(kind) or pyarrow.type_for_alias(kind)) for name, kind in columns.items()])
    # Parquet needs a file that knows positions, which a pipe on standard output does not: so write a file first.
    with tempfile.TemporaryFile() as file:
        with pyarrow.parquet.ParquetWriter(file, schema) as writer:
            while batch := list(islice(rows, _ROWS)):
                values = {name: [row[name] for row in batch] for name in columns}
                writer.write_table(pyarrow.table(values, schema=schema))
        file.seek(0)
        sys.stdout.flush()
        shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
