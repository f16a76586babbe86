// The kinds of C++ parameter of a kernel: how each describes itself, and how it is made from the C call.
#ifndef OPBRIDGE_PARAM_H
#define OPBRIDGE_PARAM_H

#include <opbridge/bind.h>
#include <opbridge/half.h>

#include <new>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

// The primary template rejects a type: valid parameters are the specialisations below.
template <class T, class Enable = void>
struct Param {
  static_assert(
      sizeof(T) == 0,
      "ob: not a kernel parameter. Tensors are ob::In<T>, ob::Out<T>, ob::InOut<T>; attributes are bool, int, "
      "int64_t, float, double, ob::Scalar, ob::String, ob::Ints, ob::Floats, ob::Bools, ob::DType; both may "
      "be ob::Optional, and tensors ob::List");
};

// A dense layout needs no strides: the host copies tensors with gaps.  A strided one takes any tensor.
template <class Tensor, class T, class Layout, int32_t role>
struct TensorParam {
  static constexpr bool is_strided = std::is_same<Layout, strided>::value;
  static constexpr ob_param spec = {role, is_strided ? OB_PARAM_STRIDED : 0, dtype_of<T>.code};

  static Tensor make(const Call& call, const Slot& slot) {
    return Tensor(call.view(slot, is_strided ? call.explicit_strides(slot.first) : nullptr));
  }
};

template <class T, class Layout>
struct Param<In<T, Layout>> : TensorParam<In<T, Layout>, T, Layout, OB_PARAM_IN> {};

template <class T, class Layout>
struct Param<Out<T, Layout>> : TensorParam<Out<T, Layout>, T, Layout, OB_PARAM_OUT> {};

template <class T, class Layout>
struct Param<InOut<T, Layout>> : TensorParam<InOut<T, Layout>, T, Layout, OB_PARAM_INOUT> {};

// A slot of none means that the argument was omitted.
template <class T>
struct Param<Optional<T>> {
  static constexpr ob_param inner = Param<T>::spec;
  static constexpr ob_param spec = {inner.role, inner.flags | OB_PARAM_OPTIONAL, inner.type};

  static Optional<T> make(const Call& call, const Slot& slot) {
    return slot.count == 0 ? Optional<T>() : Optional<T>(Param<T>::make(call, slot));
  }
};

// The views of a list's tensors lie in the call's own memory, for as long as the call.
template <class T>
struct Param<List<T>> {
  static constexpr ob_param inner = Param<T>::spec;
  static constexpr ob_param spec = {inner.role, inner.flags | OB_PARAM_LIST, inner.type};
  static_assert(inner.role != OB_PARAM_ATTR, "ob::List holds tensors; numbers come as ob::Ints, ob::Floats, ob::Bools");

  static List<T> make(const Call& call, const Slot& slot) {
    T* items = table<T>(slot.count);
    for (int32_t i = 0; i < slot.count; ++i) {
      const int32_t at = slot.first + i;
      new (items + i) T(Param<T>::make(call, Slot{nullptr, at, call.missing(at) ? 0 : 1, call.numel(at)}));
    }
    return List<T>(items, slot.count);
  }
};

// The common part of attributes: one slot, and the kind that the schema must have.
template <int32_t kind>
struct Attribute {
  static constexpr ob_param spec = {OB_PARAM_ATTR, 0, kind};
};

template <>
struct Param<bool> : Attribute<OB_ARG_BOOL> {
  static bool make(const Call&, const Slot& slot) { return slot.arg->v.i != 0; }
};

// A schema's int is 64 bits wide, and a template's T may be narrower: a number that does not fit is refused.
template <class T>
struct Param<T, std::enable_if_t<std::is_integral<T>::value>> : Attribute<OB_ARG_INT> {
  static T make(const Call&, const Slot& slot) {
    const ob_arg& arg = *slot.arg;
    constexpr double bound = 9223372036854775808.0;  // 2^63
    const bool is_float = arg.kind == OB_ARG_FLOAT;
    if (is_float &&
        !(arg.v.d >= -bound && arg.v.d < bound && static_cast<double>(static_cast<int64_t>(arg.v.d)) == arg.v.d)) {
      fail("attribute ", arg.v.d, " is not a whole number, which the kernel takes here");
    }
    const int64_t value = is_float ? static_cast<int64_t>(arg.v.d) : arg.v.i;
    const T result = static_cast<T>(value);
    if (static_cast<int64_t>(result) != value || (std::is_unsigned<T>::value && value < 0)) {
      fail("attribute ", value, " does not fit the kernel's ", dtype_of<T>);
    }
    return result;
  }
};

template <class T>
struct Param<T, std::enable_if_t<std::is_floating_point<T>::value || is_short_float<T>>> : Attribute<OB_ARG_FLOAT> {
  static T make(const Call&, const Slot& slot) {
    return slot.arg->kind == OB_ARG_FLOAT ? static_cast<T>(slot.arg->v.d) : static_cast<T>(slot.arg->v.i);
  }
};

// The caller's number is an int or a float; the kernel can ask which.
template <>
struct Param<Scalar> : Attribute<OB_ARG_NONE> {
  static Scalar make(const Call&, const Slot& slot) {
    return slot.arg->kind == OB_ARG_FLOAT ? Scalar(slot.arg->v.d) : Scalar(slot.arg->v.i);
  }
};

template <>
struct Param<String> : Attribute<OB_ARG_STRING> {
  static String make(const Call&, const Slot& slot) { return String(slot.arg->v.s, slot.arg->count); }
};

template <>
struct Param<Ints> : Attribute<OB_ARG_INTS> {
  static Ints make(const Call&, const Slot& slot) { return Ints(slot.arg->v.ints, slot.arg->count); }
};

template <>
struct Param<Floats> : Attribute<OB_ARG_FLOATS> {
  static Floats make(const Call&, const Slot& slot) { return Floats(slot.arg->v.floats, slot.arg->count); }
};

template <>
struct Param<Bools> : Attribute<OB_ARG_BOOLS> {
  static Bools make(const Call&, const Slot& slot) { return Bools(slot.arg->v.bools, slot.arg->count); }
};

template <>
struct Param<DType> : Attribute<OB_ARG_DTYPE> {
  static DType make(const Call&, const Slot& slot) { return DType{static_cast<int32_t>(slot.arg->v.i)}; }
};

// The call itself; takes none of its arguments.
template <>
struct Param<Context> {
  static constexpr ob_param spec = {};
  static Context make(const Call& call, const Slot&) { return Context(call.host, call.stream, call.name); }
};

}  // namespace detail
}  // namespace ob
#endif
