"""The record of a run, the source of its figures: the same for the engine and the model."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sdschat.experiment.setting import GroupSetting

Times = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
KINDS = ("message", "sync", "answer", "push", "resend")
NEVER = np.float32(np.inf)


@dataclass(slots=True)
class Record:
    """The record of one run. Arrays are messages by participants.

    Times are milliseconds since the message was sent, NEVER if the event did not happen. `missed`: the first sending
    did not reach this participant. `noticed`: the participant learnt that it lacks the message, or got it before that.
    """

    setting: GroupSetting
    seed: int
    missed: Flags
    noticed: Times
    held: Times
    shown: Times
    possibly_acked: Times
    acked: Times
    requests: npt.NDArray[np.int64]
    copies: dict[str, npt.NDArray[np.int64]]  # by kind: number of times each message was sent again
    duplicates: npt.NDArray[np.int64]  # copies received by participants that had the message already
    packets: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    bytes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))

    def sent(self, kind: str, size: int, count: int = 1) -> None:
        self.packets[kind] += count
        self.bytes[kind] += size * count


def empty_record(setting: GroupSetting, seed: int) -> Record:
    shape = (setting.messages, setting.participants)
    return Record(
        setting,
        seed,
        missed=np.zeros(shape, dtype=np.bool_),
        noticed=np.full(shape, NEVER, dtype=np.float32),
        held=np.full(shape, NEVER, dtype=np.float32),
        shown=np.full(shape, NEVER, dtype=np.float32),
        possibly_acked=np.full(setting.messages, NEVER, dtype=np.float32),
        acked=np.full(setting.messages, NEVER, dtype=np.float32),
        requests=np.zeros(setting.messages, dtype=np.int64),
        copies={kind: np.zeros(setting.messages, dtype=np.int64) for kind in ("answer", "push", "resend")},
        duplicates=np.zeros(setting.messages, dtype=np.int64),
    )
