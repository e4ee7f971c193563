"""Private channels: keys, members, and the operations that change them."""
