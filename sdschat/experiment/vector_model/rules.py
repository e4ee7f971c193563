"""The rules of SDS-R in this program and in other implementations (from reading their code; see the README)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

NEVER: Final = 1 << 30  # milliseconds; longer than any run, and it fits into four bytes


@dataclass(frozen=True, slots=True)
class ModelRules:
    pushes: bool = True  # anti-entropy, if the setting has it
    again: bool = True  # an unanswered request, ours or another's, is repeated
    confirms: bool = True  # in a small group, who received a message soon sends a sync message
    syncs: bool = True  # periodic sync messages; without them requests wait for the participant's next message
    resends: bool = True
    ranges: bool = True  # fingerprints over ranges of the log (ours, with anti-entropy)
    first_due_stands: bool = True  # a repeated request does not delay a planned response
    rests: bool = True  # a message that was just sent in response is not sent again at once
    widens: bool = True  # a request heard twice without a response is for everybody, not only for the response group
    witnesses: int = 2  # number of participants whose filters acknowledge a message
    tick: int = 0  # milliseconds between checks for due responses; 0: each at its own time
    causal: int = 0  # length of the causal history; 0: as in the setting
    t_max: int = 0
    one_group: bool = False
    wide_filter: bool = False  # 18,752 bytes


_LITERAL: Final = ModelRules(pushes=False, confirms=False, again=False, ranges=False, widens=False, rests=False)
RULES: Final = {
    "sdschat": ModelRules(),
    "literal": _LITERAL,
    "nim": replace(
        _LITERAL,
        syncs=False,
        resends=False,
        first_due_stands=False,
        witnesses=1,
        tick=5_000,
        causal=10,
        t_max=300_000,
        one_group=True,
        wide_filter=True,
    ),
    "js": replace(_LITERAL, tick=10_000, causal=12, t_max=120_000, wide_filter=True),
}
