"""The commands of `sdschat pipeline`."""
