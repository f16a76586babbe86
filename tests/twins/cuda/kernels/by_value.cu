// Structures that compilers copy and clear by calls of memcpy and memset, from a size on that depends on the processor.

template <int kBytes>
struct Bytes {
  unsigned char at[kBytes];
};

template <int kBytes>
__device__ Bytes<kBytes> plus_one(Bytes<kBytes> given) {
  for (int i = 0; i < kBytes; ++i) ++given.at[i];
  return given;
}

// A parameter, a result, and what is in local, shared and global memory, each assigned as a whole.
template <int kBytes>
__global__ void through_every_memory(Bytes<kBytes> given, Bytes<kBytes>* out) {
  __shared__ Bytes<kBytes> shared[3];
  Bytes<kBytes> own = {};
  if (threadIdx.x % 2 == 0) own = plus_one(given);
  shared[threadIdx.x] = own;
  __syncthreads();
  Bytes<kBytes> neighbour = shared[(threadIdx.x + 1) % 3];
  __syncthreads();
  neighbour.at[kBytes - 1] ^= 1;
  out[blockIdx.x * blockDim.x + threadIdx.x] = neighbour;
}

// 0 where all is as it should be, or the CUDA error, or -1 for a wrong byte.
template <int kBytes>
static int every_memory() {
  constexpr int kBlocks = 3, kThreads = 3;
  Bytes<kBytes> given, found[kBlocks * kThreads], *out;
  for (int i = 0; i < kBytes; ++i) given.at[i] = static_cast<unsigned char>(i);
  cudaMalloc(&out, sizeof found);
  through_every_memory<<<kBlocks, kThreads>>>(given, out);
  const cudaError_t error = cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost);
  cudaFree(out);
  if (error != cudaSuccess) return error;
  for (int element = 0; element < kBlocks * kThreads; ++element) {
    const int of = (element % kThreads + 1) % 3;
    for (int i = 0; i < kBytes; ++i) {
      const int expected = (of % 2 == 0 ? i + 1 : 0) ^ (i == kBytes - 1 ? 1 : 0);
      if (found[element].at[i] != static_cast<unsigned char>(expected)) return -1;
    }
  }
  return 0;
}

extern "C" int structures() {
  for (const int error :
       {every_memory<1>(), every_memory<64>(), every_memory<128>(), every_memory<129>(), every_memory<136>(),
        every_memory<255>(), every_memory<257>(), every_memory<4000>(), every_memory<8192>(), every_memory<9001>()}) {
    if (error != 0) return error;
  }
  return 0;
}

// One element too many, of a size that is copied by a call and of one that is not.
template <int kBytes>
__global__ void copy(const Bytes<kBytes>* from, Bytes<kBytes>* to) {
  to[threadIdx.x] = from[threadIdx.x];
}

template <int kBytes>
static int copies(int threads) {
  Bytes<kBytes>*from, *to;
  cudaMalloc(&from, 2 * kBytes);
  cudaMalloc(&to, 3 * kBytes);
  cudaMemset(from, 0, 2 * kBytes);
  copy<<<1, threads>>>(from, to);
  const int error = cudaDeviceSynchronize();
  cudaDeviceReset();
  return error;
}
extern "C" int little_copies(int threads) { return copies<16>(threads); }
extern "C" int large_copies(int threads) { return copies<4000>(threads); }

// Two threads assign the same structure.
template <int kBytes>
__global__ void assign(Bytes<kBytes> given, Bytes<kBytes>* to) {
  given.at[0] = static_cast<unsigned char>(threadIdx.x);
  to[threadIdx.x / 2] = given;
}

template <int kBytes>
static int assignments(int threads) {
  Bytes<kBytes> given = {}, *to;
  cudaMalloc(&to, sizeof given);
  assign<<<1, threads>>>(given, to);
  const int error = cudaDeviceSynchronize();
  cudaDeviceReset();
  return error;
}
extern "C" int little_assignments(int threads) { return assignments<16>(threads); }
extern "C" int large_assignments(int threads) { return assignments<4000>(threads); }
