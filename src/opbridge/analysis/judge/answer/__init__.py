"""An answer: its format, text and submission, and how its model is loaded."""
