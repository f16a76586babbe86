"""The content-addressed cache of builds and values: one private to the user, optionally one shared by machines."""

from __future__ import annotations

from opbridge.build.cache.store import Build, Cache, CacheEntry, Dependencies, Key, KeyBuilder, StoredEntry

__all__ = ["Build", "Cache", "CacheEntry", "Dependencies", "Key", "KeyBuilder", "StoredEntry"]
