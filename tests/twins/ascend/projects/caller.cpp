// Calls ScaledSum in aclnn's two phases: z = x * 0.5 + y, and prints z and the status of calls that are wrong.
#include <acl/acl.h>
#include <aclnn_scaled_sum.h>
#include <stdio.h>

#include <vector>

namespace {

constexpr int64_t kCount = 6;

void* on_device(const std::vector<float>& values) {
  void* memory = nullptr;
  const size_t bytes = values.size() * sizeof(float);
  aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemcpy(memory, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
  return memory;
}

aclTensor* tensor(void* data, int64_t stride = 1, aclDataType type = ACL_FLOAT) {
  return aclCreateTensor(&kCount, 1, type, &stride, 0, ACL_FORMAT_ND, &kCount, 1, data);
}

}  // namespace

int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  std::vector<float> x{0, 1, 2, 3, 4, 5}, y(kCount, 10), z(kCount);
  void *const of_x = on_device(x), *const of_y = on_device(y), *const of_z = on_device(z);
  aclTensor *const a = tensor(of_x), *const b = tensor(of_y), *const c = tensor(of_z);

  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  void* workspace = nullptr;
  printf("plan %d\n", aclnnScaledSumGetWorkspaceSize(a, b, 0.5, c, &bytes, &executor));
  aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
  printf("run %d\n", aclnnScaledSum(workspace, bytes, executor, nullptr));
  aclrtMemcpy(z.data(), kCount * sizeof(float), of_z, kCount * sizeof(float), ACL_MEMCPY_DEVICE_TO_HOST);
  for (const float value : z) printf("%g ", value);

  printf("\nno input %d\n", aclnnScaledSumGetWorkspaceSize(nullptr, b, 0.5, c, &bytes, &executor));
  aclTensor *const gaps = tensor(of_x, 2), *const integers = tensor(of_x, 1, ACL_INT32);
  printf("gaps %d\n", aclnnScaledSumGetWorkspaceSize(gaps, nullptr, 0.5, c, &bytes, &executor));
  printf("elements %d\n", aclnnScaledSumGetWorkspaceSize(integers, nullptr, 0.5, c, &bytes, &executor));
  aclTensor* const scalar = aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, of_x);
  printf("tiling %d\n", aclnnScaledSumGetWorkspaceSize(scalar, nullptr, 0.5, c, &bytes, &executor));
  aclnnScaledSumGetWorkspaceSize(a, nullptr, 0.5, c, &bytes, &executor);
  printf("workspace %d\n", aclnnScaledSum(nullptr, 0, executor, nullptr));
  printf("executor %d\n", aclnnScaledSum(workspace, bytes, nullptr, nullptr));
  for (aclTensor* const one : {a, b, c, gaps, integers, scalar}) aclDestroyTensor(one);
}
