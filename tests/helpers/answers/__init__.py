"""Answers to tasks of several kinds for tests of the judge: attacks, and honest ones that do unusual things."""
