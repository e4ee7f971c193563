"""Where rows come from: profile databases, exported journals, recorded packets. Plain Python, so that the comparison
without Spark and Spark's own readers say the same."""
