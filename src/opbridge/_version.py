"""The only place that defines the version."""

__version__ = "0.1.0"
