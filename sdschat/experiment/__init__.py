"""Simulated groups: how they fare, by the engine and by a model of it."""
