"""The content-addressed cache: builds and values that were made once, of this user and shared by many machines."""

from __future__ import annotations

from opbridge.cache.store import Build, Cache, CacheEntry, Dependencies, Key, KeyBuilder, StoredEntry

__all__ = ["Build", "Cache", "CacheEntry", "Dependencies", "Key", "KeyBuilder", "StoredEntry"]
