"""Packets counted by sender, for `tap --lint` and `decode --lint`: dialects, broken rules, what is new in a packet.

And the rules that two packets break together, which `decode` checks too.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sdschat.node.view.packet_report import BROKEN, NO_PACKET, SOUND, packet_report
from sdschat.sds.config import Config
from sdschat.sds.values import MessageKind, Reason
from sdschat.wire.dialects import UNKNOWN

EXIT_CODES: Final = {SOUND: 0, BROKEN: 1, NO_PACKET: 2}
CHECKED: Final = 1000  # signatures checked of the first packets: a check costs more than the rest of a packet
_MOST_SENDERS: Final = 4096  # anybody can invent senders; all further ones are counted as one
_MOST_NOTES: Final = 3
_MOST_IDS: Final = 100_000  # messages that later packets are compared with
_TOO_EARLY: Final = "is dated no later than a message in its causal history"
_TWICE: Final = "an earlier message has this id, and another content"
_REDATED: Final = "an earlier packet has this id and another Lamport time: logs that took one each differ"
_AHEAD: Final = "is dated more than 10 minutes ahead: nodes keep it back until it is due"
_MAX_SKEW: Final = Config().max_skew
_FOLLOWS: Final = "content"  # an id that follows from its content, so that no other content has it
_NOWHERE: Final[Mapping[str, Any]] = {}
_OTHERS: Final = "(others)"
_WORST: Final = (SOUND, BROKEN, NO_PACKET)
_encode = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(slots=True)
class Sender:
    """The packets of one sender on one channel: counts, dialects, broken rules."""

    packets: int = 0
    worst: str = SOUND
    dialects: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)  # for which nodes refuse packets
    rules: Counter[str] = field(default_factory=Counter)
    examples: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # by rule: of the first packet that broke it
    notes: list[str] = field(default_factory=list)  # the first that differ

    def add(self, report: Mapping[str, Any], place: Mapping[str, Any]) -> bool:
        """Count a packet. Return True if its dialect, a reason, a broken rule or a note is new for this sender."""
        known = self._kinds()
        self.packets += 1
        self.worst = max(self.worst, report["verdict"], key=_WORST.index)
        self.dialects[report.get("dialect", UNKNOWN)] += 1
        self.reasons.update([report["reason"]] if "reason" in report else [])
        broken = {each["rule"]: {"what": each["what"], **place} for each in reversed(_broken(report))}
        self.rules.update(broken.keys())
        self.examples = broken | self.examples
        new = [note for note in report.get("notes", ()) if note not in self.notes]
        self.notes += new[: _MOST_NOTES - len(self.notes)]
        return self._kinds() != known

    def _kinds(self) -> tuple[int, ...]:
        return len(self.dialects), len(self.reasons), len(self.examples), len(self.notes)


def _broken(report: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the rules that a packet breaks; what is not even bytes breaks the first one."""
    found: list[dict[str, str]] = report.get("broken_rules", [{"rule": "S-001", "what": report.get("error", "")}])
    return found


class Earlier:
    """The messages of a stream so far, of each channel: what a packet says can contradict them, as nodes see it.

    `now`: tells the time in epoch milliseconds.
    """

    def __init__(self, now: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._now = now
        self._known: dict[tuple[str, str], tuple[int, int]] = {}  # channel, id: clock, hash of the content

    def judge(self, channel: str, report: dict[str, Any]) -> None:
        """Add to the report of a packet that nodes take by itself what earlier ones of this stream have against it."""
        kind, clock = report.get("kind"), report.get("lamport_timestamp")
        if not report.get("accepted") or clock is None or kind not in (MessageKind.CONTENT, MessageKind.SYNC):
            return
        parents = [each["message_id"] for each in report["causal_history"]]
        late = next((each for each in parents if self._known.get((channel, each), (-1, 0))[0] >= clock), None)
        if late is not None:
            _refuse(report, "S-019", Reason.CLOCK_NOT_ABOVE_PARENT, f"{_TOO_EARLY}: {late}")
        if kind != MessageKind.CONTENT:
            return  # nobody keeps the id of a sync message
        place, said = (channel, report["message_id"]), _hash(report["content"])
        if report["id_recipe"] == _FOLLOWS:
            self._known.pop(place, None)
        if self._known.get(place, (clock, said))[1] != said:
            _refuse(report, "S-003", Reason.ID_CONFLICT, _TWICE)
        elif late is None:
            if self._known.setdefault(place, (clock, said))[0] != clock:
                _note(report, _REDATED)
            elif clock > self._now() + _MAX_SKEW:
                _note(report, _AHEAD)
            if len(self._known) > _MOST_IDS:
                del self._known[next(iter(self._known))]


def _refuse(report: dict[str, Any], rule: str, reason: Reason, detail: str) -> None:
    broken = [{"rule": rule, "what": detail}, *report["broken_rules"]]
    report |= {"verdict": BROKEN, "accepted": False, "reason": str(reason), "detail": detail, "broken_rules": broken}


def _note(report: dict[str, Any], note: str) -> None:
    report["notes"] = [*report.get("notes", ()), note]


def _hash(content: Mapping[str, Any]) -> int:
    """Return what stands for a content, whether its signature was checked or not."""
    return hash(tuple(content.get(name) for name in ("text", "base64", "author_key", "sent_time")))


class Lint:
    """Counts packets by sender, and reports news about a sender in JSON lines like those of `decode`."""

    def __init__(self) -> None:
        self._packets = 0
        self._earlier = Earlier()
        self._senders: dict[tuple[str, str], Sender] = {}

    def add_packet(self, channel: str, packet: bytes) -> str | None:
        """Count a packet. Return a line to print if it shows something new about its sender, else None."""
        self._packets += 1
        report = packet_report(packet, channel=channel, signatures=self._packets <= CHECKED)
        self._earlier.judge(channel, report)
        return self.count(channel, report)

    def count(self, channel: str, report: Mapping[str, Any], place: Mapping[str, Any] = _NOWHERE) -> str | None:
        """Do what `add_packet` does, for a packet with its report. `place`: the file and line in which it stands."""
        sender_id = str(report.get("sender_id", ""))
        if (channel, sender_id) not in self._senders and len(self._senders) >= _MOST_SENDERS:
            sender_id = _OTHERS
        news = self._senders.setdefault((channel, sender_id), Sender()).add(report, place)
        return _encode({"event": "packet", "channel": channel, **place, **report}) if news else None

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
                        {"rule": rule, **found.examples[rule], "packets": found.rules[rule]}
                        for rule in sorted(found.rules)
                    ],
                    **({"refused": dict(sorted(found.reasons.items()))} if found.reasons else {}),
                    **({"notes": found.notes} if found.notes else {}),
                }
            )
            for (channel, sender_id), found in sorted(self._senders.items())
        ]

    @property
    def exit_code(self) -> int:
        """Return the exit code of the worst packet."""
        return max((EXIT_CODES[found.worst] for found in self._senders.values()), default=EXIT_CODES[SOUND])
