"""The terminal application: what people see and type. Knows the node, and nothing below it."""
