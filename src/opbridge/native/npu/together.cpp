// What is compiled as one: PyTorch's headers take longer than all of these files, and are read once for them.
#include "device.cpp"
#include "fallback.cpp"
#include "kernels.cpp"
#include "lent_tensors.cpp"
#include "memory.cpp"
#include "module.cpp"
#include "recurrent.cpp"
