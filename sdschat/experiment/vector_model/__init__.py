"""The rules of the engine over arrays of participants: for groups too large to step through packet by packet.

Each decision that the production engine makes for one participant is made here for all participants at once, for the
few messages that are followed. Times are quantised. Hashes are drawn at random where the engine computes them. Packets
that arrive in one step are lost independently, but are otherwise treated alike. `compare.py` measures the effect of
this on the figures.
"""
