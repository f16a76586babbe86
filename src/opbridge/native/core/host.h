// What the core gives a kernel beyond its arguments.
#ifndef OPBRIDGE_NATIVE_CORE_HOST_H
#define OPBRIDGE_NATIVE_CORE_HOST_H

#include <opbridge/pool.h>

#include "../invoke.h"

namespace opbridge {

inline HostServices cpu_services(ScratchArena& memory) {
  HostServices services;
  services.host = &memory;
  services.scratch = [](void* arena, size_t bytes) { return static_cast<ScratchArena*>(arena)->take(bytes); };
  services.parallel = [](void*, int64_t n, int64_t grain, void (*body)(void*, int64_t, int64_t), void* state) {
    ob::pool.run(n, grain, body, state);
  };
  return services;
}

// On another device there is its stream, and no memory that the core could hand out.
inline HostServices services_on(int32_t device_type, ScratchArena& memory, void* stream) {
  if (device_type == OB_DEVICE_CPU) return cpu_services(memory);
  HostServices services;
  services.scratch = [](void*, size_t) -> void* { return nullptr; };
  services.stream = stream;
  services.device_type = device_type;
  return services;
}

}  // namespace opbridge

#endif
