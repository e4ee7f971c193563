"""Many real processes for a long time, with faults and restarts: `python -m tests.soak --minutes 10 --nodes 8`."""
