// __shared__ memory from outside of all functions, and the same names for other things; nothing is included.
#define BLOCK_MEMORY __shared__

extern __shared__ int s[];
BLOCK_MEMORY int t[32];

__device__ int a_variable(int x) {
  int s = x;
  for (int t = 0; t < 2; ++t) s += t;
  return s;
}
__device__ int a_parameter(int s, int* t) { return s + *t; }
__device__ int the_memory() { return s[0] + t[0]; }

struct Member {
  int s, t = 2;
  __device__ int get() const { return s + t; }
};

__global__ void names(Member member, int* out, int dim3, int uint3) {
  BLOCK_MEMORY int u[2], v;
  s[threadIdx.x] = 100;
  t[threadIdx.x] = 20;
  if (threadIdx.x == 0) u[0] = u[1] = v = 3;
  __syncthreads();
  int t = u[1] + v;
  if (threadIdx.x != 0) return;
  out[0] = a_variable(5);
  out[1] = a_parameter(5, &t);
  out[2] = the_memory();
  out[3] = member.get();
  out[5] = dim3 + uint3;
  out[4] = FLT_MAX > 1 && DBL_MAX > 1 && INT_MAX > 1 && SIZE_MAX > 1 && std::max(1, 2) == 2;
  assert(out[4] == 1);
  if (out[4] != 1) printf("%d\n", out[4]);
}

extern "C" int run_names(int* out) {
  int* found;
  cudaMalloc(&found, 6 * sizeof(int));
  names<<<1, 32, 32 * sizeof(int)>>>(Member{1}, found, 7, 8);
  const int error = cudaMemcpy(out, found, 6 * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(found);
  return error;
}
