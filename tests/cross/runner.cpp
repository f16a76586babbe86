// Calls functions of a library for a test that runs on another processor: what they take comes in by stdin, and what
// they leave goes out by stdout.
//
//   NAME COUNT\n  then for each argument    i VALUE\n   f BITS\n   a BYTES\n...   d BYTES\n... (in the device's memory)
//   RESULT BYTES-OF-REPORTS\n...  then the bytes of each array
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utility>
#include <vector>

namespace {

constexpr int kMostOfAKind = 8;  // as many as go in registers, which is why nothing has to know a function's type
constexpr size_t kMostNameBytes = 128;

struct Array {
  char* memory;
  size_t bytes;
  bool on_device;
};

struct Call {
  int64_t whole[kMostOfAKind] = {};
  double real[kMostOfAKind] = {};
  std::vector<Array> arrays;
};

[[noreturn]] void stop(const char* why, const char* what) {
  fprintf(stderr, "runner: %s %s\n", why, what);
  exit(2);
}

template <class F>
F* optional(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
}

char* allocate(size_t bytes, bool on_device) {
  if (!on_device) return static_cast<char*>(malloc(bytes + 1));
  void* memory = nullptr;
  constexpr unsigned kOfAnyStream = 1;
  const auto managed = optional<int(void**, size_t, unsigned)>("cudaMallocManaged");
  if (managed == nullptr || managed(&memory, bytes, kOfAnyStream) != 0) stop("no memory of", "the device");
  return static_cast<char*>(memory);
}

void release(const Array& array) {
  if (!array.on_device) return free(array.memory);
  optional<int(void*)>("cudaFree")(array.memory);
}

void read_argument(Call& call, int& wholes, int& reals) {
  char kind = 0;
  long long value = 0;
  if (scanf(" %c %lld", &kind, &value) != 2 || getchar() != '\n') stop("cannot read", "an argument");
  if (wholes == kMostOfAKind || reals == kMostOfAKind) stop("too many", "arguments");
  if (kind == 'f') {
    memcpy(&call.real[reals++], &value, sizeof value);
  } else if (kind == 'i') {
    call.whole[wholes++] = value;
  } else {
    const size_t bytes = static_cast<size_t>(value);
    const Array array{allocate(bytes, kind == 'd'), bytes, kind == 'd'};
    if (fread(array.memory, 1, bytes, stdin) != bytes) stop("cannot read", "an array");
    call.whole[wholes++] = static_cast<int64_t>(reinterpret_cast<intptr_t>(array.memory));
    call.arrays.push_back(array);
  }
}

int64_t run(void* library, const char* name, const Call& c) {
  using Function = int64_t(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, double,
                           double, double, double, double, double, double);
  Function* const f = reinterpret_cast<Function*>(dlsym(library, name));
  if (f == nullptr) stop("no function", name);
  const auto& [w, r] = std::pair(c.whole, c.real);
  return f(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]);
}

}  // namespace

int main(int count, char** words) {
  void* const library = count == 2 ? dlopen(words[1], RTLD_NOW | RTLD_GLOBAL) : nullptr;
  if (library == nullptr) stop("cannot load the library:", count == 2 ? dlerror() : "none is named");
  if (const auto attach = optional<void()>("ob_ascend_attach_host")) attach();
  char name[kMostNameBytes];
  int arguments = 0;
  while (scanf("%127s %d", name, &arguments) == 2) {
    Call call;
    for (int i = 0, wholes = 0, reals = 0; i < arguments; ++i) read_argument(call, wholes, reals);
    const int result = static_cast<int>(run(library, name, call));
    const auto clear = optional<void()>("ob_twin_clear_errors");
    if (result != 0 && clear != nullptr) clear();
    const auto take = optional<const char*()>("ob_ascend_take_reports");
    const char* const reports = take != nullptr ? take() : nullptr;
    const size_t length = reports != nullptr ? strlen(reports) : 0;
    printf("%d %zu\n", result, length);
    fwrite(reports, 1, length, stdout);
    for (const Array& array : call.arrays) {
      fwrite(array.memory, 1, array.bytes, stdout);
      release(array);
    }
    fflush(stdout);
  }
}
