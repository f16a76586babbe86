// Local arrays that are read only where they have been written, by all the ways in which code writes them.
#ifndef LOCAL_ARRAYS_CUH
#define LOCAL_ARRAYS_CUH

namespace local_arrays {

__device__ void count_up(float* v, int n) {
  for (int i = 0; i < n; ++i) v[i] = static_cast<float>(i);
}

template <int kMost>
__global__ void written_in_part(const float* in, float* out, int n) {
  float above[kMost], last[1];
  int found = 0;
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    if (in[i] > 0) above[found++] = in[i];
    if (i > 0) sum += last[0];
    last[0] = in[i];
  }
  for (int i = 0; i < found; ++i) sum += above[i];
  out[threadIdx.x] = sum;
}

// Elements that nobody has written yet move on with the others.
__global__ void inserted(const float* in, float* out, int n) {
  float largest[4];
  for (int i = 0; i < n; ++i) {
    for (int j = 3; j > 0; --j) largest[j] = largest[j - 1];
    largest[0] = in[i];
  }
  out[threadIdx.x] = largest[0];
}

__global__ void by_pointers(float* out, int n) {
  alignas(16) float wide[4];
  *reinterpret_cast<float4*>(wide) = make_float4(1, 2, 3, 4);
  float turned[2];
  sincosf(wide[n % 4], &turned[0], &turned[1]);
  int exponent[1];
  const float fraction = frexpf(turned[1], exponent);
  unsigned moved[4];
  asm volatile("mov.u32 %0, 5;" : "=r"(moved[2]));
  float2 pairs[2];
  pairs[0].x = fraction;
  pairs[1] = pairs[0];
  float rows[2][3] = {{1, 2, 3}, {4, 5, 6}};
  count_up(rows[1], 3);
  char zeros[16];
  memset(zeros, 0, sizeof zeros);
  union {
    float number;
    unsigned bits;
  } either[2];
  either[0].number = pairs[1].x;
  out[threadIdx.x] = static_cast<float>((either[0].bits & 1) + moved[2] + zeros[n % 16]) + rows[1][2] +
                     static_cast<float>(exponent[0]) + turned[0];
}

__global__ void in_switch(float* out, int n) {
  switch (n) {
    case 1: {
      float one[2];
      count_up(one, 2);
      out[threadIdx.x] = one[1];
      break;
    }
    default:
      float two[2];
      count_up(two, 2);
      out[threadIdx.x] = two[1];
    case 9:
      out[threadIdx.x] += 1;
  }
}

inline void run(float* x, float* y) {
  written_in_part<8><<<1, 64>>>(x, y, 8);
  inserted<<<1, 64>>>(x, y, 3);
  by_pointers<<<1, 64>>>(y, 3);
  in_switch<<<1, 64>>>(y, 3);
}

}  // namespace local_arrays

#endif
