"""What every other wing may use: errors and how they are shown, names, files that may be anything."""
