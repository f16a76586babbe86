#include "announced_kernel.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <utility>

namespace opbridge {
namespace {

// What each twin's runtime has for its hosts: it calls `function` with these arguments.
using Run = int (*)(ob_kernel function, const char* name, int, void**, int*, int64_t**, const char**, void*, void*);
constexpr const char* kRuntimes[] = {"ob_twin_run_aot", "ob_ascend_run_aot"};

// What it wraps is as long-lived as the library, which is never closed.
class AnnouncedKernel final : public AotKernel {
 public:
  AnnouncedKernel(Run runtime, std::string symbol, ob_kernel function, AotKernel* aot)
      : runtime_(runtime), symbol_(std::move(symbol)), function_(function), aot_(aot) {}

  int run(const ob_call& call, int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes,
          void* stream) override {
    // The runtime calls a function of C, which has to find this object again.
    const Running now(this);
    ob_call passed = call;
    return runtime_(run_announced, symbol_.c_str(), nparam, params, ndims, shapes, dtypes, stream, &passed);
  }

  bool infers() const override { return aot_ && aot_->infers(); }

  int infer(const ob_call& call, const int* ndims, int64_t* const* shapes, std::vector<Output>& outputs) override {
    return aot_->infer(call, ndims, shapes, outputs);
  }

  const char* description() const override { return aot_ ? aot_->description() : "a bare aot function"; }

 private:
  // The kernel that this thread runs, linked to the kernel that called it.
  class Running {
   public:
    explicit Running(const AnnouncedKernel* kernel) : outer_(std::exchange(running, kernel)) {}
    ~Running() { running = outer_; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    const AnnouncedKernel* const outer_;
  };

  static int run_announced(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream,
                           void* extra) {
    const AnnouncedKernel& self = *running;
    const auto& call = *static_cast<const ob_call*>(extra);
    return self.aot_ ? self.aot_->run(call, nparam, params, ndims, shapes, dtypes, stream)
                     : self.function_(nparam, params, ndims, shapes, dtypes, stream, extra);
  }

  static thread_local const AnnouncedKernel* running;

  const Run runtime_;
  const std::string symbol_;
  const ob_kernel function_;
  AotKernel* const aot_;
};

thread_local const AnnouncedKernel* AnnouncedKernel::running = nullptr;

}  // namespace

AotKernel* announced_kernel(void* library, const std::string& symbol, ob_kernel function, AotKernel* aot) {
  static auto& known = *new std::map<std::pair<void*, std::string>, AnnouncedKernel>;
  static std::mutex& mutex = *new std::mutex;
  for (const char* name : kRuntimes) {
    const auto runtime = reinterpret_cast<Run>(dlsym(library, name));
    if (!runtime) continue;
    const std::lock_guard<std::mutex> lock(mutex);
    return &known.try_emplace({library, symbol}, runtime, symbol, function, aot).first->second;
  }
  return nullptr;
}

}  // namespace opbridge
