// What every test kernel stands on: operands in the unified buffer, and one block that runs a body on them.
#pragma once
#include "tikicpulib.h"

using namespace AscendC;

namespace {

// Everything a test needs of one kernel: operands behind each other in the unified buffer.
class Bench {
 public:
  template <class T>
  LocalTensor<T> in(const void* data, uint32_t count) {
    GlobalTensor<T> from;
    from.SetGlobalBuffer((__gm__ T*)data, count);
    LocalTensor<T> tensor = empty<T>(count);
    DataCopyPad(tensor, from, DataCopyExtParams{1, uint32_t(count * sizeof(T)), 0, 0, 0},
                DataCopyPadExtParams<T>{false, 0, 0, T(0)});
    PipeBarrier<PIPE_ALL>();
    return tensor;
  }
  template <class T>
  LocalTensor<T> empty(uint32_t count) {
    TBuf<TPosition::VECCALC> buffer;
    pipe_.InitBuffer(buffer, count * sizeof(T));
    return buffer.Get<T>();
  }
  template <class T>
  void out(void* data, const LocalTensor<T>& tensor, uint32_t count) {
    PipeBarrier<PIPE_ALL>();
    GlobalTensor<T> to;
    to.SetGlobalBuffer((__gm__ T*)data, count);
    DataCopyPad(to, tensor, DataCopyExtParams{1, uint32_t(count * sizeof(T)), 0, 0, 0});
  }

 private:
  TPipe pipe_;
};

template <class Body>
void once(const char* name, Body body) {
  opbridge_ascend::launch(name, 1, [&] {
    Bench bench;
    body(bench);
  });
}

template <class T>
constexpr uint64_t kLanes = 256 / sizeof(T);

}  // namespace
