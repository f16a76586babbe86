"""From the source of a kernel to a library in the cache."""
