"""Consolidation, audit and figures in plain Python: for `sdschat audit`, and as the reference for Spark's results."""
