"""Tests of the program as users start it: real processes, real brokers."""
