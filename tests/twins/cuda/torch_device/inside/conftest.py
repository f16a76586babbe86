"""These tests run in a process of their own, which has the device for good."""

from __future__ import annotations

import opbridge.cuda_twin  # noqa: F401 - registers the device
