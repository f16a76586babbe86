"""What an operator is: its schema, its rules and formulas, its manifest, and the object that a user holds."""
