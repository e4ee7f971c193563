"""The lake: its tables, and the engines that answer questions about them in SQL."""
