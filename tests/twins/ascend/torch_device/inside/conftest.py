"""Not collected with the other tests: these files run one to a process, with the device registered."""

from __future__ import annotations

from hypothesis import settings

import opbridge.npu  # noqa: F401 - registers the device

settings.register_profile("same examples", derandomize=True, deadline=None)
settings.load_profile("same examples")
