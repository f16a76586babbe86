"""A verdict: comparing the answer with the reference, and what the comparison means."""
