"""A world of many nodes in one process: one seed, no real time, the production engine, codec and store."""
