"""What the twins of several devices share."""
