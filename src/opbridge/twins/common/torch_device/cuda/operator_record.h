// Tells the CUDA twin of every operator that PyTorch calls, for its record of who computes what.
#ifndef OPBRIDGE_TORCH_DEVICE_CUDA_OPERATOR_RECORD_H
#define OPBRIDGE_TORCH_DEVICE_CUDA_OPERATOR_RECORD_H

#include <stdint.h>

namespace opbridge::simulated {

// From now on, on every thread and on every device, whatever modes of Python and guards of the dispatcher say.
// The twin has two functions that receive them, at these addresses.
void record_operators(uintptr_t of_operators, uintptr_t of_copies);

// Calls an operator without elements, below all modes: a record that does not have it has missed others, too.
void call_an_operator();

}  // namespace opbridge::simulated

#endif
