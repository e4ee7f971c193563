"""Recordings of a session, and their replay."""
