"""The encoding of declarations for native adapters; the C++ files here are built into _core and the adapters."""
