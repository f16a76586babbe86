"""The processes of a reference and an answer: their jobs, confinement, and what they say."""
