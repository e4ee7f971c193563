"""What is written down of a run, by the engine and by the model alike, for the figures to be made of."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sdschat.pipeline.grid.setting import Setting

Times = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
KINDS = ("message", "sync", "answer", "push", "resend")
NEVER = np.float32(np.inf)


@dataclass(slots=True)
class Record:
    """Arrays are messages by participants; times are milliseconds since the message was sent, NEVER where it was not.

    `missed`: the first sending did not reach this participant. `noticed`: that it learnt so, or got it before.
    """

    setting: Setting
    seed: int
    missed: Flags
    noticed: Times
    held: Times
    shown: Times
    possibly_acked: Times
    acked: Times
    requests: npt.NDArray[np.int64]
    copies: dict[str, npt.NDArray[np.int64]]  # by kind: how often each message was sent again
    duplicates: npt.NDArray[np.int64]  # copies heard by those that had the message
    packets: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    bytes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))

    def sent(self, kind: str, size: int, count: int = 1) -> None:
        self.packets[kind] += count
        self.bytes[kind] += size * count


def empty_record(setting: Setting, seed: int) -> Record:
    shape = (setting.messages, setting.participants)
    return Record(
        setting, seed,
        missed=np.zeros(shape, dtype=np.bool_),
        noticed=np.full(shape, NEVER, dtype=np.float32),
        held=np.full(shape, NEVER, dtype=np.float32),
        shown=np.full(shape, NEVER, dtype=np.float32),
        possibly_acked=np.full(setting.messages, NEVER, dtype=np.float32),
        acked=np.full(setting.messages, NEVER, dtype=np.float32),
        requests=np.zeros(setting.messages, dtype=np.int64),
        copies={kind: np.zeros(setting.messages, dtype=np.int64) for kind in ("answer", "push", "resend")},
        duplicates=np.zeros(setting.messages, dtype=np.int64),
    )  # fmt: skip
