"""Private channels without I/O: links, operations, the roster of members, and the secrets of epochs."""
