"""The bytes on the wire."""
