// ob::parallel_for, parallel_rows and parallel_reduce, on the threads of the kernel's caller.
//
// Inside the body of a loop, further loops run serially on their thread.  An exception in a body stops the loop and
// arrives at the caller.
#ifndef OPBRIDGE_PARALLEL_H
#define OPBRIDGE_PARALLEL_H

#include <opbridge/call.h>
#include <opbridge/reduce.h>

#include <exception>
#include <type_traits>
#if defined(OPBRIDGE_STANDALONE)
#include <opbridge/pool.h>
#endif

namespace ob {

// Iterations per thread, if one costs about as much as reading and writing one element.
constexpr int64_t default_grain = 32768;

namespace [[gnu::visibility("hidden")]] detail {

using Body = void (*)(void* state, int64_t begin, int64_t end);

// One parallel loop, on its caller's stack until the last piece is done.  Only the piece that set `failed` may write
// `failure`.
struct Loop {
  Body body;
  void* state;
  const ob_call* host;
  bool failed;
  std::exception_ptr failure;
};

inline void run_piece(void* state, int64_t begin, int64_t end) {
  Loop& loop = *static_cast<Loop*>(state);
  if (__atomic_load_n(&loop.failed, __ATOMIC_RELAXED)) return;
  Frame frame(loop.host, nullptr, true);
  try {
    loop.body(loop.state, begin, end);
  } catch (...) {
    if (!__atomic_exchange_n(&loop.failed, true, __ATOMIC_RELAXED)) loop.failure = std::current_exception();
  }
}

[[gnu::noinline]] inline void run_loop(int64_t n, int64_t grain, Body body, void* state) {
  if (n <= grain) return body(state, 0, n);
  const Frame* frame = Frame::current();
  const ob_call* host = frame ? frame->host() : nullptr;
  if (frame && frame->is_piece()) return body(state, 0, n);
  Loop loop{body, state, host, false, nullptr};
  if (host && host->parallel) {
    host->parallel(host->host, n, grain, run_piece, &loop);
  } else {
#if defined(OPBRIDGE_STANDALONE)
    pool.run(n, grain, run_piece, &loop);
#else
    return body(state, 0, n);
#endif
  }
  if (loop.failed) std::rethrow_exception(loop.failure);
}

// Copies the function to this thread's stack if that is cheap: the compiler then knows that no store of the loop
// changes its captures.
template <class F>
using OwnCopy = std::conditional_t<std::is_trivially_copyable<F>::value, const F, const F&>;

template <class F>
void run_body(void* state, int64_t begin, int64_t end) {
  OwnCopy<F> f = *static_cast<F*>(state);
  if constexpr (std::is_invocable<const F&, int64_t, int64_t>::value) {
    f(begin, end);
  } else {
    OB_INDEPENDENT
    for (int64_t i = begin; i < end; ++i) f(i);
  }
}

}  // namespace detail

// Calls f(i) for every i below n, or f(begin, end) for pieces of at least `grain` that cover [0, n).
template <class F>
void parallel_for(int64_t n, const F& f, int64_t grain = default_grain) {
  static_assert(std::is_invocable<const F&, int64_t>::value || std::is_invocable<const F&, int64_t, int64_t>::value,
                "the body of ob::parallel_for takes (int64_t i) or (int64_t begin, int64_t end), and is not mutable");
  if (n <= 0) return;
  detail::run_loop(n, grain < 1 ? 1 : grain, detail::run_body<F>, const_cast<F*>(&f));
}

// Calls f(row) for every row below `rows`; a row has about `width` elements, which determine the rows per thread.
template <class F>
void parallel_rows(int64_t rows, int64_t width, const F& f) {
  parallel_for(rows, f, default_grain / (width < 1 ? 1 : width));
}

// combine(...combine(init, map(0))..., map(n - 1)) in an order that depends on n and grain alone, never on threads.
// combine must be associative, and for arithmetic types commutative, as in std::reduce.
template <class R, class Map, class Combine>
R parallel_reduce(int64_t n, R init, const Map& map, const Combine& combine, int64_t grain = default_grain) {
  static_assert(std::is_trivially_copyable<R>::value && sizeof(R) <= 256,
                "ob::parallel_reduce carries a plain value of at most 256 bytes; the type is that of `init`");
  constexpr int64_t most_pieces = 64;
  if (n <= 0) return init;
  const int64_t even = n / most_pieces + 1;
  const int64_t piece = even > grain ? even : grain;
  const int64_t pieces = (n - 1) / piece + 1;

  alignas(R) unsigned char memory[most_pieces * sizeof(R)];
  R* partial = reinterpret_cast<R*>(memory);
  const auto reduce_piece = [&](int64_t p) {
    const int64_t begin = p * piece, end = n - begin < piece ? n : begin + piece;
    detail::OwnCopy<Map> own = map;
    partial[p] = detail::reduce_range<R>(begin, end, own, combine);
  };
  parallel_for(pieces, reduce_piece, 1);
  return reduce(pieces, init, [=](int64_t p) { return partial[p]; }, combine);
}

}  // namespace ob
#endif
