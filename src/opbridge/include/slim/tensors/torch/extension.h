/* Stands before PyTorch's header of this name: tensors, every operator on them and the registration of new ones,
 * without the C++ modules, optimizers and Python bindings that take most of the time to compile.  A source that needs
 * those is compiled with PyTorch's own.
 */
#ifndef OPBRIDGE_SLIM_TORCH_EXTENSION_H
#define OPBRIDGE_SLIM_TORCH_EXTENSION_H

#include <ATen/Parallel.h>
#include <torch/library.h>
#include <torch/types.h>
#include <torch/version.h>

#endif
