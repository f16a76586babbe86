"""Holds operators against references, in values and in time, and shows what was found."""
