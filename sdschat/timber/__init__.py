"""Timber: an operation log of a committee, with checkpoints behind which only the state is kept, without I/O."""
