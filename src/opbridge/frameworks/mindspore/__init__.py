"""Call operators from MindSpore."""
