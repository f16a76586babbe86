#include "aot_library.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "../mindspore_types.h"
#include "aot_block.h"

namespace opbridge {
namespace {

using Shape = std::vector<int64_t>;

// The library's functions.  They pass vectors, which are the same whatever its strings are like, and some pass the
// block as a pointer to a class that only it knows.
using Init = int (*)(int*, int64_t**, const char**, void*);
using InferShape = Shape (*)(int*, int64_t**, void*);
using InferType = int (*)(std::vector<int>, void*);
using InferTypes = std::vector<int> (*)(std::vector<int>, void*);

int fail(const ob_call& call, const std::string& message) {
  std::snprintf(call.error, call.error_size, "%s", message.c_str());
  return 1;
}

// Runs a function of the library; its exception becomes the call's message.
template <class Body>
int guarded(const ob_call& call, const std::string& function, Body&& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    return fail(call, function + " threw: " + error.what());
  } catch (...) {
    return fail(call, function + " threw something that is not a std::exception");
  }
}

// Takes the shapes out of a vector of them, which came as a vector of words since that is safe whatever it was; false
// where its words are no such thing.
bool take_shapes(Shape& words, std::vector<Shape>& shapes) {
  static_assert(sizeof(Shape) == 3 * sizeof(int64_t), "a vector is its begin, its end and where its memory ends");
  if (words.size() != 3 * shapes.size()) return false;
  constexpr int64_t first_page = 4096;
  for (size_t i = 0; i < words.size(); i += 3) {
    const int64_t begin = words[i], end = words[i + 1], room = words[i + 2];
    if (begin == 0 && end == 0 && room == 0) continue;
    if (begin < first_page || begin % 8 || (end - begin) % 8 || end < begin || room < end) return false;
  }
  auto* found = reinterpret_cast<Shape*>(words.data());
  for (size_t i = 0; i < shapes.size(); ++i) shapes[i] = std::move(found[i]);
  return true;
}

// Everything of a call that a kernel's Init may have looked at.
class Key {
 public:
  Key(const ob_call& call, int nparam, const int* ndims, int64_t* const* shapes) {
    add(call.op, std::strlen(call.op) + 1);
    add(&call.device_type, sizeof call.device_type + sizeof call.device_index);
    for (int32_t i = 0; i < call.n_args; ++i) attribute(call.args[i], call.arg_names[i]);
    for (int i = 0; i < nparam; ++i) {
      add(call.dtypes + i, sizeof *call.dtypes);
      add(ndims + i, sizeof *ndims);
      add(shapes[i], static_cast<size_t>(ndims[i]) * sizeof **shapes);
    }
  }

  bool operator==(const Key& other) const { return bytes_ == other.bytes_; }

 private:
  void add(const void* data, size_t size) {
    if (size) bytes_.append(static_cast<const char*>(data), size);
  }

  void attribute(const ob_arg& arg, const char* name) {
    bytes_ += name;
    add("", 1);
    add(&arg.kind, sizeof arg.kind);
    add(&arg.count, sizeof arg.count);
    const auto count = static_cast<size_t>(arg.count);
    switch (arg.kind) {
      case OB_ARG_STRING:
      case OB_ARG_BOOLS:
        return add(arg.v.s, count);
      case OB_ARG_INTS:
      case OB_ARG_FLOATS:
      case OB_ARG_INT_ROWS:
      case OB_ARG_FLOAT_ROWS:
        return add(arg.v.ints, count * sizeof(int64_t));
      case OB_ARG_NONE:
      case OB_ARG_TENSOR:
      case OB_ARG_TENSORS:
        return;
      default:
        return add(&arg.v, sizeof arg.v);
    }
  }

  std::string bytes_;
};

// A function of a library with the state that its Init made for each key; a state is in use by one thread at a time.
class LoadedKernel final : public AotKernel {
 public:
  LoadedKernel(std::string symbol, const AotFunctions& functions, unsigned flags)
      : symbol_(std::move(symbol)), functions_(functions), flags_(flags) {}

  int run(const ob_call& call, int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes,
          void* stream) override {
    State state = take(Key(call, nparam, ndims, shapes));
    const bool is_new = !state.block;
    if (is_new) state.block = new_block();
    state.block->serve(call);
    if (is_new && functions_.init) {
      int status = 0;
      if (guarded(call, symbol_ + "Init", [&] {
            status = reinterpret_cast<Init>(functions_.init)(ndims, shapes, dtypes, state.block->extra());
          }))
        return 1;
      if (status) return fail(call, symbol_ + "Init returned " + std::to_string(status) + " (0 means success)");
    }
    std::vector<void*> all(params, params + nparam);
    for (const size_t bytes : state.block->workspace()) {
      void* buffer = call.scratch(call.host, bytes);
      if (!buffer) return fail(call, "out of memory: no workspace of " + std::to_string(bytes) + " bytes");
      all.push_back(buffer);
    }
    // A kernel that fails does not get its state again: who knows what it is like.
    const int status = functions_.kernel(static_cast<int>(all.size()), all.data(), ndims, shapes, dtypes, stream,
                                         state.block->extra());
    if (status == 0) give_back(std::move(state));
    return status;
  }

  const char* description() const override { return "an aot function with MindSpore's attribute block"; }

  bool infers() const override { return functions_.infer_shape; }

  int infer(const ob_call& call, const int* ndims, int64_t* const* shapes, std::vector<Output>& outputs) override {
    // MindSpore leaves out what is None.
    std::vector<int> ranks, types;
    std::vector<int64_t*> sizes;
    for (int32_t i = 0; i < call.n_inputs; ++i) {
      if (call.dtypes[i] < 0) continue;
      ranks.push_back(ndims[i]);
      sizes.push_back(shapes[i]);
      types.push_back(kMindSporeTypes[call.dtypes[i]]);
    }
    const std::unique_ptr<AotBlock> block = new_block();
    block->serve(call);
    const size_t count = outputs.size();
    std::vector<Shape> found(count);
    std::vector<int> found_types;
    Shape answer;
    if (guarded(call, symbol_ + "InferShape", [&] {
          const auto function = reinterpret_cast<InferShape>(functions_.infer_shape);
          answer = function(ranks.data(), sizes.data(), block->extra());
        }))
      return 1;
    constexpr int64_t most = int64_t{1} << 40;
    const bool is_shape = std::all_of(answer.begin(), answer.end(), [](int64_t size) { return size < most; });
    if (count == 1 && is_shape)
      found[0] = std::move(answer);
    else if (count == 1 || !take_shapes(answer, found))
      return fail(call, symbol_ + "InferShape does not return what the schema's " + std::to_string(count) +
                            " new outputs ask for: of one output a vector<int64_t>, of several a vector of those");
    if (!functions_.infer_type) {
      if (types.empty() || std::any_of(types.begin(), types.end(), [&](int type) { return type != types[0]; }))
        return fail(call, "its inputs are not of one element type, which its outputs would have; the library has no " +
                              symbol_ + "InferType: give an out rule");
      found_types.assign(count, types[0]);
    } else if (guarded(call, symbol_ + "InferType", [&] {
                 if (count == 1)
                   found_types.push_back(reinterpret_cast<InferType>(functions_.infer_type)(types, block->extra()));
                 else
                   found_types = reinterpret_cast<InferTypes>(functions_.infer_type)(types, block->extra());
               }))
      return 1;
    if (found_types.size() != count)
      return fail(call, "the schema has " + std::to_string(count) + " new outputs, " + symbol_ + "InferType gives " +
                            std::to_string(found_types.size()) + " types");
    for (size_t i = 0; i < count; ++i) {
      outputs[i] = {std::move(found[i]), dtype_of_mindspore(found_types[i])};
      if (outputs[i].dtype < 0)
        return fail(call, symbol_ + "InferType gives " + std::to_string(found_types[i]) +
                              ", which is not an element type of kernels");
    }
    return 0;
  }

 private:
  // What a kernel keeps for one kind of call.  A call has it for itself while it runs, since nothing says that two
  // threads could share it.
  struct State {
    Key key;
    std::unique_ptr<AotBlock> block;
  };
  static constexpr size_t kMostIdle = 32;

  std::unique_ptr<AotBlock> new_block() const {
    return flags_ & kOldStrings ? block_with_old_strings(flags_ & kDualAbi) : block_with_new_strings(flags_ & kDualAbi);
  }

  State take(Key key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::find_if(idle_.rbegin(), idle_.rend(), [&](const State& state) { return state.key == key; });
    if (found == idle_.rend()) return {std::move(key), nullptr};
    State state = std::move(*found);
    idle_.erase(std::next(found).base());
    return state;
  }

  void give_back(State state) {
    State oldest{state.key, nullptr};  // deleted outside the lock, as it runs the library's code
    const std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.size() == kMostIdle) {
      oldest = std::move(idle_.front());
      idle_.erase(idle_.begin());
    }
    idle_.push_back(std::move(state));
  }

  const std::string symbol_;
  const AotFunctions functions_;
  const unsigned flags_;
  std::mutex mutex_;
  std::vector<State> idle_;  // used least recently first
};

}  // namespace

AotKernel& aot_kernel(void* library, const std::string& symbol, const AotFunctions& functions, unsigned flags) {
  // Never freed, as libraries are never closed: when a process ends, a thread may still be in a kernel.
  static auto& known = *new std::map<std::pair<void*, std::string>, LoadedKernel>;
  static std::mutex& mutex = *new std::mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  return known.try_emplace({library, symbol}, symbol, functions, flags).first->second;
}

}  // namespace opbridge
