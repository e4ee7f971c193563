"""Column types."""

Ids = tuple[str, ...]
Blob = bytes  # an alias, because some tables have a column with the name `bytes`
