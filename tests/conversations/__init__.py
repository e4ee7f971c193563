"""Conversations: text files of commands and of the lines that the engines must answer. README.md has the language."""
