// The functions through which MindSpore reaches every operator: `opbridge_target` of this extension, which returns a
// tuple, and `opbridge_target_of_one`, which returns a tensor; MindSpore is slow in making tuples.
//
// MindSpore passes C++ objects across this boundary, and it is built with -D_GLIBCXX_USE_CXX11_ABI=0; so is this file,
// and what it shares with the others (targets.h) holds no std::string.
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "targets.h"

static_assert(!_GLIBCXX_USE_CXX11_ABI, "compile this file with -D_GLIBCXX_USE_CXX11_ABI=0, as MindSpore is");

namespace mindspore {

// The public interface of MindSpore's custom operators, as far as it is used here: the order of the virtual functions
// and the layout are what counts.
class AotKernelData {
 public:
  virtual ~AotKernelData() = default;
};

// MindSpore's class as far as it is called: virtual functions in its order, then its data.
class AotExtra {
 public:
  virtual ~AotExtra() = default;
  virtual bool HasAttr(std::string name) = 0;
  virtual bool GetAttrBool(std::string name) = 0;
  virtual int64_t GetAttrInt(std::string name) = 0;

  std::vector<size_t> workspace;
  AotKernelData* kernel_data = nullptr;
};

}  // namespace mindspore

namespace {

using opbridge::Target;
using Shape = std::vector<int64_t>;

// The attribute of a primitive that says which operator it is.
constexpr const char* kNumber = "opbridge_target";

std::shared_ptr<Target> target_of(mindspore::AotExtra& extra) {
  const int64_t id = extra.GetAttrInt(kNumber);
  if (std::shared_ptr<Target> found = opbridge::published_target(id)) return found;
  throw std::runtime_error("operator " + std::to_string(id) +
                           " of opbridge is gone; a graph holds on to what its Python program let go of");
}

// A kernel of MindSpore: it keeps its operator alive.
struct KernelData final : mindspore::AotKernelData {
  explicit KernelData(std::shared_ptr<Target> of) : target(std::move(of)) {}
  const std::shared_ptr<Target> target;
};

std::vector<Shape> shapes_of_outputs(const int* ndims, int64_t* const* shapes, mindspore::AotExtra& extra) {
  const std::shared_ptr<Target> target = target_of(extra);
  std::vector<Shape> inputs(target->inputs());
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].assign(shapes[i], shapes[i] + ndims[i]);
  std::vector<Shape> found;
  for (Target::Output& output : target->infer(inputs)) found.push_back(std::move(output.shape));
  if (found.empty()) found.push_back({0});
  return found;
}

void keep_target(mindspore::AotExtra& extra) { extra.kernel_data = new KernelData(target_of(extra)); }

void run(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream, void* extra) {
  const auto* data = static_cast<KernelData*>(static_cast<mindspore::AotExtra*>(extra)->kernel_data);
  data->target->run(nparam, params, ndims, shapes, dtypes, stream);
}

}  // namespace

#define OB_EXPORT extern "C" __attribute__((visibility("default")))
// The interface is MindSpore's: C symbols with C++ types.
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wreturn-type-c-linkage"

OB_EXPORT std::vector<Shape> opbridge_targetInferShape(int* ndims, int64_t** shapes, mindspore::AotExtra* extra) {
  return shapes_of_outputs(ndims, shapes, *extra);
}

OB_EXPORT int opbridge_targetInit(int*, int64_t**, const char**, mindspore::AotExtra* extra) {
  keep_target(*extra);
  return 0;
}

OB_EXPORT int opbridge_target(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes,
                              void* stream, void* extra) {
  run(nparam, params, ndims, shapes, dtypes, stream, extra);
  return 0;
}

OB_EXPORT Shape opbridge_target_of_oneInferShape(int* ndims, int64_t** shapes, mindspore::AotExtra* extra) {
  return shapes_of_outputs(ndims, shapes, *extra).front();
}

OB_EXPORT int opbridge_target_of_oneInit(int*, int64_t**, const char**, mindspore::AotExtra* extra) {
  keep_target(*extra);
  return 0;
}

OB_EXPORT int opbridge_target_of_one(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes,
                                     void* stream, void* extra) {
  run(nparam, params, ndims, shapes, dtypes, stream, extra);
  return 0;
}
