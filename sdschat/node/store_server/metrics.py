"""Counters of a Store while it runs, in the text format of Prometheus too, and the small server that hands them out."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sdschat.store.archive import Archived
from sdschat.store.retention import DiskSpace

COUNTS: Final = "store.counts"  # under this name the database keeps what was counted last
# Upper bounds of the histogram of answer times, in seconds.
BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5)


@dataclass(slots=True)
class Counts:
    """Since the program was started. All of them only grow."""

    archived: int = 0
    archived_bytes: int = 0
    answered: dict[str, int] = field(default_factory=lambda: {"ids": 0, "hints": 0, "page": 0})
    messages_out: int = 0
    bytes_out: int = 0
    unknown: int = 0
    refused: dict[str, int] = field(default_factory=dict)  # by reason: unreadable, forged, replayed, busy, clock
    dropped_packets: int = 0  # by retention
    times: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0

    def refuse(self, reason: str) -> None:
        self.refused[reason] = self.refused.get(reason, 0) + 1

    def timed(self, seconds: float) -> None:
        at = next((place for place, bound in enumerate(BOUNDS) if seconds <= bound), len(BOUNDS))
        self.times[at] += 1
        self.seconds += seconds


_PATIENCE: Final = 5.0  # seconds for a request
_LONGEST: Final = 8192  # bytes of one
_AT_ONCE: Final = 16
_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_log = logging.getLogger("sdschat.metrics")


class MetricsSnapshot(NamedTuple):
    """Everything there is to tell at one moment."""

    version: str
    started: float  # epoch seconds
    counts: Counts
    channels: list[Archived]
    connected: Mapping[str, bool]
    space: DiskSpace
    max_size: int = 0  # as the operator set it; 0: no bound
    saving: bool = True  # False: the disk takes nothing


def prometheus(found: MetricsSnapshot) -> str:
    """Return the metrics in the exposition format 0.0.4 of Prometheus."""
    return "".join(f"{line}\n" for line in _lines(found))


def _lines(found: MetricsSnapshot) -> Iterator[str]:
    counts = found.counts
    yield from _metric("build_info", "gauge", "Constant 1.", [({"version": found.version}, 1)])
    yield from _metric("start_time_seconds", "gauge", "When the Store was started.", [({}, found.started)])
    per_channel: tuple[tuple[str, str, Callable[[Archived], float]], ...] = (
        ("messages", "Messages in the log.", lambda one: one.messages),
        ("packets", "Messages kept in full.", lambda one: one.packets),
        ("ids", "Messages of which only the id is kept.", lambda one: one.floor.ids),
        ("ids_bytes", "Bytes that these ids take, about.", lambda one: one.ids_bytes),
        (
            "begins_timestamp_seconds",
            "Date from which on even ids are kept; 0: all.",
            lambda one: one.floor.ids_from / 1000,
        ),
        ("oldest_timestamp_seconds", "Date of the oldest message kept in full.", lambda one: one.oldest / 1000),
        ("newest_timestamp_seconds", "Date of the newest message.", lambda one: one.newest / 1000),
    )
    for name, text, value in per_channel:
        yield from _metric(name, "gauge", text, [({"channel": one.channel}, value(one)) for one in found.channels])
    states = [({"channel": name}, float(state)) for name, state in found.connected.items()]
    yield from _metric("connected", "gauge", "Whether the channel has its broker.", states)
    yield from _metric("saving", "gauge", "Whether what arrives can be saved.", [({}, float(found.saving))])
    room: list[tuple[Mapping[str, str], float]] = [
        ({"state": "used"}, found.space.used),
        ({"state": "free"}, found.space.free),
    ]
    yield from _metric("max_bytes", "gauge", "Size that is not to be exceeded; 0: none.", [({}, found.max_size)])
    yield from _metric("database_bytes", "gauge", "Size of the database.", room)
    totals = (
        ("archived_total", "Messages archived.", counts.archived),
        ("archived_bytes_total", "Bytes of their packets.", counts.archived_bytes),
        ("dropped_total", "Packets dropped for their age, or to make room.", counts.dropped_packets),
        ("answer_messages_total", "Messages handed out.", counts.messages_out),
        ("answer_bytes_total", "Bytes of answers.", counts.bytes_out),
        ("unknown_total", "Messages that were asked for and are not here.", counts.unknown),
    )
    for name, text, value_ in totals:
        yield from _metric(name, "counter", text, [({}, value_)])
    yield from _metric("answers_total", "counter", "Answers by what was asked for.", _by("kind", counts.answered))
    yield from _metric("refused_total", "counter", "Questions not answered.", _by("reason", counts.refused))
    yield from _histogram(counts)


def _by(label: str, values: Mapping[str, int]) -> list[tuple[Mapping[str, str], float]]:
    return [({label: name}, value) for name, value in sorted(values.items())]


def _metric(name: str, kind: str, text: str, values: Iterable[tuple[Mapping[str, str], float]]) -> Iterator[str]:
    yield f"# HELP sdschat_store_{name} {text}"
    yield f"# TYPE sdschat_store_{name} {kind}"
    for labels, value in values:
        yield f"sdschat_store_{name}{_labels(labels)} {value:.15g}"


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _histogram(counts: Counts) -> Iterator[str]:
    name = "sdschat_store_answer_seconds"
    yield f"# HELP {name} Time that answering took."
    yield f"# TYPE {name} histogram"
    total = 0
    for bound, times in zip((*map(str, BOUNDS), "+Inf"), counts.times, strict=True):
        total += times
        yield f'{name}_bucket{{le="{bound}"}} {total}'
    yield f"{name}_sum {counts.seconds:.6f}"
    yield f"{name}_count {total}"


class MetricsServer:
    """Answers GET /metrics and nothing else. One request a connection."""

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text
        self._server: asyncio.Server | None = None
        self._open = 0

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen, and return the address and port. Raises OSError if it cannot."""
        self._server = await asyncio.start_server(self._serve, host, port, limit=_LONGEST)
        found: tuple[str, int] = self._server.sockets[0].getsockname()[:2]
        return found

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open <= _AT_ONCE:
                async with asyncio.timeout(_PATIENCE):
                    request = await reader.readuntil(b"\r\n\r\n")
                    writer.write(self._respond(request))
                    await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever that was, it did not ask for metrics
        finally:
            self._open -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def _respond(self, request: bytes) -> bytes:
        method, _, rest = request.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method not in (b"GET", b"HEAD"):
            return _response("405 Method Not Allowed", "Only GET.\n", True)
        if path != b"/metrics":
            return _response("404 Not Found", "See /metrics.\n", method == b"GET")
        try:
            text = self._text()
        except Exception:
            _log.exception("the metrics cannot be read")
            return _response("500 Internal Server Error", "The metrics cannot be read.\n", True)
        return _response("200 OK", text, method == b"GET")


def _response(status: str, text: str, with_body: bool) -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: {_TYPE}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + (body if with_body else b"")
