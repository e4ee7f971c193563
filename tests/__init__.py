"""Tests, benchmarks and the other implementations that they hold this one against."""
