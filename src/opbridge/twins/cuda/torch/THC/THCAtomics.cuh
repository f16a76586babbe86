// The older name of <ATen/cuda/Atomic.cuh>.
#include <ATen/cuda/Atomic.cuh>
