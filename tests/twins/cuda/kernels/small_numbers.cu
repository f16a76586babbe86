// FP8, FP6, FP4 and the functions for dynamic programming, for test_small_numbers.py.
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

template <class Fp8>
__global__ void narrow(const float* values, unsigned char* bits, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) bits[i] = Fp8(values[i]).__x;
}

__global__ void narrow_without_saturation(const float* values, unsigned char* bits, int n, bool e5m2) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) bits[i] = __nv_cvt_float_to_fp8(values[i], __NV_NOSAT, e5m2 ? __NV_E5M2 : __NV_E4M3);
}

__global__ void widen(float* values, bool e5m2) {
  __nv_fp8_e4m3 narrow;
  narrow.__x = threadIdx.x;
  __nv_fp8_e5m2 wide;
  wide.__x = threadIdx.x;
  values[threadIdx.x] = e5m2 ? float(wide) : float(narrow);
}

// Four values, as pairs and as one, there and back.
__global__ void together(const float4* values, float4* back) {
  const float4 v = *values;
  const __nv_fp8x2_e5m2 low(float2{v.x, v.y});
  const float2 one(low);
  const __half2 halves(__half2(__nv_fp8x2_e5m2(__half2(v.z, v.w))));
  back[0] = {one.x, one.y, float(halves.x), float(halves.y)};
  back[1] = float4(__nv_fp8x4_e4m3(v));
}

__global__ void narrow_to_four_bits(const float* values, unsigned char* nearest, unsigned char* to_zero, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  nearest[i] = __nv_fp4_e2m1(values[i]).__x;
  to_zero[i] = __nv_cvt_float_to_fp4(values[i], __NV_E2M1, cudaRoundZero);
}

__global__ void four_of_four_bits(const float4* values, float4* back, unsigned short* bits) {
  const __nv_fp4x4_e2m1 all(*values);
  *bits = all.__x;
  const __half2 halves(__nv_fp4x2_e2m1(float2{values->z, values->w}));
  back[0] = float4(all);
  back[1] = {float(halves.x), float(halves.y), 0, 0};
}

template <class Fp6>
__global__ void narrow_to_six_bits(const float* values, unsigned char* nearest, unsigned char* to_zero, float* back,
                                   __nv_fp6_interpretation_t kind, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  nearest[i] = Fp6(values[i]).__x;
  to_zero[i] = __nv_cvt_float_to_fp6(values[i], kind, cudaRoundZero);
  back[i] = float(Fp6(values[i]));
}

__global__ void four_of_six_bits(const float4* values, float4* back, unsigned* bits) {
  const __nv_fp6x4_e2m3 all(*values);
  *bits = all.__x;
  const __half2 halves(__nv_fp6x2_e3m2(float2{values->z, values->w}));
  back[0] = float4(all);
  back[1] = {float(halves.x), float(halves.y), 0, 0};
}

__global__ void dynamic_programming(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned x = a[i], y = b[i], z = c[i];
  bool high, low, first;
  out[i] = __viaddmax_s16x2_relu(x, y, z);
  out[n + i] = __viaddmin_u32(x, y, z);
  out[2 * n + i] = __vimax3_u16x2(x, y, z);
  out[3 * n + i] = __vimin3_s32_relu(x, y, z);
  out[4 * n + i] = __vimin_s16x2_relu(x, y);
  out[5 * n + i] = __vibmax_s16x2(x, y, &high, &low);
  out[6 * n + i] = high * 2 + low;
  out[7 * n + i] = __vibmin_s32(x, y, &first);
  out[8 * n + i] = first;
}

extern "C" int narrowed(const float* values, unsigned char* bits, int n, int e5m2, int saturate) {
  if (!saturate) {
    narrow_without_saturation<<<(n + 63) / 64, 64>>>(values, bits, n, e5m2);
  } else if (e5m2) {
    narrow<__nv_fp8_e5m2><<<(n + 63) / 64, 64>>>(values, bits, n);
  } else {
    narrow<__nv_fp8_e4m3><<<(n + 63) / 64, 64>>>(values, bits, n);
  }
  return cudaGetLastError();
}
extern "C" int widened(float* values, int e5m2) {
  widen<<<1, 256>>>(values, e5m2);
  return cudaGetLastError();
}
extern "C" int four(const float4* values, float4* back) {
  together<<<1, 1>>>(values, back);
  return cudaGetLastError();
}
extern "C" int programmed(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out, int n) {
  dynamic_programming<<<(n + 63) / 64, 64>>>(a, b, c, out, n);
  return cudaGetLastError();
}
extern "C" int narrowed_to_four_bits(const float* values, unsigned char* nearest, unsigned char* to_zero, int n) {
  narrow_to_four_bits<<<(n + 63) / 64, 64>>>(values, nearest, to_zero, n);
  return cudaGetLastError();
}
extern "C" int four_halves_of_bytes(const float4* values, float4* back, unsigned short* bits) {
  four_of_four_bits<<<1, 1>>>(values, back, bits);
  return cudaGetLastError();
}
extern "C" int narrowed_to_six_bits(const float* values, unsigned char* nearest, unsigned char* to_zero, float* back,
                                    int n, int e3m2) {
  const auto kernel = e3m2 ? narrow_to_six_bits<__nv_fp6_e3m2> : narrow_to_six_bits<__nv_fp6_e2m3>;
  kernel<<<(n + 63) / 64, 64>>>(values, nearest, to_zero, back, e3m2 ? __NV_E3M2 : __NV_E2M3, n);
  return cudaGetLastError();
}
extern "C" int four_of_six_bits_each(const float4* values, float4* back, unsigned* bits) {
  four_of_six_bits<<<1, 1>>>(values, back, bits);
  return cudaGetLastError();
}
