#include "libraries.h"

#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "../floating_point_mode.h"
#include "../gil.h"

namespace opbridge {
namespace {

std::atomic<const KernelLibrary*> libraries{nullptr};
std::atomic<const NamedKernel*> named{nullptr};
std::mutex& writing = *new std::mutex;

template <class T>
void prepend(std::atomic<const T*>& list, T* item) {
  const std::lock_guard<std::mutex> lock(writing);
  item->next = list.load(std::memory_order_relaxed);
  list.store(item, std::memory_order_release);
}

void remember(void* handle, const std::string& path) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return;
  auto* library = new KernelLibrary{0, 0, map->l_addr, strdup(path.c_str()), nullptr};
  const auto find_code = [](dl_phdr_info* info, size_t, void* state) {
    auto& found = *static_cast<KernelLibrary*>(state);
    if (info->dlpi_addr != found.base) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr) & part = info->dlpi_phdr[i];
      if (part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
      found.begin = info->dlpi_addr + part.p_vaddr;
      found.end = found.begin + part.p_memsz;
    }
    return 1;
  };
  dl_iterate_phdr(find_code, library);
  prepend(libraries, library);
}

_Unwind_Reason_Code look_at(_Unwind_Context* frame, void* state) {
  auto& running = *static_cast<RunningKernel*>(state);
  int exact = 0;
  // Where a call returns to may be another function already.
  const uintptr_t address = _Unwind_GetIPInfo(frame, &exact) - (exact ? 0 : 1);
  const KernelLibrary* const library = library_at(address);
  if (!library) return _URC_NO_REASON;
  if (!running.library) running.place = address;
  running.library = library;
  running.function = _Unwind_GetRegionStart(frame);
  return _URC_NO_REASON;
}

}  // namespace

void* open_library(std::string path) {
  static std::unordered_map<std::string, void*> opened;  // guarded by the GIL
  // A name without a slash would be looked for among the system's libraries, and a relative one changes its meaning.
  if (char* resolved = realpath(path.c_str(), nullptr)) {
    path = resolved;
    std::free(resolved);
  }
  if (auto found = opened.find(path); found != opened.end()) return found->second;
  void* library;
  {
    const WithoutGil no_gil;           // a library may take a while to load, and its initialisers may want the GIL
    const KeptFloatingPointMode kept;  // which those of -ffast-math change
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (library && opened.emplace(path, library).second) remember(library, path);
  return library;
}

void name_kernel(uintptr_t function, const std::string& op, const std::string& advice) {
  prepend(named, new NamedKernel{function, strdup(op.c_str()), strdup(advice.c_str()), nullptr});
}

RunningKernel running_kernel() {
  RunningKernel running;
  _Unwind_Backtrace(look_at, &running);
  return running;
}

const KernelLibrary* library_at(uintptr_t address) {
  const KernelLibrary* library = libraries.load(std::memory_order_acquire);
  while (library && !library->holds(address)) library = library->next;
  return library;
}

const NamedKernel* named_kernel(const RunningKernel& running) {
  const NamedKernel* only = nullptr;
  bool several = false;
  for (const NamedKernel* one = named.load(std::memory_order_acquire); one; one = one->next) {
    if (one->function == running.function) return one;
    if (!running.library->holds(one->function)) continue;
    several = several || (only && only->function != one->function);
    only = one;
  }
  return several ? nullptr : only;
}

}  // namespace opbridge
