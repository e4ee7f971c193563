"""Conversations: text files that say what happens and what every engine made of it."""
