"""Mutation testing: small mistakes put into the code one at a time, to find those that no test notices: `python -m
tests.mutation`."""
