"""The rules of the engine over arrays of participants: for groups too large to step through packet by packet.

The README says what is not exact in them, and `grid/compare.py` measures its effect on the figures.
"""
