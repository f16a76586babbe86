/* The same kernel behind the plainest C call, for ctypes. */
#include <stdint.h>

void leaky_relu(const float* x, float* out, int64_t n, double slope) {
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] > 0 ? x[i] : x[i] * (float)slope;
}
