// The CUDA twin's part: memory at addresses of its own, checked by the twin, and errors that wait to be asked for.
#include "../twin.h"

#include <c10/util/Exception.h>
#include <cuda_runtime_api.h>
#include <string.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

extern "C" {
void* ob_twin_allocate(size_t bytes, const char* how);
void ob_twin_deallocate(void* begin);
void ob_twin_written(const void* begin, size_t bytes);
void ob_twin_attach_host(void);
const char* ob_twin_take_reports(void);
void ob_twin_clear_errors(void);
void ob_twin_order_unseen(const void* stream);
int ob_twin_leaves_blocks_out(void);
}

namespace opbridge::simulated {
namespace {

// Pieces by their first address; each belongs to the library that allocated it.
struct Pieces {
  std::mutex mutex;
  std::map<const char*, Piece*> by_begin;
};
Pieces& pieces() {
  static Pieces& all = *new Pieces;  // tensors may be freed while the process ends
  return all;
}

}  // namespace

Piece* allocate_piece(c10::DeviceIndex device, uint64_t bytes) {
  void* const address = ob_twin_allocate(bytes, "PyTorch");
  if (address == nullptr) return nullptr;
  auto* const piece = new Piece{address, bytes, bytes, device};
  const std::lock_guard<std::mutex> lock(pieces().mutex);
  pieces().by_begin[static_cast<const char*>(address)] = piece;
  return piece;
}

void free_piece(Piece* piece) {
  {
    const std::lock_guard<std::mutex> lock(pieces().mutex);
    pieces().by_begin.erase(static_cast<const char*>(piece->address));
  }
  ob_twin_deallocate(piece->address);
  delete piece;
}

Piece* find_piece(const void* address) {
  const auto* const byte = static_cast<const char*>(address);
  const std::lock_guard<std::mutex> lock(pieces().mutex);
  auto after = pieces().by_begin.upper_bound(byte);
  if (after == pieces().by_begin.begin()) return nullptr;
  const auto& [begin, piece] = *--after;
  return byte < begin + piece->bytes ? piece : nullptr;
}

// Programs have memory of their own too, by cudaMalloc.
c10::DeviceIndex device_at(const void* address) {
  cudaPointerAttributes found;
  const bool known = cudaPointerGetAttributes(&found, address) == cudaSuccess;
  return known && found.type == cudaMemoryTypeDevice ? static_cast<c10::DeviceIndex>(found.device) : -1;
}

// The host's own kernels use the same addresses.
void* on_device(const void* window) { return const_cast<void*>(window); }
void* in_window(const void* address) { return const_cast<void*>(address); }

void mark_written(const void* begin, uint64_t bytes) { ob_twin_written(begin, bytes); }

void mark_written(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return;
  int64_t last = 0;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) last += (tensor.size(dim) - 1) * tensor.stride(dim);
  mark_written(tensor.const_data_ptr(), static_cast<uint64_t>(last + 1) * tensor.itemsize());
}

bool is_memory_hollow() { return ob_twin_leaves_blocks_out() != 0; }

// Floating-point numbers become NaN, and integers -1.
void mark_unwritten(void* begin, uint64_t bytes) {
  if (!is_memory_hollow()) memset(begin, 0xff, bytes);
}

c10::StreamId new_stream(int priority) {
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority);
  // PyTorch's own operators and events, by which programs order them, are not the twin's.
  ob_twin_order_unseen(stream);
  return reinterpret_cast<c10::StreamId>(stream);
}

void attach_to_twin() { ob_twin_attach_host(); }

void throw_errors() {
  const cudaError_t error = cudaPeekAtLastError();
  const char* const reports = ob_twin_take_reports();
  if (reports == nullptr && error == cudaSuccess) return;
  std::string said = "CUDA error: " + std::string(cudaGetErrorString(error == cudaSuccess ? cudaErrorUnknown : error));
  if (reports != nullptr) said = (error == cudaSuccess ? "CUDA error" : said) + "\n" + reports;
  ob_twin_clear_errors();
  throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, error, said);
}

}  // namespace opbridge::simulated
