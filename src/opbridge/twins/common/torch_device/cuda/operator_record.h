// Tells the CUDA twin of every operator that PyTorch calls, for its record of who computes what.
#ifndef OPBRIDGE_TORCH_DEVICE_CUDA_OPERATOR_RECORD_H
#define OPBRIDGE_TORCH_DEVICE_CUDA_OPERATOR_RECORD_H

namespace opbridge::simulated {

// From now on, on every thread and on every device, whatever modes of Python and guards of the dispatcher say.
void record_operators();

}  // namespace opbridge::simulated

#endif
