"""Nodes on a network in memory and on real brokers."""
