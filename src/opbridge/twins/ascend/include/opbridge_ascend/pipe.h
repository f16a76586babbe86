// TPipe, TQue and TBuf: who owns local memory, and how it goes from one pipe to the next.
#ifndef OPBRIDGE_ASCEND_PIPE_H
#define OPBRIDGE_ASCEND_PIPE_H

#include "tensor.h"

namespace AscendC {

using opbridge_ascend::Queue;

// Pairs of pipes that a flag goes between.
// clang-format off
#define OPBRIDGE_ASCEND_EVENTS(X) \
  X(MTE2, MTE1) X(MTE1, MTE2) X(MTE1, M) X(M, MTE1) X(MTE2, V) X(V, MTE2) \
  X(MTE3, V) X(V, MTE3) X(M, V) X(V, M) X(V, V) X(MTE3, MTE1) \
  X(MTE1, MTE3) X(MTE1, V) X(V, MTE1) X(MTE2, M) X(M, MTE2) X(M, MTE3) \
  X(MTE3, M) X(MTE3, MTE2) X(MTE2, MTE3) X(S, V) X(V, S) X(S, MTE2) \
  X(MTE2, S) X(S, MTE3) X(MTE3, S) X(S, MTE1) X(MTE1, S) X(M, S) \
  X(S, M) X(FIX, M) X(M, FIX) X(FIX, MTE3) X(FIX, MTE2) X(MTE2, FIX) \
  X(FIX, S) X(S, FIX) X(FIX, V) X(V, FIX)
// clang-format on

// Which pipe tells which that it is done.
enum class HardEvent : uint8_t {
#define OPBRIDGE_ASCEND_EVENT(from, to) from##_##to,
  OPBRIDGE_ASCEND_EVENTS(OPBRIDGE_ASCEND_EVENT)
#undef OPBRIDGE_ASCEND_EVENT
      MAX,
};

namespace detail {

// The two ends of an event.
struct Pipes {
  pipe_t from, to;
};

constexpr Pipes pipes_of(HardEvent event) {
  constexpr Pipes table[] = {
#define OPBRIDGE_ASCEND_EVENT(from, to) {PIPE_##from, PIPE_##to},
      OPBRIDGE_ASCEND_EVENTS(OPBRIDGE_ASCEND_EVENT)
#undef OPBRIDGE_ASCEND_EVENT
  };
  return table[static_cast<int>(event)];
}

// A tensor is filled by one pipe and used by another, as its position says.
constexpr pipe_t producer(TPosition position) {
  switch (position) {
    case TPosition::VECIN:
    case TPosition::LCM:  // what goes through local memory and meets no unit on the way
    case TPosition::A1:
    case TPosition::B1:
    case TPosition::C1:
    case TPosition::TSCM:
      return PIPE_MTE2;
    case TPosition::A2:
    case TPosition::B2:
    case TPosition::C2:
      return PIPE_MTE1;
    case TPosition::CO1:
      return PIPE_M;
    default:
      return PIPE_V;
  }
}
constexpr pipe_t consumer(TPosition position) {
  switch (position) {
    case TPosition::VECOUT:
    case TPosition::CO2:
    case TPosition::LCM:
      return PIPE_MTE3;
    case TPosition::A1:
    case TPosition::B1:
    case TPosition::C1:
    case TPosition::TSCM:
      return PIPE_MTE1;
    case TPosition::A2:
    case TPosition::B2:
    case TPosition::C2:
      return PIPE_M;
    case TPosition::CO1:
      return PIPE_FIX;
    default:
      return PIPE_V;
  }
}

}  // namespace detail

#define OPBRIDGE_ASCEND_LOCAL_ONLY(position) \
  static_assert((position) != TPosition::GM, "opbridge's Ascend twin has no local memory at GM")

// Tensors that are filled at one position and used at another, without a copy between.
template <TPosition src, TPosition dst, int32_t depth, auto mask = 0>
class TQueBind : public Queue {
  OPBRIDGE_ASCEND_LOCAL_ONLY(src);
  OPBRIDGE_ASCEND_LOCAL_ONLY(dst);

 public:
  TQueBind() : Queue(src, detail::producer(src), detail::consumer(dst), depth) {}

  template <class T>
  LocalTensor<T> AllocTensor(Place at = Place::here()) {
    return whole<T>(alloc(at));
  }
  template <class T>
  void AllocTensor(LocalTensor<T>& tensor, Place at = Place::here()) {
    tensor = whole<T>(alloc(at));
  }
  template <class T>
  void FreeTensor(const LocalTensor<T>& tensor, Place at = Place::here()) {
    free(tensor.memory(), at);
  }
  template <class T>
  bool EnQue(const LocalTensor<T>& tensor, Place at = Place::here()) {
    return enqueue(tensor.memory(), at);
  }
  template <class T>
  LocalTensor<T> DeQue(Place at = Place::here()) {
    return whole<T>(dequeue(at));
  }
  template <class T>
  void DeQue(LocalTensor<T>& tensor, Place at = Place::here()) {
    tensor = whole<T>(dequeue(at));
  }
  bool VacantInQue() const { return queued() < limit(); }
  bool HasTensorInQue() const { return queued() > 0; }
  int32_t GetTensorCountInQue() const { return queued(); }
  bool HasIdleBuffer() const { return has_idle(); }

 private:
  template <class T>
  static LocalTensor<T> whole(const Local& memory) {
    return LocalTensor<T>(memory, 0, static_cast<uint32_t>(memory.bytes / sizeof(T)));
  }
};

template <TPosition position, int32_t depth, auto mask = 0>
class TQue : public TQueBind<position, position, depth, mask> {};

// A buffer that is its owner's until the pipe is reset: no queue, so that nothing is ordered by it.
template <TPosition position = TPosition::LCM>
class TBuf {
  OPBRIDGE_ASCEND_LOCAL_ONLY(position);

 public:
  // The compiler has to keep it in memory, with the object that it is a member of: members of that one which nothing is
  // assigned to are seen there (looks_unset), and would be anything in a register.
  TBuf() { asm volatile("" : : "r"(this) : "memory"); }

  template <class T>
  LocalTensor<T> Get() const {
    return LocalTensor<T>(memory_, 0, static_cast<uint32_t>(memory_.bytes / sizeof(T)));
  }
  template <class T>
  LocalTensor<T> Get(uint32_t size) const {
    return LocalTensor<T>(memory_, 0, size);
  }
  // All of it, for kernels that treat a TBuf like a queue; there is nothing to give back.
  template <class T>
  LocalTensor<T> AllocTensor() const {
    return Get<T>();
  }
  template <class T>
  void FreeTensor(const LocalTensor<T>&) const {}
  template <class T>
  LocalTensor<T> GetWithOffset(uint32_t size, uint32_t offset_bytes) const {
    return LocalTensor<T>(memory_, offset_bytes, size);
  }
  void adopt(const Local& memory) { memory_ = memory; }

 private:
  Local memory_;
};

// Hands out local memory in the order it is asked for. One for a kernel: a second one would start at the same
// addresses.
class TPipe {
 public:
  void Init() {}
  void Reset() { opbridge_ascend::release_local(); }
  void Destroy() { opbridge_ascend::release_local(); }

  template <TPosition src, TPosition dst, int32_t depth, auto mask>
  bool InitBuffer(TQueBind<src, dst, depth, mask>& queue, uint8_t count, uint32_t bytes, Place at = Place::here()) {
    queue.init(count, bytes, at);
    return true;
  }
  template <TPosition position>
  bool InitBuffer(TBuf<position>& buffer, uint32_t bytes, Place at = Place::here()) {
    buffer.adopt(opbridge_ascend::local_memory(opbridge_ascend::allocate_local(1, bytes, position, at)));
    return true;
  }

  template <HardEvent event>
  TEventID AllocEventID(Place at = Place::here()) {
    constexpr auto pipes = detail::pipes_of(event);
    return static_cast<TEventID>(opbridge_ascend::alloc_event(pipes.from, pipes.to, at));
  }
  template <HardEvent event>
  void ReleaseEventID(TEventID id) {
    constexpr auto pipes = detail::pipes_of(event);
    opbridge_ascend::release_event(pipes.from, pipes.to, id);
  }
  TEventID FetchEventID(HardEvent event) {
    const auto pipes = detail::pipes_of(event);
    return static_cast<TEventID>(opbridge_ascend::fetch_event(pipes.from, pipes.to));
  }
  template <HardEvent event>
  TEventID FetchEventID() {
    return FetchEventID(event);
  }
};

// Nothing in it belongs to one TPipe: all of them are the block's.
inline TPipe* GetTPipePtr() {
  static thread_local TPipe pipe;
  return &pipe;
}

}  // namespace AscendC

using AscendC::GetTPipePtr;
#endif
