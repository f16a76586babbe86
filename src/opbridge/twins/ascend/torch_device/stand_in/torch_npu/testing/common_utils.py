"""The stand-in for the torch_npu module of this name."""

from opbridge.twins.ascend.torch_device.conditions_for_tests import (
    SkipIfNoLapack,
    SkipIfNotGteCANNVersion,
    SkipIfNotRegistered,
    SupportedDevices,
)
from opbridge.twins.ascend.torch_device.tensors_for_tests import (
    check_operators_in_prof,
    create_common_tensor,
    create_dtype_tensor,
    freeze_rng_state,
    get_npu_device,
    is_iterable,
    iter_indices,
    set_npu_device,
    test_2args_broadcast,
)

__all__ = [
    "SkipIfNoLapack",
    "SkipIfNotGteCANNVersion",
    "SkipIfNotRegistered",
    "SupportedDevices",
    "check_operators_in_prof",
    "create_common_tensor",
    "create_dtype_tensor",
    "freeze_rng_state",
    "get_npu_device",
    "is_iterable",
    "iter_indices",
    "set_npu_device",
    "test_2args_broadcast",
]
