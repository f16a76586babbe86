"""What the planted relu that swallows NaN should give."""

from __future__ import annotations

from typing import Any

import numpy as np


def relu(x: Any) -> Any:
    return np.maximum(x, 0)
