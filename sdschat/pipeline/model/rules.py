"""Rules of SDS-R as this program has them, and as others have them (by reading their code; see the README)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sdschat.pipeline.grid.setting import Setting

NEVER: Final = 1 << 30  # milliseconds; no run is as long, and a time takes four bytes


@dataclass(frozen=True, slots=True)
class Rules:
    pushes: bool = True  # anti-entropy, where the setting has it
    again: bool = True  # what was requested in vain, by us or by another, is requested again
    syncs: bool = True  # periodic sync messages; without them, requests wait for a message of one's own
    resends: bool = True
    ranges: bool = True  # fingerprints over ranges of the log (ours, with anti-entropy)
    first_due_stands: bool = True  # a repeated request does not put an answer off
    rests: bool = True  # what was answered just now is not answered again at once
    widens: bool = True  # a request heard twice in vain is for everybody, not for the response group alone
    witnesses: int = 2  # participants whose filters acknowledge
    tick: int = 0  # answers are looked for this often; 0: at their time
    causal: int = 0  # 0: as the setting says
    t_max: int = 0
    one_group: bool = False
    wide_filter: bool = False  # 18,752 bytes


OURS: Final = Rules()
_RULES: Final = {
    "sdschat": OURS,
    "literal": Rules(pushes=False, again=False, ranges=False, widens=False, rests=False),
    "nim": Rules(
        pushes=False, again=False, syncs=False, resends=False, ranges=False, first_due_stands=False, rests=False,
        widens=False, witnesses=1, tick=5_000, causal=10, t_max=300_000, one_group=True, wide_filter=True,
    ),
    "js": Rules(
        pushes=False, again=False, ranges=False, widens=False, rests=False, witnesses=2, tick=10_000, causal=12,
        t_max=120_000, wide_filter=True,
    ),
}  # fmt: skip


def rules_for(setting: Setting) -> Rules:
    return _RULES[setting.rules]
