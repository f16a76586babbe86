// Replaces the PyTorch header, which declares thousands of operators that this code never calls by their C++ names.
#ifndef OPBRIDGE_TORCH_DEVICE_SLIM_ATEN_OPERATORS_H
#define OPBRIDGE_TORCH_DEVICE_SLIM_ATEN_OPERATORS_H

#include <ATen/core/Tensor.h>

#endif
