"""How operators come into a program and leave for other programs."""
