"""Bytes of every format of our own, and of two other implementations, that a change must not change by accident.

Files of our own formats are written by `python -m tests.vectors.make` from the short code in `plain`, which uses
neither sdschat nor any package: it says the format a second time. The tests hold both against the files.
"""
