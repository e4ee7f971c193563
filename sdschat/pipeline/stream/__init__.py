"""Segments that arrive, into tables that are always as if everything had been taken in at once."""
