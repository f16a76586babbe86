"""A task: its format, sizes, inputs, and what it takes to run it."""
