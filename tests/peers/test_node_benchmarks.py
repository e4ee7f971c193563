"""The benchmark of the TypeScript implementation measures only messages that it accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peers.node_peer import run_script
from tests.peers.packets import conversation, encoded, write_packets


@pytest.fixture
def packets(tmp_path: Path) -> Path:
    path = tmp_path / "packets"
    write_packets(path, encoded(conversation(60)))
    return path


def test_receiving(packets: Path) -> None:
    result = run_script("bench_receive.mjs", packets, 40)
    assert result["history"] == result["preloaded"] == 40
    assert result["received"] == result["delivered"] == 20
    assert (result["missing"], result["errors"]) == (0, 0)
    assert result["seconds"] > 0
    assert result["seconds_decoded"] > 0


def test_sending(packets: Path) -> None:
    result = run_script("bench_send.mjs", packets, 40, 10)
    assert (result["preloaded"], result["sent"], result["errors"]) == (40, 10, 0)
    assert result["bytes"] > 10 * 18_752
    assert result["seconds"] > 0


def test_wrong_use_is_told(packets: Path) -> None:
    with pytest.raises(RuntimeError, match="usage"):
        run_script("bench_receive.mjs", packets, "many")
    with pytest.raises(RuntimeError, match="too few"):
        run_script("bench_receive.mjs", packets, 60)
