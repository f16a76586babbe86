// What a rule sees of a call: the attributes as the kernel gets them, and the tensors as the host has them.
#ifndef OPBRIDGE_NATIVE_RULE_ARGUMENTS_H
#define OPBRIDGE_NATIVE_RULE_ARGUMENTS_H

#include <opbridge/abi.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "plan.h"
#include "rule_values.h"

namespace opbridge {

// Where the tensors of a list that is None begin.
constexpr int64_t kNoList = -1;

// `Tensors` knows the tensors by their place among all of the call, absent ones counted:
//   bool present(int64_t);  int64_t rank(int64_t);  int64_t dim(int64_t, int64_t k);  int dtype(int64_t);
template <class Tensors>
struct RuleArguments {
  const OpPlan& op;
  const ob_arg* args;
  Tensors tensors;

  int64_t place(int arg, int item) const {
    const ob_arg& use = args[arg];
    const std::string& name = op.args[static_cast<size_t>(arg)].name;
    if (is_none(arg)) throw RuleFailure("the rule needs argument '" + name + "', which is None");
    const int count = use.kind == OB_ARG_TENSORS ? use.count : 1;
    const int index = item < 0 ? item + count : item;
    if (index < 0 || index >= count)
      throw RuleFailure("the rule needs '" + name + "[" + std::to_string(item) + "]', the list has " +
                        std::to_string(count));
    if (!tensors.present(use.v.first + index))
      throw RuleFailure("the rule needs '" + name + "[" + std::to_string(item) + "]', which is None");
    return use.v.first + index;
  }

  int64_t rank(int arg, int item) const { return tensors.rank(place(arg, item)); }
  int64_t dim(int arg, int item, int64_t k) const { return tensors.dim(place(arg, item), k); }
  int dtype(int arg, int item) const { return tensors.dtype(place(arg, item)); }
  bool is_none(int arg) const {
    const ob_arg& use = args[arg];
    if (use.kind == OB_ARG_TENSOR) return !tensors.present(use.v.first);
    return use.kind == OB_ARG_NONE || (use.kind == OB_ARG_TENSORS && use.v.first == kNoList);
  }
  int64_t length(int arg) const { return args[arg].count; }
  int64_t int_value(int arg) const { return args[arg].v.i; }
  double float_value(int arg) const {
    return args[arg].kind == OB_ARG_FLOAT ? args[arg].v.d : static_cast<double>(args[arg].v.i);
  }
  bool bool_value(int arg) const { return args[arg].v.i != 0; }
  int64_t list_item(int arg, int64_t k) const { return args[arg].v.ints[k]; }
  double float_item(int arg, int64_t k) const { return args[arg].v.floats[k]; }
  bool bool_item(int arg, int64_t k) const { return args[arg].v.bools[k] != 0; }
  int dtype_value(int arg) const { return static_cast<int>(args[arg].v.i); }
  std::string_view string_value(int arg) const { return {args[arg].v.s, static_cast<size_t>(args[arg].count)}; }
};

}  // namespace opbridge

#endif
