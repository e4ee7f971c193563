"""Members' channels: the engine of Timber on the node."""
