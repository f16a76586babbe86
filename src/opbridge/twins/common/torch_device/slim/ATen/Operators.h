// In the place of PyTorch's, whose thousands of operators nobody here calls by their C++ names.
#pragma once

#include <ATen/core/Tensor.h>
