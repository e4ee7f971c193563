"""Settings of one channel's engine, checked once, when they are made. All durations are in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sdschat.sds.bloom import compact, waku
from sdschat.sds.limits import ENTRY_BYTES, ENVELOPE_BYTES

SECOND = 1000
MINUTE = 60 * SECOND
SHORT_MESSAGE_BYTES = 256  # what must fit in any case

FilterFormat = Literal["auto", "compact", "waku"]
IdRule = Literal["content", "text"]


@dataclass(frozen=True, slots=True)
class Config:
    """Defaults are the spec's recommendations; each field stands for the setting named in its comment."""

    causal_history: int = 2  # sds.causal_history
    resend_unacked: int = 30 * SECOND  # sds.resend_unacked
    resend_possibly_acked: int = 120 * SECOND  # sds.resend_possibly_acked
    resend_max: int = 10 * MINUTE  # sds.resend_max
    sync_interval: int = 30 * SECOND  # sds.sync_interval
    sweep_interval: int = 1 * SECOND  # sds.sweep_interval
    lost_after: int = 10 * MINUTE  # sds.lost_after
    max_skew: int = 10 * MINUTE  # sds.max_skew
    max_message_bytes: int = 65536  # sds.max_message_bytes
    bloom_layout: FilterFormat = "auto"  # bloom.layout
    bloom_capacity: int = 256  # bloom.capacity (compact; waku is fixed at 10000)
    bloom_error_rate: float = 0.0005  # bloom.error_rate (compact, in 512 bytes; waku is fixed at 0.001)
    repair_enabled: bool = True  # repair.enabled
    t_min: int = 30 * SECOND  # repair.t_min
    t_max: int = 120 * SECOND  # repair.t_max
    max_requests: int = 3  # repair.max_requests
    num_response_groups: int = 1  # repair.num_response_groups
    push_enabled: bool = True  # push.enabled: anti-entropy; without it SDS does not converge
    push_grace: int = 3 * SECOND  # push.grace: how long a message may be on its way before a filter "lacks" it
    push_delay_min: int = 1 * SECOND  # push.delay_min
    push_delay_max: int = 6 * SECOND  # push.delay_max
    id_rule: IdRule = "content"  # follows from content.format: chat -> content, text -> text

    def __post_init__(self) -> None:
        for problem in self.problems():
            raise ValueError(problem)

    def problems(self) -> list[str]:
        """Return the errors in these values, in words that name the setting, the value and what would do."""
        found: list[str] = []

        def within(name: str, value: float, low: float, high: float) -> None:
            if not low <= value <= high:
                found.append(f"{name} is {value}, and must be from {low} to {high}")

        day = 24 * 60 * MINUTE
        within("sds.causal_history", self.causal_history, 1, 10)
        within("sds.resend_unacked", self.resend_unacked, 1, day)
        within("sds.resend_possibly_acked", self.resend_possibly_acked, 1, day)
        within("sds.resend_max", self.resend_max, max(self.resend_unacked, self.resend_possibly_acked), 30 * day)
        within("sds.sync_interval", self.sync_interval, 10, day)
        within("sds.sweep_interval", self.sweep_interval, 1, MINUTE)
        within("sds.lost_after", self.lost_after, 1, 30 * day)
        within("sds.max_skew", self.max_skew, 0, day)
        within("sds.max_message_bytes", self.max_message_bytes, 1024, 16 * 1024 * 1024)
        within("bloom.capacity", self.bloom_capacity, 8, 4096)
        within("bloom.error_rate", self.bloom_error_rate, 1e-6, 0.1)
        within("repair.t_min", self.t_min, 0, day)
        within("repair.t_max", self.t_max, 1, day)
        if self.t_max <= self.t_min:
            found.append(f"repair.t_max is {self.t_max}, and must be more than repair.t_min, which is {self.t_min}")
        within("repair.max_requests", self.max_requests, 1, 16)
        within("repair.num_response_groups", self.num_response_groups, 1, 1_000_000)
        within("push.grace", self.push_grace, 0, day)
        within("push.delay_min", self.push_delay_min, 0, day)
        within("push.delay_max", self.push_delay_max, self.push_delay_min, day)
        return found + self._contradictions()

    def _smallest_packet(self) -> int:
        """Return the size at which a short message fits in, with everything else at its longest."""
        entries = self.causal_history + self.max_requests
        return self._filter_bytes() + ENTRY_BYTES * entries + ENVELOPE_BYTES + SHORT_MESSAGE_BYTES

    def _filter_bytes(self) -> int:
        if self.bloom_layout != "compact":
            return waku.BYTES
        return compact.WINDOW_HEAD_BYTES + (compact.shape_for(self.bloom_capacity, self.bloom_error_rate).bits >> 3)

    def _contradictions(self) -> list[str]:
        """Return texts for values that are right by themselves, and not together."""
        found: list[str] = []
        if self.repair_enabled and self.lost_after <= self.t_max:
            found.append(
                f"sds.lost_after is {self.lost_after}, and must be more than repair.t_max, which is {self.t_max}: "
                "otherwise messages are given up before they are asked for"
            )
        if self.max_message_bytes < self._smallest_packet():
            least, own = self._smallest_packet(), self._filter_bytes()
            advice = "" if self.bloom_layout == "compact" else ". A smaller limit needs bloom.layout compact"
            found.append(
                f"sds.max_message_bytes is {self.max_message_bytes}, and must be at least {least} with bloom.layout "
                f"{self.bloom_layout}: its filter alone takes {own}{advice}"
            )
        return found


def response_groups(num_participants: int) -> int:
    """Return one response group for every 128 participants (spec: SDS-R global state)."""
    return num_participants // 128 + 1


SPEC = Config()
# `--timing demo`: repair within 2 to 10 s, sync every 5 s. The spec recommends T_min >= 30 s and T_max >= 120 s.
DEMO = replace(
    SPEC,
    resend_unacked=2 * SECOND,
    resend_possibly_acked=6 * SECOND,
    resend_max=30 * SECOND,
    sync_interval=5 * SECOND,
    sweep_interval=200,
    lost_after=60 * SECOND,
    t_min=2 * SECOND,
    t_max=10 * SECOND,
    push_grace=500,
    push_delay_min=100,
    push_delay_max=1 * SECOND,
)
