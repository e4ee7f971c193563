"""Bytes to protocol values and back. Malformed packets are refused here, before anything changes."""
