"""Other implementations, as peers in tests and benchmarks."""
