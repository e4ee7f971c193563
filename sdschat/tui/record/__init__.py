"""A recording in the chat itself: played, stepped through, and gone back in."""
