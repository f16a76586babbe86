// An operator as the native adapters see it, read from the words that plan.py writes.
//
// A plan is a block of little-endian int64 words followed by a pool of string bytes.  plan.py and this file are the two
// sides of one format, whose numbers stand in contracts.h.
#ifndef OPBRIDGE_NATIVE_PLAN_H
#define OPBRIDGE_NATIVE_PLAN_H

#include <opbridge/abi.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "contracts.h"

namespace opbridge {

// The default of an argument, and a constant in a formula.
struct Constant {
  ConstantTag tag = ConstantTag::None;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<Constant> items;
};

// One argument of the schema.
struct ArgPlan {
  std::string name;
  Kind kind = Kind::Other;
  int64_t flags = 0;
  int64_t list_size = -1;  // of `int[2]`, where one int stands for all
  Constant fallback;       // meaningful with kHasDefault

  bool has(ArgFlag flag) const { return (flags & flag) != 0; }
  bool is_tensor() const { return kind == Kind::Tensor; }
};

// One output: exactly one of an alias, a likeness, a program, or none of them, when the kernel says it.
struct OutPlan {
  std::string name;
  int64_t alias_arg = -1;  // the argument this return is, for in-place operators
  int64_t like_arg = -1;   // the argument it is allocated like; otherwise `program` says
  std::vector<int64_t> program;

  // Neither: the kernel is asked in each call.
  bool from_kernel() const { return alias_arg < 0 && like_arg < 0 && program.empty(); }
};

// What computes the gradients of some arguments: instructions for an adapter's formula machine.
struct FormulaPlan {
  std::vector<int64_t> targets;  // argument indices, one for each value the formula leaves
  std::vector<int64_t> code;
  std::vector<std::string> strings;  // that `code` refers to by index
};

// An operator as C++ knows it: complete, and never changed once read. A new definition is a new plan.
struct OpPlan {
  std::string ns, name, overload, schema;
  std::vector<ArgPlan> args;
  std::vector<OutPlan> outs;
  Batch batch = Batch::Loop;
  bool batch_declared = false;
  bool batch_broadcasts = false;       // tensors of unequal rank may be padded after the batch dimension
  std::vector<int64_t> batched_args;   // without Batch::Loop: which arguments may carry extra leading dimensions
  std::vector<int64_t> batched_ranks;  // and how many dimensions a sample of each has at least
  std::vector<FormulaPlan> formulas;
  std::vector<int64_t> saved_args, saved_outs;  // tensors the formulas read
  bool equal_shapes = false;                    // elementwise without broadcasting: kernels index all tensors alike

  // All new outputs come from the kernel, or none does.
  bool outputs_from_kernel() const {
    for (const OutPlan& out : outs)
      if (out.from_kernel()) return true;
    return false;
  }
  // Whether rules tell what the outputs are like, of any number of them.
  bool says_outputs() const {
    for (const OutPlan& out : outs)
      if (out.alias_arg < 0 && !out.from_kernel()) return true;
    return false;
  }
  std::string qualified_name() const { return ns + "::" + name; }
  std::string full_name() const { return overload.empty() ? qualified_name() : qualified_name() + "." + overload; }
};

// Reads plans from a block that may be damaged: each length is compared with the size of the block before it is used.
class PlanReader {
 public:
  PlanReader(const char* bytes, size_t size) : bytes_(bytes), size_(size) {
    constexpr size_t header = 4 * sizeof(int64_t);
    if (size < header || word_at(0) != kPlanMagic || word_at(1) != kPlanVersion) fail();
    count_ = word_at(2);
    words_ = word_at(3);
    if (words_ < 4 || static_cast<size_t>(words_) > size / sizeof(int64_t)) fail();
    if (count_ < 0 || count_ > words_ - 4) fail();
  }

  int64_t count() const { return count_; }

  OpPlan read(int64_t index) {
    if (index < 0 || index >= count_) fail();
    at_ = word_at(4 + index);
    OpPlan op;
    op.ns = text();
    op.name = text();
    op.overload = text();
    op.schema = text();
    op.args.resize(length());
    for (ArgPlan& arg : op.args) {
      arg.name = text();
      arg.kind = static_cast<Kind>(next());
      arg.flags = next();
      arg.list_size = next();
      if (arg.has(kHasDefault)) arg.fallback = constant();
    }
    op.outs.resize(length());
    for (OutPlan& out : op.outs) {
      out.name = text();
      out.alias_arg = argument_or_none(op);
      out.like_arg = argument_or_none(op);
      out.program = words();
    }
    op.batch = static_cast<Batch>(next());
    op.batch_declared = next() != 0;
    op.batch_broadcasts = next() != 0;
    op.batched_args = indices(op.args.size());
    op.batched_ranks = words();
    if (op.batched_ranks.size() != op.batched_args.size()) fail();
    op.formulas.resize(length());
    for (FormulaPlan& formula : op.formulas) {
      formula.targets = indices(op.args.size());
      formula.code = words();
      formula.strings.resize(length());
      for (std::string& s : formula.strings) s = text();
    }
    op.saved_args = indices(op.args.size());
    op.saved_outs = indices(op.outs.size());
    op.equal_shapes = op.batch == Batch::Elementwise;
    for (const OutPlan& out : op.outs) op.equal_shapes &= out.like_arg >= 0 || out.alias_arg >= 0;
    return op;
  }

 private:
  [[noreturn]] static void fail() {
    throw std::runtime_error(
        "a compiled operator plan is damaged or of another opbridge version; run `opbridge cache clear`");
  }

  int64_t word_at(int64_t index) const {
    int64_t word;
    std::memcpy(&word, bytes_ + index * sizeof(int64_t), sizeof word);
    return word;
  }

  int64_t next() {
    if (at_ < 4 || at_ >= words_) fail();
    return word_at(at_++);
  }

  size_t length() {
    const int64_t n = next();
    if (n < 0 || n > words_) fail();
    return static_cast<size_t>(n);
  }

  int64_t argument_or_none(const OpPlan& op) {
    const int64_t index = next();
    if (index < -1 || index >= static_cast<int64_t>(op.args.size())) fail();
    return index;
  }

  std::string text() {
    const int64_t offset = next(), n = next();
    const int64_t pool = words_ * static_cast<int64_t>(sizeof(int64_t));
    const int64_t room = static_cast<int64_t>(size_) - pool;
    if (offset < 0 || n < 0 || offset > room || n > room - offset) fail();
    return std::string(bytes_ + pool + offset, static_cast<size_t>(n));
  }

  std::vector<int64_t> words() {
    std::vector<int64_t> result(length());
    for (int64_t& word : result) word = next();
    return result;
  }

  std::vector<int64_t> indices(size_t end) {
    std::vector<int64_t> result = words();
    for (const int64_t index : result)
      if (index < 0 || static_cast<size_t>(index) >= end) fail();
    return result;
  }

  Constant constant() {
    Constant value;
    value.tag = static_cast<ConstantTag>(next());
    switch (value.tag) {
      case ConstantTag::None:
        break;
      case ConstantTag::Bool:
      case ConstantTag::Int:
      case ConstantTag::Dtype:
        value.integer = next();
        break;
      case ConstantTag::Float: {
        const int64_t bits = next();
        std::memcpy(&value.real, &bits, sizeof bits);
        break;
      }
      case ConstantTag::String:
        value.text = text();
        break;
      case ConstantTag::List:
        value.items.resize(length());
        for (Constant& item : value.items) item = constant();
        break;
      default:
        fail();
    }
    return value;
  }

  const char* bytes_;
  size_t size_;
  int64_t count_ = 0, words_ = 0, at_ = 0;
};

}  // namespace opbridge

#endif
