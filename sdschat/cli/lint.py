"""`sdschat tap --lint`: report the rules that the packets of a live broker break, by sender."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import click

from sdschat.cli.decode import CHECKED, EXIT_CODES
from sdschat.cli.errors import NOT_AUTHORISED, UNREACHABLE, CommandProblem, say
from sdschat.cli.options import Chosen
from sdschat.cli.output import safe
from sdschat.cli.session import mqtt_options
from sdschat.node.view.packet_report import BROKEN, NO_PACKET, SOUND, packet_report
from sdschat.transport import base
from sdschat.transport.base import Topics, Why
from sdschat.transport.client import MqttTransport

_MOST_SENDERS: Final = 4096  # anybody can invent senders; all further ones are counted as one
_MOST_NOTES: Final = 3
_OTHERS: Final = "(others)"
_WORST: Final = (SOUND, BROKEN, NO_PACKET)
_encode = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(slots=True)
class Sender:
    """The packets of one sender on one channel: counts, dialects, broken rules."""

    packets: int = 0
    worst: str = SOUND
    dialects: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)  # by rule: the detail of the first packet that broke it
    notes: list[str] = field(default_factory=list)  # the first that differ

    def take(self, report: Mapping[str, Any]) -> bool:
        """Count a packet. Return True if its dialect, a rule that it breaks, or a note is new for this sender."""
        known = (len(self.dialects), len(self.examples), len(self.notes))
        self.packets += 1
        self.worst = max(self.worst, report["verdict"], key=_WORST.index)
        self.dialects[report["dialect"]] += 1
        broken = {each["rule"]: each["what"] for each in reversed(report["broken_rules"])}
        self.rules.update(broken.keys())
        self.examples = broken | self.examples
        new = [note for note in report.get("notes", ()) if note not in self.notes]
        self.notes += new[: _MOST_NOTES - len(self.notes)]
        return (len(self.dialects), len(self.examples), len(self.notes)) != known


class Lint:
    """Counts packets by sender, and reports news about a sender in JSON lines like those of `decode`."""

    def __init__(self) -> None:
        self._packets = 0
        self._senders: dict[tuple[str, str], Sender] = {}

    def take(self, channel: str, packet: bytes) -> str | None:
        """Count a packet. Return a line to print if it shows something new about its sender, else None."""
        self._packets += 1
        report = packet_report(packet, channel=channel, signatures=self._packets <= CHECKED)
        sender_id = str(report.get("sender_id", ""))
        if (channel, sender_id) not in self._senders and len(self._senders) >= _MOST_SENDERS:
            sender_id = _OTHERS
        news = self._senders.setdefault((channel, sender_id), Sender()).take(report)
        return _encode({"event": "packet", "channel": channel, **report}) if news else None

    def totals(self) -> list[str]:
        """Return a line for each sender of each channel."""
        return [
            _encode(
                {
                    "event": "sender",
                    "channel": channel,
                    "sender_id": sender_id,
                    "verdict": found.worst,
                    "packets": found.packets,
                    "dialects": dict(found.dialects),
                    "broken_rules": [
                        {"rule": rule, "what": found.examples[rule], "packets": found.rules[rule]}
                        for rule in sorted(found.rules)
                    ],
                    **({"notes": found.notes} if found.notes else {}),
                }
            )
            for (channel, sender_id), found in sorted(self._senders.items())
        ]

    @property
    def exit_code(self) -> int:
        """Return the exit code of the worst packet."""
        return max((EXIT_CODES[found.worst] for found in self._senders.values()), default=EXIT_CODES[SOUND])


def lint(chosen: Chosen, channels: Sequence[str], seconds: float | None) -> int:
    """Listen for `seconds`, or until interrupted, without taking part in the channels. Return the exit code."""
    return asyncio.run(_Listening(chosen, channels).run(seconds))


class _Listening:
    def __init__(self, chosen: Chosen, channels: Sequence[str]) -> None:
        self._lint = Lint()
        prefix = chosen.settings.topic_prefix
        self._channels = {Topics(name, prefix).msg: name for name in channels}
        options, _ = mqtt_options(chosen)
        self._transport = MqttTransport(options)
        self._transport.listen(self._hear)
        for topic in self._channels:
            self._transport.subscribe(topic)
        self._ever = False

    async def run(self, seconds: float | None) -> int:
        loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = loop.create_future()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._end)
        self._transport.start()
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended, seconds)
        finally:
            await self._transport.close()
        for line in self._lint.totals():
            click.echo(line)
        return self._lint.exit_code

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    def _hear(self, event: base.Event) -> None:
        match event:
            case base.Received(topic, payload):
                line = self._lint.take(self._channels[topic], payload)
                if line is not None:
                    click.echo(line)
            case base.Connected(address):
                self._ever = True
                say(f"listening to {safe(address)}")
            case base.Disconnected(why, detail):
                self._lost(why, detail)
            case base.SubscribeRefused(topic_filter, detail):
                say(f"the broker refused {safe(topic_filter)}: {safe(detail)}")
            case _:
                pass

    def _lost(self, why: Why, detail: str) -> None:
        if why is Why.CLOSED:
            return
        if self._ever or self._ended.done():
            say(f"not listening: {safe(detail)}")
            return
        code = NOT_AUTHORISED if why is Why.NOT_AUTHORISED else UNREACHABLE
        self._ended.set_exception(CommandProblem(f"{self._transport.describe()}: {detail}", code))
