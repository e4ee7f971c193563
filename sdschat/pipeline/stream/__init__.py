"""Streaming of arriving segments. The tables are always as if all segments had been ingested at once."""
