"""The program as people start it: real processes, real brokers."""
