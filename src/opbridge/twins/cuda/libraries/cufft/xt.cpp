// cuFFT's plans with sizes of 64 bits, of which none may be more than plans.cpp takes.
#include <cufftXt.h>

#include <limits>
#include <vector>

namespace {

// The numbers of a call as int, and whether each of them fitted.
struct Narrowed {
  std::vector<int> numbers;
  bool fit = true;

  void add(long long number) {
    fit = fit && number >= 0 && number <= std::numeric_limits<int>::max();
    numbers.push_back(static_cast<int>(number));
  }
  int* part(int rank, const long long* of) {
    if (of == nullptr) return nullptr;
    const size_t first = numbers.size();
    for (int i = 0; i < rank; ++i) add(of[i]);
    return numbers.data() + first;
  }
};

// The combinations of types that are one of the six transforms.
struct Known {
  cudaDataType from, to, computes;
  cufftType type;
};
constexpr Known kKnown[] = {
    {CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUFFT_C2C}, {CUDA_R_32F, CUDA_C_32F, CUDA_C_32F, CUFFT_R2C},
    {CUDA_C_32F, CUDA_R_32F, CUDA_C_32F, CUFFT_C2R}, {CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, CUFFT_Z2Z},
    {CUDA_R_64F, CUDA_C_64F, CUDA_C_64F, CUFFT_D2Z}, {CUDA_C_64F, CUDA_R_64F, CUDA_C_64F, CUFFT_Z2D}};

}  // namespace

cufftResult cufftXtMakePlanMany(cufftHandle handle, int rank, long long* n, long long* inembed, long long istride,
                                long long idist, cudaDataType from, long long* onembed, long long ostride,
                                long long odist, cudaDataType to, long long batch, size_t* work,
                                cudaDataType computes) {
  if (rank < 1 || rank > 3 || n == nullptr) return CUFFT_INVALID_VALUE;
  Narrowed all;
  all.numbers.reserve(3 * static_cast<size_t>(rank) + 5);  // parts stay where they are
  int* const sizes = all.part(rank, n);
  int* const in = all.part(rank, inembed);
  int* const out = all.part(rank, onembed);
  for (const long long one : {istride, idist, ostride, odist, batch}) all.add(one);
  if (!all.fit) return CUFFT_INVALID_SIZE;
  const int* const rest = all.numbers.data() + all.numbers.size() - 5;
  for (const Known& known : kKnown) {
    if (known.from != from || known.to != to || known.computes != computes) continue;
    return cufftMakePlanMany(handle, rank, sizes, in, rest[0], rest[1], out, rest[2], rest[3], known.type, rest[4],
                             work);
  }
  return CUFFT_NOT_SUPPORTED;
}
