"""Modules with the interfaces of other packages, for code that should change only one import."""
