// Kernels that end their process, each in one way.
#include <opbridge/kernel.h>
#include <signal.h>

#include <cstdlib>
#include <cstring>

template <class T>
void reads_nowhere(ob::In<T> x, ob::Out<T> out) {
  const T* nowhere = nullptr;
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] > 1 ? nowhere[i] : x[i];  // line 11
}
OB_KERNEL(reads_nowhere, float, double)

void reads_far_away(ob::In<float> x, ob::Out<float> out) {
  const float* from = x.data();
  ob::parallel_for(out.numel(), [=](int64_t i) { out[i] = from[i + (int64_t(1) << 40)]; });  // line 17
}
OB_KERNEL(reads_far_away)

void aborts(ob::In<float> x, ob::Out<float> out) {
  if (x[0] > 1) std::abort();  // line 22
  out[0] = x[0];
}
OB_KERNEL(aborts)

void calls_nothing(ob::In<float> x, ob::Out<float> out) {
  auto* nothing = reinterpret_cast<float (*)()>(x.numel());
  out[0] = nothing() + 1;  // line 29
}
OB_KERNEL(calls_nothing)

float deeper(const float* x, int depth) {
  volatile char frame[4096];
  frame[depth % 4096] = 1;
  return x[0] > 0 ? deeper(x, depth + 1) + frame[0] : 0;  // line 36
}
void recurses(ob::In<float> x, ob::Out<float> out) { out[0] = deeper(x.data(), 0); }
OB_KERNEL(recurses)

void copies_too_much(ob::In<float> x, ob::Out<float> out) {
  memcpy(out.data(), x.data(), size_t(x.numel()) << 36);  // line 42
}
OB_KERNEL(copies_too_much)

void is_sent_a_signal(ob::In<float> x, ob::Out<float> out) {
  raise(SIGBUS);  // line 47
  out[0] = x[0];
}
OB_KERNEL(is_sent_a_signal)

void is_well(ob::In<float> x, ob::Out<float> out) { out[0] = x[0]; }
OB_KERNEL(is_well)
