"""The read-only view of a node that an interface draws."""
