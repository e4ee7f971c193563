"""JSON lines, one event each."""

from __future__ import annotations

import json

import pytest

from sdschat.cli.json_events import json_line
from sdschat.node.events import NodeEvent
from sdschat.sds.events import StateChanged
from sdschat.sds.values import AckState


@pytest.mark.parametrize(
    ("by", "perhaps", "expected"),
    [
        (("ann",), (), {"by": ["ann"]}),
        ((), ("bob", "cid"), {"by": [], "perhaps": ["bob", "cid"]}),
        (("ann",), ("bob",), {"by": ["ann"], "perhaps": ["bob"]}),
    ],
)
def test_a_state_tells_who_has_it_and_who_perhaps_does(
    by: tuple[str, ...], perhaps: tuple[str, ...], expected: dict[str, list[str]]
) -> None:
    told = json.loads(json_line(NodeEvent("lobby", 1, StateChanged("m1", AckState.ACKED, by, 0, None, perhaps))))
    assert {name: told[name] for name in ("by", "perhaps") if name in told} == expected
