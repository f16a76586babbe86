// PyTorch's kernels for the CPU as the device's.
#ifndef OPBRIDGE_TORCH_DEVICE_FALLBACK_H
#define OPBRIDGE_TORCH_DEVICE_FALLBACK_H

namespace opbridge::simulated {

// Of each of PyTorch's operators that has one, which then goes before what the operator is composed of: it is as fast,
// and its results are the same, as on the CPU.  Whatever is registered later comes here by the fallback.
void take_kernels_of_cpu();

}  // namespace opbridge::simulated

#endif
