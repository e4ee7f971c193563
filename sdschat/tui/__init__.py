"""The terminal application: the screen and the keyboard. It uses the node, and no module below the node."""
