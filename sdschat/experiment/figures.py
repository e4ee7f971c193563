"""The record of a run, the same for the engine and the model, and its figures; one that does not apply is NaN."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sdschat.experiment.setting import GroupSetting

Times = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
SENT_AGAIN = ("answer", "push", "resend")
KINDS = ("message", "sync", *SENT_AGAIN)
NEVER = np.float32(np.inf)


class Record:
    """The record of one run. Arrays are messages by participants.

    Times are milliseconds since the message was sent, NEVER if the event did not happen. `missed`: the first sending
    did not reach this participant. `noticed`: the participant learnt that it lacks the message, or got it before that.
    """

    def __init__(self, setting: GroupSetting, seed: int) -> None:
        self.setting, self.seed = setting, seed
        shape = (setting.messages, setting.participants)
        self.missed: Flags = np.zeros(shape, dtype=np.bool_)
        self.noticed, self.held, self.shown = _never(shape), _never(shape), _never(shape)
        self.possibly_acked, self.acked = _never(setting.messages), _never(setting.messages)
        self.requests = _none(setting.messages)
        self.copies = {kind: _none(setting.messages) for kind in SENT_AGAIN}  # number of times each message was sent
        self.duplicates = _none(setting.messages)  # copies received by participants that had the message already
        self.packets = dict.fromkeys(KINDS, 0)
        self.bytes = dict.fromkeys(KINDS, 0)

    def sent(self, kind: str, size: int, count: int = 1) -> None:
        self.packets[kind] += count
        self.bytes[kind] += size * count


def _never(shape: int | tuple[int, int]) -> Times:
    return np.full(shape, NEVER, dtype=np.float32)


def _none(count: int) -> npt.NDArray[np.int64]:
    return np.zeros(count, dtype=np.int64)


Numbers = npt.NDArray[np.float64]


class Figure(NamedTuple):
    unit: str
    says: str


FIGURES: Final = {
    "missed": Figure("share", "first sendings that were lost on the way to a participant"),
    "noticed_p50": Figure("s", "until half of the misses were noticed"),
    "noticed_p90": Figure("s", "until 90 % of the misses were noticed"),
    "noticed_in_3": Figure("share", "misses noticed within three message intervals"),
    "healed_p50": Figure("s", "until half of the misses were made good"),
    "healed_p90": Figure("s", "until 90 % of the misses were made good"),
    "consistent_in_6": Figure("share", "messages shown to a participant within six message intervals"),
    "complete": Figure("s", "until everybody was shown a message"),
    "unhealed": Figure("share", "misses that were not made good while the group was watched"),
    "requests": Figure("a message", "repair requests sent"),
    "answers": Figure("a message", "repair responses sent"),
    "pushes": Figure("a message", "sent again because a filter lacked it"),
    "resends": Figure("a message", "sent again by its author, because it was not acknowledged"),
    "duplicates": Figure("a message and participant", "duplicate receptions, of a message that was there"),
    "duplicates_per_loss": Figure("a miss", "duplicate receptions for each miss"),
    "syncs": Figure("a participant and minute", "sync messages sent"),
    "possibly_acked": Figure("s", "until the author knew of one that may have it"),
    "acked": Figure("s", "until the author knew of one that has it"),
    "message_bytes": Figure("bytes", "of a packet with a message"),
    "sync_bytes": Figure("bytes", "of a packet that syncs"),
    "copy_bytes": Figure("bytes a message", "sent again, by all"),
    "sync_share": Figure("share", "of all bytes that were sync messages"),
}
NAMES: Final = tuple(FIGURES)


def figures_of(record: Record) -> dict[str, float]:
    s = record.setting
    misses = record.missed
    lost = int(misses.sum())
    others = s.messages * (s.participants - 1)
    noticed = _seconds(record, record.noticed, misses)
    healed = _seconds(record, record.held, misses)
    again = {kind: int(counts.sum()) for kind, counts in record.copies.items()}
    duplicates = int(record.duplicates.sum())
    minutes = (s.until - s.warm_up) / 60_000
    total = sum(record.bytes.values())
    return {
        "missed": lost / others,
        "noticed_p50": _percentile(noticed, 50),
        "noticed_p90": _percentile(noticed, 90),
        "noticed_in_3": _share(noticed <= 3 * s.interval / 1000),
        "healed_p50": _percentile(healed, 50),
        "healed_p90": _percentile(healed, 90),
        "consistent_in_6": float((record.shown <= 6 * s.interval).mean()),
        "complete": float(_censored(record, record.shown.max(axis=1)).mean()),
        "unhealed": _share(~np.isfinite(record.held[misses])),
        "requests": int(record.requests.sum()) / s.messages,
        "answers": again["answer"] / s.messages,
        "pushes": again["push"] / s.messages,
        "resends": again["resend"] / s.messages,
        "duplicates": duplicates / others,
        "duplicates_per_loss": duplicates / lost if lost else math.nan,
        "syncs": record.packets["sync"] / s.participants / minutes,
        "possibly_acked": float(_censored(record, record.possibly_acked).mean()),
        "acked": float(_censored(record, record.acked).mean()),
        "message_bytes": record.bytes["message"] / s.messages,
        "sync_bytes": _ratio(record.bytes["sync"], record.packets["sync"]),
        "copy_bytes": sum(record.bytes[kind] for kind in again) / s.messages,
        "sync_share": _ratio(record.bytes["sync"], total),
    }


def _seconds(record: Record, times: Times, which: Flags) -> Numbers:
    """Return these times in seconds. An event that never happened gets the time for which the message was watched."""
    s = record.setting
    watched = [s.until - s.sent_at(at) for at in range(s.messages)]
    rows = zip(times, which, watched, strict=True)
    return np.concatenate([np.minimum(row[flags].astype(np.float64), most) for row, flags, most in rows]) / 1000


def _censored(record: Record, times: npt.NDArray[np.float32]) -> Numbers:
    return _seconds(record, times[:, np.newaxis], np.ones((len(times), 1), dtype=np.bool_))


def _percentile(values: Numbers, at: float) -> float:
    return float(np.percentile(values, at)) if len(values) else math.nan


def _share(flags: npt.NDArray[np.bool_]) -> float:
    return float(flags.mean()) if len(flags) else math.nan


def _ratio(one: float, other: float) -> float:
    return one / other if other else math.nan
