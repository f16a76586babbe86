// Kernels written to MindSpore's attribute block, for tests/native/test_aot_block.py.
#include <custom_aot_extra.h>

#include <atomic>
#include <cstring>
#include <stdexcept>

enum TypeId : int {};

namespace {

int64_t count(int ndim, const int64_t* shape) {
  int64_t product = 1;
  for (int i = 0; i < ndim; ++i) product *= shape[i];
  return product;
}

std::atomic<int64_t> living{0};

struct Scale : AotKernelData {
  Scale() { ++living; }
  ~Scale() override { --living; }
  float by = 1;
  int64_t calls = 0;
  bool busy = false;
};

}  // namespace

// out = x * scale, computed in the workspace.  The first element tells how often this state was used.
extern "C" int ScaleInit(int* ndims, int64_t** shapes, const char** dtypes, AotExtra* extra) {
  auto* data = new Scale;
  extra->SetKernelData(data);
  if (std::strcmp(dtypes[0], "float32") != 0) return 7;
  data->by = extra->Attr<float>("scale");
  if (data->by < 0) throw std::invalid_argument("a negative scale");
  extra->SetWorkSpace({count(ndims[0], shapes[0]) * sizeof(float), 8});
  return 0;
}

extern "C" int Scale(int nparam, void** params, int* ndims, int64_t** shapes, const char**, void*, void* block) {
  if (nparam != 4) return 2;
  auto* data = static_cast<struct Scale*>(static_cast<AotExtra*>(block)->KernelData());
  if (data->busy) return 3;
  data->busy = true;
  const auto* x = static_cast<const float*>(params[0]);
  auto* out = static_cast<float*>(params[1]);
  auto* room = static_cast<float*>(params[2]);
  const int64_t n = count(ndims[0], shapes[0]);
  for (int64_t i = 0; i < n; ++i) room[i] = x[i] * data->by;
  for (int64_t i = 0; i < n; ++i) out[i] = room[i];
  if (n) out[0] = static_cast<float>(++data->calls);
  data->busy = false;
  return 0;
}

extern "C" std::vector<int64_t> ScaleInferShape(int* ndims, int64_t** shapes, AotExtra*) {
  return {shapes[0], shapes[0] + ndims[0]};
}

extern "C" TypeId ScaleInferType(std::vector<TypeId> types, AotExtra*) { return types[0]; }

// Says the shape of its output, and not the type.
extern "C" std::vector<int64_t> DoubledInferShape(int* ndims, int64_t** shapes, AotExtra*) {
  return {shapes[0], shapes[0] + ndims[0]};
}

extern "C" int Doubled(int, void** params, int* ndims, int64_t** shapes, const char**, void*, void*) {
  const auto* x = static_cast<float*>(params[0]);
  auto* out = static_cast<float*>(params[2]);
  int64_t n = 1;
  for (int i = 0; i < ndims[0]; ++i) n *= shapes[0][i];
  for (int64_t i = 0; i < n; ++i) out[i] = 2 * x[i];
  return 0;
}

extern "C" int Living(int, void** params, int*, int64_t**, const char**, void*, void*) {
  *static_cast<int64_t*>(params[0]) = living;
  return 0;
}

// Every type of attribute, read in the kernel itself, which has neither Init nor infer functions.
extern "C" int Describe(int, void** params, int*, int64_t**, const char**, void*, void* block) {
  auto& extra = *static_cast<AotExtra*>(block);
  auto* out = static_cast<double*>(params[0]);
  *out++ = extra.Attr<bool>("flag");
  *out++ = static_cast<double>(extra.Attr<int64_t>("number"));
  *out++ = extra.Attr<float>("real");
  *out++ = static_cast<double>(extra.Attr<std::string>("text").size());
  *out++ = extra.HasAttr("maybe");
  *out++ = extra.HasAttr("an attribute with quite a long name that nobody has");
  double sum = 0;
  for (const int64_t value : extra.Attr<std::vector<int64_t>>("numbers")) sum = sum * 10 + static_cast<double>(value);
  *out++ = sum;
  sum = 0;
  for (const float value : extra.Attr<std::vector<float>>("reals")) sum += value;
  *out++ = sum;
  return 0;
}

// Each row of the attributes summed, the ints' first.
extern "C" int RowSums(int, void** params, int*, int64_t**, const char**, void*, void* block) {
  auto& extra = *static_cast<AotExtra*>(block);
  auto* out = static_cast<double*>(params[0]);
  for (const auto& row : extra.Attr<std::vector<std::vector<int64_t>>>("ints")) {
    *out = 0;
    for (const int64_t value : row) *out += static_cast<double>(value);
    ++out;
  }
  for (const auto& row : extra.Attr<std::vector<std::vector<float>>>("floats")) {
    *out = 0;
    for (const float value : row) *out += value;
    ++out;
  }
  return 0;
}

// With a tensor, by which a call is known to be a framework's.
extern "C" int RowSumsOf(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream,
                         void* block) {
  return RowSums(nparam - 1, params + 1, ndims + 1, shapes + 1, dtypes + 1, stream, block);
}

// Reads one attribute as whatever `as` says.
extern "C" int Ask(int, void**, int*, int64_t**, const char**, void*, void* block) {
  auto& extra = *static_cast<AotExtra*>(block);
  const std::string as = extra.Attr<std::string>("wanted");
  if (as == "bool") extra.Attr<bool>("value");
  if (as == "int") extra.Attr<int64_t>("value");
  if (as == "float") extra.Attr<float>("value");
  if (as == "str") extra.Attr<std::string>("value");
  if (as == "ints") extra.Attr<std::vector<int64_t>>("value");
  if (as == "floats") extra.Attr<std::vector<float>>("value");
  if (as == "rows") extra.Attr<std::vector<std::vector<int64_t>>>("value");
  if (as == "real rows") extra.Attr<std::vector<std::vector<float>>>("value");
  if (as == "nothing") extra.Attr<int64_t>("nothing");
  return 0;
}

// The first `n` elements and the rest, in two outputs; the second as doubles.
extern "C" int Split(int, void** params, int*, int64_t** shapes, const char**, void*, void*) {
  const auto* x = static_cast<const float*>(params[0]);
  auto* head = static_cast<float*>(params[1]);
  auto* tail = static_cast<double*>(params[2]);
  for (int64_t i = 0; i < shapes[1][0]; ++i) head[i] = *x++;
  for (int64_t i = 0; i < shapes[2][0]; ++i) tail[i] = *x++;
  return 0;
}

extern "C" std::vector<std::vector<int64_t>> SplitInferShape(int*, int64_t** shapes, AotExtra* extra) {
  const int64_t n = extra->Attr<int64_t>("n");
  if (shapes[0][0] == -1) return {{n}, {-1}};
  if (n > shapes[0][0]) throw std::out_of_range("there are not so many elements");
  return {{n}, {shapes[0][0] - n}};
}

extern "C" std::vector<TypeId> SplitInferType(std::vector<TypeId> types, AotExtra* extra) {
  const auto float64 = static_cast<TypeId>(44);
  return {types[0], extra->HasAttr("type") ? static_cast<TypeId>(extra->Attr<int64_t>("type")) : float64};
}

// The number that the host has for the type of x.
static int64_t type_of_x;

extern "C" int TypeNumber(int, void** params, int*, int64_t**, const char**, void*, void*) {
  *static_cast<int64_t*>(params[1]) = type_of_x;
  return 0;
}

extern "C" std::vector<int64_t> TypeNumberInferShape(int*, int64_t**, AotExtra*) { return {1}; }

extern "C" TypeId TypeNumberInferType(std::vector<TypeId> types, AotExtra*) {
  type_of_x = types[0];
  return static_cast<TypeId>(35);  // int64
}
