// Every way for a kernel to fail.
#include <opbridge/kernel.h>

#include <stdexcept>

void throws(ob::In<float>, ob::Out<float>) { throw std::runtime_error("the tank is empty"); }
OB_KERNEL(throws)

void throws_number(ob::In<float>, ob::Out<float>) { throw 42; }
OB_KERNEL(throws_number)

void garbles(ob::In<float>, ob::Out<float>) { throw std::runtime_error("no \xff text"); }
OB_KERNEL(garbles)

int returns_seven(ob::In<float>, ob::Out<float>) { return 7; }
OB_KERNEL(returns_seven)

void checks(ob::In<float> x, ob::Out<float>) { OB_CHECK(x.numel() > 1000, "too small, ", x.shape()); }
OB_KERNEL(checks)

void throws_on_pool(ob::In<float> x, ob::Out<float> out) {
  ob::parallel_for(
      x.numel(),
      [&](int64_t i) {
        if (i == x.numel() - 1) throw std::runtime_error("the last piece failed");
        out[i] = x[i];
      },
      1);
}
OB_KERNEL(throws_on_pool)

// The bare call, as a library of somebody else's exports it.
extern "C" __attribute__((visibility("default"))) int bare_returns_seven(int, void**, int*, int64_t**, const char**,
                                                                         void*, void*) {
  return 7;
}

extern "C" __attribute__((visibility("default"))) int bare_throws(int, void**, int*, int64_t**, const char**, void*,
                                                                  void*) {
  // As PyTorch's exceptions end, with the frames of their origin.
  throw std::runtime_error(
      "straight through\nException raised from run at kernel.cpp:7 (most recent call first):\n"
      "frame #0: c10::Error::Error(c10::SourceLocation) + 0x5 (0x7f in libc10.so)\n");
}
