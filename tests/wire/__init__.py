"""Tests of the bytes on the wire."""
