"""Asking Store nodes for history, and judging their answers."""
