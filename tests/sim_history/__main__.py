"""Groups with Stores, direct messages, joiners and month-long absences: `python -m tests.sim_history --seeds N`."""

from __future__ import annotations

from sdschat.sim.history_run import main
from tests.sim_history.world import StoreWorld

if __name__ == "__main__":
    raise SystemExit(main(StoreWorld))
