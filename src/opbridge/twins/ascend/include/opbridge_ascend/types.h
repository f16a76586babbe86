// The element types that an instruction takes, as documented for Atlas A2 and A3; others do not compile.
#ifndef OPBRIDGE_ASCEND_TYPES_H
#define OPBRIDGE_ASCEND_TYPES_H

#include <type_traits>

#include "qualifiers.h"

namespace AscendC {
namespace detail {

template <class T, class... Those>
constexpr bool one_of = (std::is_same<T, Those>::value || ...);

}  // namespace detail
}  // namespace AscendC

#define OPBRIDGE_ASCEND_TYPES(Name, T, ...)                               \
  static_assert(::AscendC::detail::one_of<T, __VA_ARGS__>,                \
                Name " takes elements of " #__VA_ARGS__                   \
                     " on Atlas A2 and A3, and these are others: Cast to" \
                     " one of them, or ReinterpretCast where only bits matter")

// Types of a destination and its sources, as float(half).
#define OPBRIDGE_ASCEND_PAIRS(Name, T, U, ...)                                             \
  static_assert(::AscendC::detail::one_of<T(U), __VA_ARGS__>,                              \
                Name " takes " #__VA_ARGS__                                                \
                     ", as destination(source), on Atlas A2 and A3, and these are others:" \
                     " Cast to one of them")

#endif
