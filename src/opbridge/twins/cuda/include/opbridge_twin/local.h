// Local arrays of device code.  The rewriting puts these words around their declarations; only checks make something of
// them: an array whose address is used lies between two pieces of memory that nobody may touch, and of one that the
// declaration gives no value it is known which elements have been written.
#ifndef OPBRIDGE_TWIN_LOCAL_H
#define OPBRIDGE_TWIN_LOCAL_H

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

extern "C" {
// Lies next to its array on the stack of the thread.
typedef struct ob_twin_local {
  const struct ob_twin_local* outer;
  uintptr_t begin;
  size_t bytes;
  size_t element_bytes;
  size_t margin;      // bytes around it that nobody may touch
  uint64_t* written;  // a bit for each element; null where that does not matter
  const char* name;
} ob_twin_local;
void ob_twin_local_begins(ob_twin_local* local, const void* array, size_t bytes, size_t element_bytes, size_t margin,
                          uint64_t* written, const char* name);
void ob_twin_local_ends(const ob_twin_local* local);
}

// What clang makes of loads before it instruments them may read elements that the program does not.
#if defined(OPBRIDGE_TWIN_CHECKS) && !defined(OPBRIDGE_TWIN_PROFILE) && !defined(__clang__)

namespace opbridge_twin {

constexpr size_t kLocalMargin = 64;

template <class Array, bool kTracks, bool kHasMargin>
class LocalArray {
 public:
  inline __attribute__((always_inline)) LocalArray(const volatile Array& array, const char* name) {
    ob_twin_local_begins(&local_, const_cast<const Array*>(&array), sizeof array, sizeof(Element),
                         kHasMargin ? kLocalMargin : 0, kIsTracked ? written_ : nullptr, name);
  }
  inline __attribute__((always_inline)) ~LocalArray() { ob_twin_local_ends(&local_); }
  LocalArray(const LocalArray&) = delete;
  LocalArray& operator=(const LocalArray&) = delete;

 private:
  using Element = std::remove_all_extents_t<Array>;
  // Larger elements are structures, of which a part may stay unwritten and be copied.
  static constexpr bool kIsTracked =
      kTracks && sizeof(Element) <= 16 && std::is_trivially_default_constructible_v<Element>;

  ob_twin_local local_;
  uint64_t written_[kIsTracked ? (sizeof(Array) / sizeof(Element) + 63) / 64 : 1];
};

}  // namespace opbridge_twin

#define OB_TWIN_WATCHED(name, tracks, has_margin, number)                                        \
  const ::opbridge_twin::LocalArray<std::remove_reference_t<decltype(name)>, tracks, has_margin> \
      opbridge_twin_local_##number(name, #name);
#define OB_TWIN_LOCAL(name, tracks, number) OB_TWIN_WATCHED(name, tracks, false, number)
#define OB_TWIN_LOCAL_OPENS \
  struct {                  \
    char opbridge_twin_before[::opbridge_twin::kLocalMargin];
#define OB_TWIN_LOCAL_BEHIND(number)                        \
  ;                                                         \
  char opbridge_twin_behind[::opbridge_twin::kLocalMargin]; \
  }                                                         \
  opbridge_twin_around_##number
#define OB_TWIN_LOCAL_VALUE(number, sign) OB_TWIN_LOCAL_BEHIND(number) = {{},
#define OB_TWIN_LOCAL_KNOWN(name, tracks, number)                   \
  [[maybe_unused]] auto& name = opbridge_twin_around_##number.name; \
  OB_TWIN_WATCHED(name, tracks, true, number)
#define OB_TWIN_LOCAL_CLOSES(name, tracks, number) \
  OB_TWIN_LOCAL_BEHIND(number);                    \
  OB_TWIN_LOCAL_KNOWN(name, tracks, number)
#define OB_TWIN_LOCAL_CLOSES_VALUE(name, tracks, number) \
  , {}                                                   \
  }                                                      \
  ;                                                      \
  OB_TWIN_LOCAL_KNOWN(name, tracks, number)

#else

#define OB_TWIN_LOCAL(name, tracks, number)
#define OB_TWIN_LOCAL_OPENS
#define OB_TWIN_LOCAL_VALUE(number, sign) sign
#define OB_TWIN_LOCAL_CLOSES(name, tracks, number) ;
#define OB_TWIN_LOCAL_CLOSES_VALUE(name, tracks, number) ;

#endif
#endif
