"""Tests of the content of the screen as plain values: no terminal, no Textual."""
