"""A second implementation of the formats in plain Python: slow, short, and without code of sdschat or of a package."""
