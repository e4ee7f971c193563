"""Serving history as a Store node."""
