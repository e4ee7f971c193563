"""Consolidation, audit and figures in plain Python: what `sdschat audit` runs, and what Spark's answers are held to."""
