"""The content of the screen as plain values. Nothing here uses Textual, so all of it can be tested alone."""
