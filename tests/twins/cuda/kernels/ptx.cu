// Inline PTX as real code has it; each kernel writes what tests/twins/cuda/test_ptx.py works out too.
#include <cuda_fp16.h>
#include <stdint.h>

extern "C" int allocate(void** memory, size_t bytes) {
  const cudaError_t error = cudaMallocManaged(memory, bytes);
  return error != cudaSuccess ? error : cudaMemset(*memory, 0, bytes);
}
extern "C" int release(void* memory) { return cudaFree(memory); }

__device__ __forceinline__ unsigned lane_id() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// The old form of a macro, with an operator in the text.
#define TWO(name, instruction, letter, type)                                     \
  __device__ type name(type a, type b) {                                         \
    type result;                                                                 \
    asm(instruction " %0, %1, %2;" : "=" letter(result) : letter(a), letter(b)); \
    return result;                                                               \
  }
TWO(add_f32, "add.rz.f32", "f", float)
TWO(mul_hi, "mul.hi.s32", "r", int)
TWO(shift, "shr.s32", "r", int)
TWO(largest, "max.u64", "l", unsigned long long)

__global__ void whole_numbers(const unsigned* a, const unsigned* b, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned r[12];
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r[0]) : "r"(a[i]), "r"(b[i]), "r"(0x0f0f0f0fu));
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r[1]) : "r"(a[i]), "r"(b[i]), "r"(0x5140u));
  asm("bfe.u32 %0, %1, 5, 9;" : "=r"(r[2]) : "r"(a[i]));
  asm("bfe.s32 %0, %1, 5, 9;" : "=r"(r[3]) : "r"(a[i]));
  asm("bfi.b32 %0, %1, %2, 8, 4;" : "=r"(r[4]) : "r"(a[i]), "r"(b[i]));
  r[5] = static_cast<unsigned>(mul_hi(static_cast<int>(a[i]), static_cast<int>(b[i])));
  r[6] = static_cast<unsigned>(shift(static_cast<int>(a[i]), 7));
  asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(r[7]) : "r"(a[i]), "r"(b[i]), "r"(13));
  asm("{\n\t.reg .pred p;\n\tsetp.lt.u32 p, %1, %2;\n\tselp.u32 %0, 1, 2, p;\n\t@p add.u32 %0, %0, 10;\n}"
      : "=r"(r[8])
      : "r"(a[i]), "r"(b[i]));
  // A sum of 64 bits from two of 32.
  asm("add.cc.u32 %0, %2, %3; addc.u32 %1, 0, 0;" : "=r"(r[9]), "=r"(r[10]) : "r"(a[i]), "r"(b[i]));
  asm("popc.b32 %0, %1;" : "=r"(r[11]) : "r"(a[i]));
  for (int k = 0; k < 12; ++k) out[12 * i + k] = r[k];
}
extern "C" int run_whole_numbers(const unsigned* a, const unsigned* b, unsigned* out, int n) {
  whole_numbers<<<(n + 63) / 64, 64>>>(a, b, out, n);
  return cudaDeviceSynchronize();
}

// Loads and stores with hints, vectors, addresses of shared memory, a loop, and cp.async.
__global__ void moves(const float4* from, float4* to, float* sums) {
  __shared__ float4 tile[32];
  const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(tile + threadIdx.x));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(shared), "l"(from + threadIdx.x));
  asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;\n" ::);
  asm volatile("bar.sync 0;" ::: "memory");
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(shared));
  asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to + threadIdx.x), "f"(v.w), "f"(v.z), "f"(v.y),
               "f"(v.x)
               : "memory");
  float total = 0;
  asm volatile(
      "{\n"
      "  .reg .u32 n; .reg .u64 p; .reg .f32 x; .reg .pred more;\n"
      "  mov.u32 n, 0; mov.u64 p, %1;\n"
      "again:\n"
      "  ld.global.nc.f32 x, [p+4];\n"
      "  add.f32 %0, %0, x;\n"
      "  add.u64 p, p, 16; add.u32 n, n, 1;\n"
      "  setp.lt.u32 more, n, 32;\n"
      "  @more bra again;\n"
      "}"
      : "+f"(total)
      : "l"(from));
  if (threadIdx.x == 0) asm volatile("red.global.add.f32 [%0], %1;" ::"l"(sums), "f"(total) : "memory");
}
extern "C" int run_moves(const float4* from, float4* to, float* sums) {
  moves<<<1, 32>>>(from, to, sums);
  return cudaDeviceSynchronize();
}

__global__ void lanes(const int* values, int* out) {
  const unsigned lane = lane_id();
  int up, found;
  unsigned ballot, total;
  asm volatile(
      "{ .reg .pred p; .reg .s32 r; shfl.sync.up.b32 r|p, %1, 3, 0, 0xffffffff; @!p mov.s32 r, -1; mov.s32 %0, r; }"
      : "=r"(up)
      : "r"(values[lane]));
  asm volatile("{ .reg .pred p; setp.gt.s32 p, %1, 5; vote.sync.ballot.b32 %0, p, -1; }"
               : "=r"(ballot)
               : "r"(values[lane]));
  asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(found) : "r"(values[lane] & 3));
  asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(total) : "r"(values[lane]));
  out[lane] = up;
  out[32 + lane] = static_cast<int>(ballot);
  out[64 + lane] = found;
  out[96 + lane] = static_cast<int>(total);
}
extern "C" int run_lanes(const int* values, int* out) {
  lanes<<<1, 32>>>(values, out);
  return cudaDeviceSynchronize();
}

// A 16 x 16 by 16 x 8 product on tensor cores, its fragments from ldmatrix.
__global__ void product(const __half* a, const __half* b, float* d) {
  __shared__ __align__(16) __half as[16 * 16], bs[16 * 8];
  for (int i = threadIdx.x; i < 256; i += 32) as[i] = a[i];
  for (int i = threadIdx.x; i < 128; i += 32) bs[i] = b[i];
  __syncthreads();
  const unsigned lane = lane_id();
  unsigned fa[4], fb[2];
  const unsigned from_a = static_cast<unsigned>(__cvta_generic_to_shared(as + lane % 16 * 16 + lane / 16 * 8));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
               : "r"(from_a));
  const unsigned from_b = static_cast<unsigned>(__cvta_generic_to_shared(bs + lane % 16 * 8));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(fb[0]), "=r"(fb[1])
               : "r"(from_b));
  float c[4] = {1, 1, 1, 1};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
  for (int i = 0; i < 4; ++i) d[(lane / 4 + 8 * (i / 2)) * 8 + lane % 4 * 2 + i % 2] = c[i];
}
extern "C" int run_product(const __half* a, const __half* b, float* d) {
  product<<<1, 32>>>(a, b, d);
  return cudaDeviceSynchronize();
}

__global__ void numbers(const float* x, float* out, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  float rounded;
  int whole;
  unsigned pair;
  asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(whole) : "f"(x[i]));
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(x[i]), "f"(-x[i]));
  asm("fma.rn.f32 %0, %1, %1, 0f3F800000;" : "=f"(rounded) : "f"(x[i]));
  out[i] = static_cast<float>(whole);
  out[n + i] = __half2float(*reinterpret_cast<__half*>(&pair));
  out[2 * n + i] = rounded;
  out[3 * n + i] = add_f32(x[i], 1e-9f);
  unsigned long long larger = largest(static_cast<unsigned long long>(i), 3);
  out[4 * n + i] = static_cast<float>(larger);
}
extern "C" int run_numbers(const float* x, float* out, int n) {
  numbers<<<1, 32>>>(x, out, n);
  return cudaDeviceSynchronize();
}

__global__ void too_far(float* x) { asm volatile("st.global.f32 [%0], 0f00000000;" ::"l"(x + 4) : "memory"); }
extern "C" int run_too_far(float* x) {
  too_far<<<1, 1>>>(x);
  return cudaDeviceSynchronize();
}

// What only the running program knows; a GPU's assembler would not take it at all.
#ifdef ON_GPU
#define UNKNOWN ""
#else
#define UNKNOWN \
  "wgmma"       \
  ".fence;"
#endif
__global__ void unknown() { asm volatile(UNKNOWN); }
extern "C" int run_unknown() {
  unknown<<<1, 1>>>();
  return cudaDeviceSynchronize();
}
