"""Small mistakes put into the code one at a time: which of them does no test notice? `python -m tests.mutation`."""
