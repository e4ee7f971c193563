"""Bloom filters: our own compact format, and the fixed one that peers written in TypeScript speak."""
