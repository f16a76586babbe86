// Attributes as kernels get them, and the memory that they point to; none is taken for those that need none.
#ifndef OPBRIDGE_NATIVE_STANDALONE_STORAGE_H
#define OPBRIDGE_NATIVE_STANDALONE_STORAGE_H

#include <opbridge/abi.h>

#include <cstdint>
#include <forward_list>
#include <string>
#include <utility>
#include <vector>

namespace opbridge::standalone {

inline ob_arg integer(int64_t value, int32_t kind = OB_ARG_INT) {
  ob_arg arg{kind, 0, {}};
  arg.v.i = value;
  return arg;
}
inline ob_arg real(double value) {
  ob_arg arg{OB_ARG_FLOAT, 0, {}};
  arg.v.d = value;
  return arg;
}
inline ob_arg none() { return {OB_ARG_NONE, 0, {}}; }

// Owns what attributes point to.
class Storage {
 public:
  ob_arg text(std::string value) {
    const std::string& kept = strings_.emplace_front(std::move(value));
    ob_arg arg{OB_ARG_STRING, static_cast<int32_t>(kept.size()), {}};
    arg.v.s = kept.c_str();
    return arg;
  }
  ob_arg integers(std::vector<int64_t> values) {
    const auto& kept = integers_.emplace_front(std::move(values));
    ob_arg arg{OB_ARG_INTS, static_cast<int32_t>(kept.size()), {}};
    arg.v.ints = kept.data();
    return arg;
  }
  ob_arg reals(std::vector<double> values) {
    const auto& kept = reals_.emplace_front(std::move(values));
    ob_arg arg{OB_ARG_FLOATS, static_cast<int32_t>(kept.size()), {}};
    arg.v.floats = kept.data();
    return arg;
  }
  ob_arg bools(std::vector<uint8_t> values) {
    const auto& kept = bools_.emplace_front(std::move(values));
    ob_arg arg{OB_ARG_BOOLS, static_cast<int32_t>(kept.size()), {}};
    arg.v.bools = kept.data();
    return arg;
  }

 private:
  std::forward_list<std::string> strings_;
  std::forward_list<std::vector<int64_t>> integers_;
  std::forward_list<std::vector<double>> reals_;
  std::forward_list<std::vector<uint8_t>> bools_;
};

}  // namespace opbridge::standalone

#endif
