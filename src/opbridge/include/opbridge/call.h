// The kernel call in progress on this thread: where ob::scratch and ob::parallel_for find their host.
#ifndef OPBRIDGE_CALL_H
#define OPBRIDGE_CALL_H

#include <opbridge/check.h>
#include <stdlib.h>

namespace ob {

// A CUDA stream in CUDA's own type, if nvcc compiles the kernel.
#if defined(__CUDACC__)
using Stream = cudaStream_t;
#else
using Stream = void*;
#endif

// The device of all tensors of a call.
struct Device {
  int32_t type;  // OB_DEVICE_CPU, OB_DEVICE_CUDA or OB_DEVICE_NPU
  int32_t index;
};

namespace [[gnu::visibility("hidden")]] detail {

constexpr size_t kAlignment = 64;

// The header before memory that the call allocated; its blocks form a list that the Frame frees.
struct ScratchBlock {
  ScratchBlock* next;
  void* on_device;  // the device memory that the block records; null if the block is the memory itself
};

// One C call, or one piece of its parallel work on some thread.
class Frame {
 public:
  Frame(const ob_call* host, void* stream, bool is_piece)
      : host_(host), stream_(stream), is_piece_(is_piece), outer_(current()) {
    current() = this;
  }

  ~Frame() {
    current() = outer_;
    while (blocks_ != nullptr) {
      ScratchBlock* next = blocks_->next;
#if defined(__CUDACC__)
      if (blocks_->on_device != nullptr) cudaFreeAsync(blocks_->on_device, stream());
#endif
      free(blocks_);
      blocks_ = next;
    }
  }

  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  static Frame*& current() {
    static thread_local Frame* frame = nullptr;
    return frame;
  }

  // Returns the frame of the kernel that calls `function`.
  static Frame& of(const char* function) {
    if (current() == nullptr) fail_as("%s was called outside a kernel", function);
    return *current();
  }

  const ob_call* host() const { return host_; }
  Stream stream() const { return static_cast<Stream>(stream_); }
  bool is_piece() const { return is_piece_; }

  // Memory of the device.  A host's serves one thread, the one that made the call.
  void* scratch(size_t bytes) {
#if defined(__CUDACC__)
    void* memory = host_ != nullptr ? host_->scratch(host_->host, bytes) : allocate_on_device(bytes);
#else
    void* memory = host_ != nullptr && !is_piece_ ? host_->scratch(host_->host, bytes) : allocate(bytes);
#endif
    if (memory == nullptr) fail_as("out of memory: no %zu bytes of scratch", bytes);
    return memory;
  }

  // Host memory for data about the call, wherever the tensors are.
  void* table(size_t bytes) {
    const bool is_scratch = host_ != nullptr && host_->device_type == OB_DEVICE_CPU;
    void* memory = is_scratch ? scratch(bytes) : allocate(bytes);
    if (memory == nullptr) fail_as("out of memory: no %zu bytes for the call's arguments", bytes);
    return memory;
  }

 private:
  void* allocate(size_t bytes) {
    if (bytes > SIZE_MAX / 2) return nullptr;
    const size_t rounded = (bytes + 2 * kAlignment - 1) / kAlignment * kAlignment;  // with the block's header in front
    auto* block = static_cast<ScratchBlock*>(aligned_alloc(kAlignment, rounded));
    if (block == nullptr) return nullptr;
    *block = ScratchBlock{blocks_, nullptr};
    blocks_ = block;
    return reinterpret_cast<char*>(block) + kAlignment;
  }

#if defined(__CUDACC__)
  // Uses CUDA's pool if the caller provides none.  Memory is allocated and freed in stream order: the CPU never waits,
  // and a captured graph gets two nodes.
  void* allocate_on_device(size_t bytes) {
    if (allocate(0) == nullptr) return nullptr;
    return cudaMallocAsync(&blocks_->on_device, bytes, stream()) == cudaSuccess ? blocks_->on_device : nullptr;
  }
#endif

  const ob_call* host_;  // null under a foreign host
  void* stream_;
  bool is_piece_;
  Frame* outer_;
  ScratchBlock* blocks_ = nullptr;
};

}  // namespace detail

// The call as a kernel sees it: an optional parameter, anywhere in the list.
class Context {
 public:
  Context(const ob_call* host, void* stream, const char* kernel) : host_(host), stream_(stream), kernel_(kernel) {}

  Stream stream() const { return static_cast<Stream>(stream_); }
  const char* op() const { return host_ ? host_->op : kernel_; }

  Device device() const {
    if (host_) return Device{host_->device_type, host_->device_index};
#if defined(__CUDACC__)
    int index = 0;
    cudaGetDevice(&index);
    return Device{OB_DEVICE_CUDA, index};
#else
    return Device{OB_DEVICE_CPU, 0};
#endif
  }

 private:
  const ob_call* host_;
  void* stream_;
  const char* kernel_;
};

// Returns device memory, 64-byte aligned and not initialised.  It is valid until the kernel returns or, if requested in
// the body of a parallel loop, until that piece of the loop is done.  On a GPU it is valid for all work that the kernel
// has put on the stream: its next user comes later on the same stream.
inline void* scratch(size_t bytes) { return detail::Frame::of("ob::scratch").scratch(bytes); }

namespace [[gnu::visibility("hidden")]] detail {

template <class T>
T* table(int32_t n) {
  return static_cast<T*>(Frame::current()->table(static_cast<size_t>(n) * sizeof(T)));
}

}  // namespace detail

template <class T>
T* scratch(int64_t n) {
  if (n < 0 || static_cast<uint64_t>(n) > SIZE_MAX / sizeof(T))
    detail::fail_as("no scratch of %lld elements", static_cast<long long>(n));
  return static_cast<T*>(scratch(static_cast<size_t>(n) * sizeof(T)));
}

}  // namespace ob
#endif
