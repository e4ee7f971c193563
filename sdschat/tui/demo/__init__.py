"""A channel to watch: several nodes that talk and fail by script."""
