// How the driver API comes to the kernels of an image, of which it knows names alone: each enrolls itself.
#ifndef OPBRIDGE_TWIN_IMAGE_H
#define OPBRIDGE_TWIN_IMAGE_H

#include <opbridge_twin/runtime_templates.h>

#include <array>

namespace opbridge_twin {

template <class... P>
constexpr std::array<ob_twin_parameter, sizeof...(P) + 1> packed_parameters() {
  std::array<ob_twin_parameter, sizeof...(P) + 1> all{};
  [[maybe_unused]] size_t at = 0, i = 0;
  ((at = (at + alignof(P) - 1) / alignof(P) * alignof(P), all[i++] = {at, sizeof(P)}, at += sizeof(P)), ...);
  return all;
}

struct Enrolling {
  template <class... P>
  const void* operator()(void (*function)(P...)) const {
    static constexpr auto kParameters = packed_parameters<std::decay_t<P>...>();
    static constexpr ob_twin_function kFunction{call_lost<P...>, kParameters.data(), sizeof...(P)};
    const void* const address = reinterpret_cast<const void*>(function);
    ob_twin_enroll_function(address, &kFunction);
    return address;
  }
  const void* operator()(const volatile void* variable) const { return const_cast<const void*>(variable); }
};

// What a name stands for; of functions that share one nothing, for the name is none of theirs.
template <class Named>
auto enrolled(const Named& named, int) -> decltype(named(Enrolling{})) {
  return named(Enrolling{});
}
template <class Named>
const void* enrolled(const Named&, long) {
  return nullptr;
}

}  // namespace opbridge_twin

#define OB_TWIN_ENROLLED(...)                                                                                          \
  ::opbridge_twin::enrolled([](auto enrolling) -> decltype(enrolling(__VA_ARGS__)) { return enrolling(__VA_ARGS__); }, \
                            0)
#define OPBRIDGE_TWIN_OF_IMAGE(number, ...) \
  __attribute__((constructor)) static void opbridge_twin_of_image_##number() { OB_TWIN_ENROLLED(__VA_ARGS__); }
// `known` is what one that no other source knows is found by.
#define OPBRIDGE_TWIN_VARIABLE_OF_IMAGE(number, variable, known)                        \
  __attribute__((constructor)) static void opbridge_twin_variable_of_image_##number() { \
    ob_twin_enroll_variable(known, (void*)&variable, sizeof variable);                  \
  }
// Names whose symbols an NVRTC program requests.
#define OPBRIDGE_TWIN_NAMED(number, ...)                                   \
  extern "C" {                                                             \
  const void* opbridge_twin_named_##number = nullptr;                      \
  }                                                                        \
  __attribute__((constructor)) static void opbridge_twin_name_##number() { \
    opbridge_twin_named_##number = OB_TWIN_ENROLLED(__VA_ARGS__);          \
  }

#endif
