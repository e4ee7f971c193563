"""Authorship of messages: keys, signatures, sealing, and the nicks that a key may use."""
