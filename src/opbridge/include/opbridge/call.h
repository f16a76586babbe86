// The kernel call in progress on this thread: where ob::scratch and ob::parallel_for find their host.
#ifndef OPBRIDGE_CALL_H
#define OPBRIDGE_CALL_H

#include <opbridge/check.h>
#include <stdlib.h>

namespace ob {

struct Device {
  int32_t type;  // OB_DEVICE_CPU, OB_DEVICE_CUDA or OB_DEVICE_NPU
  int32_t index;
};

namespace [[gnu::visibility("hidden")]] detail {

constexpr size_t kAlignment = 64;

struct ScratchBlock {
  ScratchBlock* next;
};

// One C call, or one piece of its parallel work on some thread.
class Frame {
 public:
  Frame(const ob_call* host, bool is_piece) : host_(host), is_piece_(is_piece), outer_(current()) { current() = this; }

  ~Frame() {
    current() = outer_;
    while (blocks_ != nullptr) {
      ScratchBlock* next = blocks_->next;
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

  const ob_call* host() const { return host_; }
  bool is_piece() const { return is_piece_; }

  void* scratch(size_t bytes) {
    // A host's scratch serves one thread, the one that made the call.
    void* memory = host_ != nullptr && !is_piece_ ? host_->scratch(host_->host, bytes) : allocate(bytes);
    if (memory == nullptr) fail_as("out of memory: no %zu bytes of scratch", bytes);
    return memory;
  }

 private:
  void* allocate(size_t bytes) {
#if defined(__CUDACC__)
    fail_as("ob::scratch needs device memory, which only opbridge can hand out; this caller is not opbridge");
#endif
    if (bytes > SIZE_MAX / 2) return nullptr;
    const size_t rounded = (bytes + 2 * kAlignment - 1) / kAlignment * kAlignment;  // with the block's header in front
    auto* block = static_cast<ScratchBlock*>(aligned_alloc(kAlignment, rounded));
    if (block == nullptr) return nullptr;
    block->next = blocks_;
    blocks_ = block;
    return reinterpret_cast<char*>(block) + kAlignment;
  }

  const ob_call* host_;  // null under a foreign host
  bool is_piece_;
  Frame* outer_;
  ScratchBlock* blocks_ = nullptr;
};

}  // namespace detail

// What a kernel may know of its call; taken as a parameter of its own, anywhere in the list.
class Context {
 public:
  Context(const ob_call* host, void* stream, const char* kernel) : host_(host), stream_(stream), kernel_(kernel) {}

  void* stream() const { return stream_; }
  const char* op() const { return host_ ? host_->op : kernel_; }

  Device device() const {
    if (host_) return Device{host_->device_type, host_->device_index};
#if defined(__CUDACC__)
    return Device{OB_DEVICE_CUDA, 0};
#else
    return Device{OB_DEVICE_CPU, 0};
#endif
  }

 private:
  const ob_call* host_;
  void* stream_;
  const char* kernel_;
};

// Device memory, 64-byte aligned and not initialised.  It lasts until the kernel returns; asked for inside the body of
// a parallel loop, until that piece of the loop is done.
inline void* scratch(size_t bytes) {
  detail::Frame* frame = detail::Frame::current();
  if (frame == nullptr) detail::fail_as("ob::scratch was called outside a kernel");
  return frame->scratch(bytes);
}

template <class T>
T* scratch(int64_t n) {
  if (n < 0 || static_cast<uint64_t>(n) > SIZE_MAX / sizeof(T))
    detail::fail_as("no scratch of %lld elements", static_cast<long long>(n));
  return static_cast<T*>(scratch(static_cast<size_t>(n) * sizeof(T)));
}

}  // namespace ob
#endif
