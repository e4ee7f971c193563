"""Types of columns."""

Ids = tuple[str, ...]
Blob = bytes  # some tables have a column of the name `bytes`
