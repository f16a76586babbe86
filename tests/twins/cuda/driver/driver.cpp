// What a test asks the driver API for: the first argument says what, the second names an image.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include <array>
#include <map>
#include <string>
#include <vector>

static const char* name_of(CUresult result) {
  const char* text = "?";
  cuGetErrorName(result, &text);
  return text;
}
#define SAY(call) printf("%s\n", name_of(call))
#define DO(call)                                        \
  if (const CUresult result = (call); result) {         \
    printf("line %d: %s\n", __LINE__, name_of(result)); \
    exit(1);                                            \
  }

static CUcontext begin() {
  CUcontext context;
  DO(cuInit(0));
  DO(cuCtxCreate(&context, 0, 0));
  return context;
}
static CUmodule module_of(const char* file) {
  CUmodule module;
  DO(cuModuleLoad(&module, file));
  return module;
}
static CUfunction function_of(CUmodule module, const char* name) {
  CUfunction function;
  DO(cuModuleGetFunction(&function, module, name));
  return function;
}
template <class T>
static CUdeviceptr on_device(const std::vector<T>& values) {
  CUdeviceptr memory;
  DO(cuMemAlloc(&memory, values.size() * sizeof(T)));
  DO(cuMemcpyHtoD(memory, values.data(), values.size() * sizeof(T)));
  return memory;
}
template <class T>
static std::vector<T> on_host(CUdeviceptr memory, size_t count) {
  std::vector<T> values(count);
  DO(cuMemcpyDtoH(values.data(), memory, count * sizeof(T)));
  return values;
}
static void set_factor(CUmodule module, float value) {
  CUdeviceptr factor;
  size_t bytes;
  const float values[] = {value, 0};
  DO(cuModuleGetGlobal(&factor, &bytes, module, "factor"));
  DO(cuMemcpyHtoD(factor, values, bytes));
}
static CUresult scale(CUmodule module, CUdeviceptr x, CUdeviceptr out, int n) {
  void* arguments[] = {&x, &out, &n};
  return cuLaunchKernel(function_of(module, "scale"), 3, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr);
}

static const std::vector<float> kX(64, 3);

static void launches(const char* file) {
  begin();
  const CUmodule module = module_of(file);
  set_factor(module, 2);
  const CUdeviceptr x = on_device(kX), out = on_device(std::vector<double>(64));
  DO(scale(module, x, out, 63));
  DO(cuCtxSynchronize());
  printf("%g\n", on_host<float>(out, 64)[63]);

  struct {
    char a;
    struct {
      char letter;
      double number;
    } b;
    short c;
    float d[3];
    CUdeviceptr out;
  } packed{1, {2, 3.5}, 4, {0, 0, 5}, out};
  size_t bytes = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  const CUfunction mixed = function_of(module, "_Z5mixedc4Pairs6float3Pd");
  DO(cuLaunchKernel(mixed, 1, 1, 1, 8, 1, 1, 0, nullptr, nullptr, extra));
  printf("%g\n", on_host<double>(out, 8)[7]);
  CUdeviceptr launches;
  DO(cuModuleGetGlobal(&launches, &bytes, module, "launches"));
  printf("%d in %zu\n", on_host<int>(launches, 1)[0], bytes);
  DO(cuModuleGetGlobal(&launches, nullptr, module, "_ZN5space5innerE"));
  printf("%d\n", on_host<int>(launches, 1)[0]);

  CUdeviceptr a = x, b = out;
  void* arguments[] = {&a, &b};
  const CUfunction sum = function_of(module, "shared_sum");
  DO(cuLaunchCooperativeKernel(sum, 1, 1, 1, 64, 1, 1, 64 * sizeof(float), nullptr, arguments));
  printf("%g\n", on_host<float>(out, 1)[0]);
  void* place[] = {&b};
  DO(cuLaunchKernel(function_of(module, "ask"), 1, 1, 1, 1, 1, 1, 0, CU_STREAM_PER_THREAD, place, nullptr));
  printf("%d\n", on_host<int>(out, 1)[0]);
  DO(cuLaunchKernel(function_of(module, "of_devices_alone"), 1, 1, 1, 1, 1, 1, 0, nullptr, place, nullptr));

  bytes = 8;
  SAY(cuLaunchKernel(mixed, 1, 1, 1, 8, 1, 1, 0, nullptr, nullptr, extra));
  SAY(cuLaunchKernel(mixed, 1, 1, 1, 8, 1, 1, 0, nullptr, nullptr, nullptr));
  SAY(cuLaunchKernel(sum, 1, 1, 1, 2048, 1, 1, 0, nullptr, arguments, nullptr));
  SAY(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  CUfunction absent;
  SAY(cuModuleGetFunction(&absent, module, "absent"));
  SAY(cuModuleGetFunction(&absent, module, "launches"));
  SAY(cuModuleGetGlobal(&a, nullptr, module, "scale"));
  DO(cuModuleUnload(module));
  SAY(cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  SAY(cuModuleUnload(module));
}

static void functions(const char* file) {
  begin();
  const CUmodule module = module_of(file);
  const CUfunction sum = function_of(module, "shared_sum"), mixed = function_of(module, "_Z5mixedc4Pairs6float3Pd");
  int value, grid, threads, blocks;
  DO(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, sum));
  DO(cuOccupancyMaxPotentialBlockSize(&grid, &threads, sum, [](int n) { return n * sizeof(float); }, 0, 0));
  DO(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum, threads, threads * sizeof(float)));
  printf("%d %d %d %d\n", value, grid, threads, blocks);
  const CUdeviceptr x = on_device(std::vector<float>(1024, 1));
  void* arguments[] = {const_cast<CUdeviceptr*>(&x), const_cast<CUdeviceptr*>(&x)};
  const unsigned much = 100 << 10;
  SAY(cuLaunchKernel(sum, 1, 1, 1, 32, 1, 1, much, nullptr, arguments, nullptr));
  DO(cuFuncSetAttribute(sum, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, much));
  SAY(cuLaunchKernel(sum, 1, 1, 1, 32, 1, 1, much, nullptr, arguments, nullptr));
  for (size_t i = 0, offset, bytes; cuFuncGetParamInfo(mixed, i, &offset, &bytes) == CUDA_SUCCESS; ++i) {
    printf("%zu:%zu ", offset, bytes);
  }
  const char* text;
  DO(cuFuncGetName(&text, mixed));
  puts(text);
}

static void memory(const char*) {
  begin();
  CUdeviceptr a, rows, begin_of;
  size_t bytes, pitch;
  DO(cuMemAlloc(&a, 64));
  DO(cuMemsetD8(a, 0xff, 64));
  DO(cuMemsetD16(a, 0x1234, 4));
  DO(cuMemsetD32Async(a + 16, 0x12345678, 4, nullptr));
  const auto values = on_host<unsigned>(a, 16);
  printf("%x %x %x\n", values[0], values[4], values[15]);
  DO(cuMemGetAddressRange(&begin_of, &bytes, a + 20));
  printf("%d %zu\n", begin_of == a, bytes);
  CUmemorytype type;
  unsigned managed;
  DO(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
  DO(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, a));
  printf("%d %u\n", type, managed);
  SAY(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&type)));

  DO(cuMemAllocPitch(&rows, &pitch, 12, 3, 4));
  const int square[3][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  CUDA_MEMCPY2D how{};
  how.srcMemoryType = CU_MEMORYTYPE_HOST;
  how.srcHost = square;
  how.srcPitch = how.WidthInBytes = 12;
  how.Height = 3;
  how.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  how.dstDevice = rows;
  how.dstPitch = pitch;
  DO(cuMemcpy2D(&how));
  CUarray array;
  const CUDA_ARRAY_DESCRIPTOR texels{3, 3, CU_AD_FORMAT_SIGNED_INT32, 1};
  DO(cuArrayCreate(&array, &texels));
  how = {};
  how.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  how.srcDevice = rows;
  how.srcPitch = pitch;
  how.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  how.dstArray = array;
  how.WidthInBytes = 12;
  how.Height = 3;
  DO(cuMemcpy2D(&how));
  int back[2][2];
  how = {};
  how.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  how.srcArray = array;
  how.srcXInBytes = 4;
  how.srcY = 1;
  how.dstMemoryType = CU_MEMORYTYPE_HOST;
  how.dstHost = back;
  how.dstPitch = how.WidthInBytes = 8;
  how.Height = 2;
  DO(cuMemcpy2D(&how));
  printf("%d %d %d %d\n", back[0][0], back[0][1], back[1][0], back[1][1]);

  CUstream stream;
  CUevent before, after;
  float milliseconds;
  DO(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  DO(cuEventCreate(&before, CU_EVENT_DEFAULT));
  DO(cuEventCreate(&after, CU_EVENT_DEFAULT));
  DO(cuEventRecord(before, stream));
  DO(cuMemcpyDtoDAsync(a, a + 16, 16, stream));
  DO(cuEventRecord(after, stream));
  DO(cuStreamSynchronize(stream));
  DO(cuEventElapsedTime(&milliseconds, before, after));
  printf("%x %d\n", on_host<unsigned>(a, 1)[0], milliseconds >= 0);
  SAY(cuMemFree(a + 4));
  SAY(cuMemcpyHtoD(a, back, 65));
  DO(cuMemFree(a));
  SAY(cuMemcpyHtoD(a, back, 4));
}

static void contexts(const char*) {
  CUdeviceptr memory;
  CUcontext first, second, found;
  int value;
  SAY(cuMemAlloc(&memory, 4));
  SAY(cuDeviceGetCount(&value));
  DO(cuInit(0));
  SAY(cuMemAlloc(&memory, 4));
  SAY(cuDeviceGet(&value, 1));
  DO(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0));
  printf("%d ", value);
  DO(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, 0));
  printf("%d ", value);
  DO(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0));
  printf("%d\n", value);
  void* function;
  cudaDriverEntryPointQueryResult is_found;
  DO(cuGetProcAddress("cuCtxCreate", &function, CUDA_VERSION, 0, nullptr));
  DO(reinterpret_cast<CUresult (*)(CUcontext*, unsigned, CUdevice)>(function)(&first, 0, 0));
  cudaGetDriverEntryPoint("cuInit", &function, cudaEnableDefault, &is_found);
  printf("%d %d\n", function == reinterpret_cast<void*>(cuInit), is_found);
  DO(cuDevicePrimaryCtxRetain(&second, 0));
  DO(cuCtxPushCurrent(second));
  DO(cuCtxPopCurrent(&found));
  printf("%d ", found == second);
  DO(cuCtxGetCurrent(&found));
  printf("%d\n", found == first);
  SAY(cuMemAlloc(&memory, 4));
  DO(cuCtxPushCurrent(second));
  DO(cuCtxDestroy(first));
  DO(cuCtxPopCurrent(nullptr));
  SAY(cuMemAlloc(&memory, 4));
  SAY(cuCtxPushCurrent(first));
  const char* text;
  cuGetErrorString(CUDA_ERROR_NO_BINARY_FOR_GPU, &text);
  puts(text);
  SAY(cuGetErrorName(static_cast<CUresult>(12345), &text));
}

static void wrong(const char* file) {
  begin();
  const CUmodule module = module_of(file);
  set_factor(module, 2);
  const CUdeviceptr x = on_device(kX), out = on_device(kX);
  SAY(scale(module, x, out, 64));
  SAY(cuCtxSynchronize());
  SAY(scale(module, x, out, 63));
}

static void twice(const char* file) {
  begin();
  const CUmodule one = module_of(file), other = module_of(file);
  set_factor(one, 10);
  set_factor(other, 100);
  const CUdeviceptr x = on_device(kX), out = on_device(kX);
  for (const CUmodule module : {one, other, one}) {
    DO(scale(module, x, out, 63));
    printf("%g ", on_host<float>(out, 64)[63]);
  }
}

static void images(const char* file) {
  begin();
  CUmodule module;
  SAY(cuModuleLoadData(&module, "garbage"));
  SAY(cuModuleLoadData(&module, "// of a GPU\n.version 8.0\n.target sm_80\n"));
  SAY(cuModuleLoadData(&module,
                       "\x7f"
                       "ELF\x02\x01\x01"));
  SAY(cuModuleLoadData(&module, "//opbridge-cuda-twin-image 100\nAAAA\n"));
  SAY(cuModuleLoadData(&module, "//opbridge-cuda-twin-image 3\nAAAA\n"));
  SAY(cuModuleLoadData(&module, nullptr));
  SAY(cuModuleLoad(&module, "/no/such/file"));
  CUlinkState link;
  void* image;
  size_t bytes;
  DO(cuLinkCreate(0, nullptr, nullptr, &link));
  DO(cuLinkAddFile(link, CU_JIT_INPUT_PTX, file, 0, nullptr, nullptr));
  DO(cuLinkComplete(link, &image, &bytes));
  SAY(cuModuleLoadData(&module, image));
  SAY(cuLinkAddData(link, CU_JIT_INPUT_PTX, image, bytes, "again", 0, nullptr, nullptr));
  DO(cuLinkDestroy(link));
}

int main(int, char** argv) {
  const std::map<std::string, void (*)(const char*)> cases{
      {"launches", launches}, {"functions", functions}, {"memory", memory}, {"contexts", contexts},
      {"wrong", wrong},       {"twice", twice},         {"images", images}};
  cases.at(argv[1])(argv[2]);
}
