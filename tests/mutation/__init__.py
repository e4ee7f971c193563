"""Small mistakes put into the code one at a time, to see which of them no test notices: `python -m tests.mutation`."""
