"""Every rule of the specification with a keyword, S-001 to S-087, on real engines."""
