"""Who wrote a message: keys, signatures, sealing, and what a name may claim."""
