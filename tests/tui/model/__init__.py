"""Tests of what is on the screen as plain values: no terminal, no Textual."""
