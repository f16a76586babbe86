/* Stands before PyTorch's header of this name, for modules of Python: what slim/tensors has, bindings, and functions
 * with a gradient.  A source that needs the C++ modules or optimizers is compiled with PyTorch's own.
 */
#ifndef OPBRIDGE_SLIM_TORCH_EXTENSION_H
#define OPBRIDGE_SLIM_TORCH_EXTENSION_H

#include <ATen/Parallel.h>
#include <torch/autograd.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/python_numbers.h>
#include <torch/library.h>
#include <torch/types.h>
#include <torch/version.h>

#endif
