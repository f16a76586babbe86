// In the place of PyTorch's, whose thousands of operators nobody here calls by their C++ names.
#ifndef OPBRIDGE_TORCH_DEVICE_SLIM_ATEN_NATIVEFUNCTIONS_H
#define OPBRIDGE_TORCH_DEVICE_SLIM_ATEN_NATIVEFUNCTIONS_H

#include <ATen/core/Tensor.h>

#endif
