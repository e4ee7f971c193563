"""Group chat in a terminal that does not lose messages, and does not lie about it."""

__version__ = "0.1.0"
