"""One channel of a node: its session, content, presence, extensions, and what is saved each turn."""
