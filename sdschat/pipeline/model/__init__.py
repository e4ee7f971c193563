"""The rules of the engine over arrays of participants: groups too large to step through packet by packet.

What the production engine decides for one participant is decided here for all at once, for the few messages that are
followed. Times are quantised, hashes are drawn at random where the engine computes them, and packets that arrive in
one step are lost independently but not told apart further; `compare.py` measures what that does to the figures.
"""
