"""Bytes of every format of our own, and of two other implementations, so that no change alters them by accident.

Files of our own formats are written by `python -m tests.vectors.make` from the short code in `plain`, a second
implementation that uses neither sdschat nor any package. The tests compare both with the files.
"""
