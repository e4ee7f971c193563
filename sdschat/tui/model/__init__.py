"""What is on the screen, as plain values: nothing in here knows Textual, so all of it can be tested alone."""
