// Copies of tensors' tiles into local memory and out of it.
#include <opbridge_ascend/machine.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace opbridge_ascend {
namespace {

// A tensor of so many bytes leaves the nearer caches before anybody reads it again.
constexpr size_t kLarge = size_t{1} << 20;
// One piece of it, in as many streams as a processor keeps apart with ease.
constexpr size_t kStreams = 4, kLine = 64;

#if defined(__SSE2__)
inline void stream_line(uint8_t* to, const uint8_t* from) {
  const auto* const source = reinterpret_cast<const __m128i*>(from);
  auto* const target = reinterpret_cast<__m128i*>(to);
  for (int i = 0; i < 4; ++i) _mm_stream_si128(target + i, _mm_loadu_si128(source + i));
}

// Past the caches: the processor need not read what is about to be overwritten.
void stream(uint8_t* to, const uint8_t* from, size_t bytes) {
  const size_t apart = bytes / kStreams;
  for (size_t at = 0; at < apart; at += kLine) {
    for (size_t k = 0; k < kStreams; ++k) stream_line(to + k * apart + at, from + k * apart + at);
  }
  _mm_sfence();
}

bool is_streamed(const Global& memory, const void* to, size_t bytes) {
  return memory.bytes >= kLarge && bytes >= kStreams * 1024 && bytes % (kStreams * kLine) == 0 &&
         reinterpret_cast<size_t>(to) % kLine == 0;
}
#else
bool is_streamed(const Global&, const void*, size_t) { return false; }
void stream(uint8_t*, const uint8_t*, size_t) {}
#endif

// The same way in, because a processor reads ahead no further than a page: of four pages at once.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("avx2", "default")))
#endif
void in_streams(uint8_t* to, const uint8_t* from, size_t bytes) {
  const size_t apart = bytes / kStreams;
  for (size_t at = 0; at < apart; at += kLine) {
    for (size_t k = 0; k < kStreams; ++k) memcpy(to + k * apart + at, from + k * apart + at, kLine);
  }
}

}  // namespace

void copy_in(void* to, const void* from, size_t bytes) {
  if (bytes < kStreams * 4096 || bytes % (kStreams * kLine) != 0) {
    memcpy(to, from, bytes);
  } else {
    in_streams(static_cast<uint8_t*>(to), static_cast<const uint8_t*>(from), bytes);
  }
}

void copy_out(const Global& memory, void* to, const void* from, size_t bytes) {
  if (!is_streamed(memory, to, bytes)) {
    memcpy(to, from, bytes);
  } else {
    stream(static_cast<uint8_t*>(to), static_cast<const uint8_t*>(from), bytes);
  }
}

}  // namespace opbridge_ascend
