"""Every rule of the specification with a keyword, on real engines."""
