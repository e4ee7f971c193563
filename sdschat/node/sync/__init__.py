"""Pairwise synchronisation beside the channel: history by comparison, and direct messages."""
