// The threads that PyTorch computes gradients of a device with, one for each, as long as the process lives.
#ifndef OPBRIDGE_TORCH_DEVICE_GRADIENTS_H
#define OPBRIDGE_TORCH_DEVICE_GRADIENTS_H

namespace opbridge::simulated {

// Returns when each has let go of its last backward pass, whose caller goes on before.
void await_gradients();

}  // namespace opbridge::simulated

#endif
