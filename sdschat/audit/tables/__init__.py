"""The tables of the lake, in layers from raw to refined. `sdschat.audit.schemas` has them all."""

Ids = tuple[str, ...]
Blob = bytes  # an alias, because some tables have a column with the name `bytes`
