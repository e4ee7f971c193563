"""Other implementations, as partners of tests and benchmarks."""
