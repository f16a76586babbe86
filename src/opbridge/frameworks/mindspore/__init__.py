"""Operators in MindSpore."""
