// Attributes as words, so that equal attributes have equal bytes: of each, its kind, its count, and its value or those
// of its items, a string's bytes padded to words.
//
// Programs that were exported or kept on disk carry these bytes, so reading them trusts nothing.
#ifndef OPBRIDGE_NATIVE_CORE_ATTRIBUTE_WORDS_H
#define OPBRIDGE_NATIVE_CORE_ATTRIBUTE_WORDS_H

#include <cstring>
#include <string>
#include <vector>

#include "attributes.h"
#include "python.h"

namespace opbridge {

inline bool is_word_list(int32_t kind) {
  return kind == OB_ARG_INTS || kind == OB_ARG_FLOATS || kind == OB_ARG_INT_ROWS || kind == OB_ARG_FLOAT_ROWS;
}

class AttributeWriter {
 public:
  void add(const ob_arg& arg) {
    words_.push_back(arg.kind);
    words_.push_back(arg.count);
    if (arg.kind == OB_ARG_NONE) return;
    if (arg.kind == OB_ARG_STRING || arg.kind == OB_ARG_BOOLS)
      bytes(arg.v.s, static_cast<size_t>(arg.count));
    else if (is_word_list(arg.kind))
      bytes(arg.v.ints, static_cast<size_t>(arg.count) * sizeof(int64_t));
    else
      words_.push_back(arg.v.i);
  }
  Ref result() const {
    return Ref::checked(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(words_.data()),
                                                  static_cast<Py_ssize_t>(words_.size() * sizeof(int64_t))));
  }

 private:
  void bytes(const void* data, size_t size) {
    const size_t begin = words_.size();
    words_.resize(begin + size / sizeof(int64_t) + 1);  // one byte more at least, for a string's end
    if (size) std::memcpy(words_.data() + begin, data, size);
  }

  std::vector<int64_t> words_;
};

[[noreturn]] inline void damaged_attributes(const OpPlan& op, const std::string& expected) {
  raise("CallError", op.full_name() + ": the bytes of its attributes are damaged: expected " + expected +
                         "; make them, or the program that holds them, again");
}

// Reads back what AttributeWriter wrote; lists and strings lie in `words`.  Raises CallError for anything else.
class AttributeReader {
 public:
  AttributeReader(const OpPlan& op, const std::vector<int64_t>& words)
      : op_(op), next_(words.data()), end_(words.data() + words.size()) {}

  ob_arg read(const ArgPlan& arg) {
    if (left() < 2 || next_[0] != static_cast<int32_t>(next_[0]) || next_[1] != static_cast<int32_t>(next_[1]) ||
        next_[1] < 0)
      damaged(&arg);
    ob_arg value{static_cast<int32_t>(next_[0]), static_cast<int32_t>(next_[1]), {}};
    next_ += 2;
    if (!fits(arg, value.kind) || !take(value)) damaged(&arg);
    return value;
  }

  // After the last one.
  void end() const {
    if (next_ != end_) damaged(nullptr);
  }

 private:
  size_t left() const { return static_cast<size_t>(end_ - next_); }

  // Whether the kernel looks for the value where this kind has it.
  static bool fits(const ArgPlan& arg, int32_t kind) {
    if (kind == OB_ARG_NONE) return arg.has(kOptional);
    if (arg.has(kRows)) return kind == (arg.kind == Kind::Int ? OB_ARG_INT_ROWS : OB_ARG_FLOAT_ROWS);
    if (arg.has(kList)) return kind == list_kind(arg.kind);
    const bool is_number = kind == OB_ARG_BOOL || kind == OB_ARG_INT || kind == OB_ARG_FLOAT;
    if (arg.kind == Kind::String) return kind == OB_ARG_STRING;
    if (arg.kind == Kind::Dtype) return kind == OB_ARG_DTYPE;
    return is_number || (arg.kind == Kind::Other && (kind == OB_ARG_STRING || kind == OB_ARG_DTYPE));
  }

  bool take(ob_arg& value) {
    const auto count = static_cast<size_t>(value.count);
    if (value.kind == OB_ARG_NONE) return true;
    if (value.kind == OB_ARG_STRING || value.kind == OB_ARG_BOOLS)
      return take_bytes(value, count) && (value.kind == OB_ARG_BOOLS || value.v.s[count] == '\0');
    if (is_word_list(value.kind)) return take_bytes(value, count * sizeof(int64_t)) && are_rows(value);
    if (!left()) return false;
    value.v.i = *next_++;
    return value.kind != OB_ARG_DTYPE || (value.v.i >= 0 && value.v.i < OB_DTYPE_COUNT);
  }

  bool take_bytes(ob_arg& value, size_t size) {
    const size_t words = size / sizeof(int64_t) + 1;
    if (words > left()) return false;
    value.v.ints = next_;
    next_ += words;
    return true;
  }

  // Rows are how many there are, their lengths, and then all values.
  static bool are_rows(const ob_arg& value) {
    if (value.kind != OB_ARG_INT_ROWS && value.kind != OB_ARG_FLOAT_ROWS) return true;
    if (value.count < 1 || value.v.ints[0] < 0 || value.v.ints[0] >= value.count) return false;
    int64_t rest = value.count - 1 - value.v.ints[0];
    for (int64_t i = 1; i <= value.v.ints[0]; ++i) {
      if (value.v.ints[i] < 0 || value.v.ints[i] > rest) return false;
      rest -= value.v.ints[i];
    }
    return rest == 0;
  }

  [[noreturn]] void damaged(const ArgPlan* arg) const {
    damaged_attributes(op_, arg ? type_text(*arg) + " " + arg->name : "nothing more");
  }

  const OpPlan& op_;
  const int64_t* next_;
  const int64_t* end_;
};

}  // namespace opbridge

#endif
