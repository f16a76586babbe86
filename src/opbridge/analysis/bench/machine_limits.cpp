// What this machine can do at most, on the threads that operators have too.
#include <opbridge/kernel.h>

#include <cstring>

void copy(ob::In<float> x, ob::Out<float> out) {
  ob::parallel_for(out.numel(), [=](int64_t begin, int64_t end) {
    std::memcpy(out.data() + begin, x.data() + begin, (end - begin) * sizeof(float));
  });
}
OB_KERNEL(copy)

// `depth` multiplications and additions of every element, enough of them side by side to keep the vector units busy.
template <class T>
void multiply_add(ob::In<T> x, ob::Out<T> out, int64_t depth) {
  constexpr int64_t lanes = 512 / sizeof(T);
  const auto work = [=](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      T lane[lanes];
      for (int64_t i = 0; i < lanes; ++i) lane[i] = x[block * lanes + i];
      for (int64_t k = 0; k < depth; ++k) {
        OB_INDEPENDENT
        for (int64_t i = 0; i < lanes; ++i) lane[i] = lane[i] * T(0.999) + T(0.001);
      }
      for (int64_t i = 0; i < lanes; ++i) out[block * lanes + i] = lane[i];
    }
  };
  ob::parallel_for(x.numel() / lanes, work, 1);
}
OB_KERNEL(multiply_add, float, double)
