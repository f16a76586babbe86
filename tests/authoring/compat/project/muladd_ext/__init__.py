import torch  # noqa: F401, its libraries come before _C, which needs them

from . import _C, ops

__all__ = ["_C", "ops"]
