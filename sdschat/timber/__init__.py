"""Timber: an operation log of a committee, with checkpoints behind which only the state is kept, without I/O.

`TimberEngine` (`engine.py`) is the interface. Give it received messages (`receive`), and what is said, changed and
taken back (`say`, `edit`, `delete`, `invite`, `leave`); call `advance` at the time that `next_wake` returns; after each
of these, carry out the result of `take`: the writes in one transaction, then the packets, then the events.
"""
