"""Bytes to protocol values and back. What is malformed is refused here, before anything changes."""
