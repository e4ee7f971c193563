"""Tools around a node: local groups, fault injection, salvage."""
