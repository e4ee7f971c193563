"""Bloom filters: our own compact layout, and the fixed one that peers written in TypeScript speak."""
