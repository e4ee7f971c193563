"""Golden files: the output of the commands, the JSON lines and the journal rows, as they must stay."""
