#include "accelerator.h"

#include <ATen/DeviceAccelerator.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace opbridge::simulated {
namespace {

using Question = bool (*)(c10::DeviceType);

bool is_accelerator(c10::DeviceType type) {
  const bool beside_another = type == c10::DeviceType::CUDA && c10::is_privateuse1_backend_registered();
  return !beside_another && at::accelerator::isAccelerator(type);
}

const ElfW(Dyn) * entry(const ElfW(Dyn) * table, decltype(ElfW(Dyn)::d_tag) tag) {
  while (table->d_tag != tag && table->d_tag != DT_NULL) ++table;
  return table;
}

// Where a library keeps the address of a function of others that it calls; null if it calls it in another way.
std::atomic<Question>* kept_address(const link_map& library, const char* function) {
  const auto* calls = reinterpret_cast<const ElfW(Rela)*>(entry(library.l_ld, DT_JMPREL)->d_un.d_ptr);
  const size_t count = entry(library.l_ld, DT_PLTRELSZ)->d_un.d_val / sizeof(ElfW(Rela));
  const auto* symbols = reinterpret_cast<const ElfW(Sym)*>(entry(library.l_ld, DT_SYMTAB)->d_un.d_ptr);
  const auto* names = reinterpret_cast<const char*>(entry(library.l_ld, DT_STRTAB)->d_un.d_ptr);
  for (size_t i = 0; i < count; ++i) {
    if (std::strcmp(names + symbols[ELF64_R_SYM(calls[i].r_info)].st_name, function) == 0) {
      return reinterpret_cast<std::atomic<Question>*>(library.l_addr + calls[i].r_offset);
    }
  }
  return nullptr;
}

}  // namespace

void be_no_accelerator_beside_another() {
  void* const library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  link_map* map = nullptr;
  if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return;
  std::atomic<Question>* const kept = kept_address(*map, "_ZN2at11accelerator13isAcceleratorEN3c1010DeviceTypeE");
  if (kept == nullptr) return;
  // Some systems have such addresses looked up and made read-only when a library is loaded.
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const start = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(kept) / page * page);
  if (mprotect(start, page, PROT_READ | PROT_WRITE) == 0) kept->store(is_accelerator);
}

}  // namespace opbridge::simulated
