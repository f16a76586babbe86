"""Compare operators with references, in values and in time, and report the results."""
