"""The formats said a second time, in plain Python: slow, short, and without any code of sdschat or of a package."""
