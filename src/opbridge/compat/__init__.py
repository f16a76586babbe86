"""Modules under the names of others', for code that is to change one import and nothing else."""
