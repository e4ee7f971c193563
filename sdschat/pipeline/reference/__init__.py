"""The figures in plain Python: for `sdschat audit --report`, and as the reference for Spark's results."""
