// cuFFT: plans, and where the elements of a transform lie.
#include <cufft.h>

#include <map>
#include <memory>
#include <mutex>

#include "library_call.h"
#include "transform.h"

namespace {

using opbridge_twin::LibraryCall;
using namespace opbridge_twin::fft;

// Of one side of a plan: how many elements there are in each dimension of memory, and how far apart.
struct Layout {
  std::vector<size_t> embed;
  size_t stride, apart;

  size_t place(size_t batch, const std::vector<size_t>& index) const {
    size_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at = at * embed[d] + index[d];
    return batch * apart + at * stride;
  }
  size_t span(size_t batches, std::vector<size_t> extent) const {
    for (size_t& one : extent) --one;
    return place(batches - 1, extent) + 1;
  }
};

// What a handle stands for.  One that is executed stays alive although another thread destroys its handle.
struct Plan {
  cufftType type;
  std::vector<size_t> sizes;
  size_t batches;
  Layout from, to;
  // Nobody said where elements lie.
  bool is_plain;
};

// Handles are numbers in cuFFT, and never used again, so that a destroyed one is recognized.
struct Plans {
  std::mutex guard;
  std::map<cufftHandle, std::shared_ptr<Plan>> known;
  cufftHandle last = 0;
};
Plans& plans() {
  static auto& all = *new Plans;
  return all;
}
std::shared_ptr<Plan> find(cufftHandle handle) {
  const std::lock_guard<std::mutex> hold(plans().guard);
  const auto found = plans().known.find(handle);
  return found == plans().known.end() ? nullptr : found->second;
}

bool is_real_to_complex(cufftType type) { return type == CUFFT_R2C || type == CUFFT_D2Z; }
bool is_complex_to_real(cufftType type) { return type == CUFFT_C2R || type == CUFFT_Z2D; }
bool is_type(int type) {
  return type == CUFFT_C2C || type == CUFFT_R2C || type == CUFFT_C2R || type == CUFFT_Z2Z || type == CUFFT_D2Z ||
         type == CUFFT_Z2D;
}

// Of the complex numbers of a real signal one half says all.
std::vector<size_t> half(std::vector<size_t> sizes) {
  sizes.back() = sizes.back() / 2 + 1;
  return sizes;
}

Layout plain_layout(std::vector<size_t> extent) {
  size_t all = 1;
  for (const size_t one : extent) all *= one;
  return {std::move(extent), 1, all};
}

Layout given_layout(int rank, const int* embed, int stride, int apart) {
  return {std::vector<size_t>(embed, embed + rank), static_cast<size_t>(stride), static_cast<size_t>(apart)};
}

cufftResult make(cufftHandle handle, Plan plan) {
  if (!is_type(plan.type)) return CUFFT_INVALID_TYPE;
  for (const size_t one : plan.sizes) {
    if (one == 0 || one > size_t{1} << 30) return CUFFT_INVALID_SIZE;
  }
  if (plan.batches == 0 || plan.batches > size_t{1} << 30) return CUFFT_INVALID_SIZE;
  const std::lock_guard<std::mutex> hold(plans().guard);
  const auto found = plans().known.find(handle);
  if (found == plans().known.end()) return CUFFT_INVALID_PLAN;
  if (plan.is_plain) {
    plan.from = plain_layout(is_complex_to_real(plan.type) ? half(plan.sizes) : plan.sizes);
    plan.to = plain_layout(is_real_to_complex(plan.type) ? half(plan.sizes) : plan.sizes);
  }
  found->second = std::make_shared<Plan>(std::move(plan));
  return CUFFT_SUCCESS;
}

template <class Make>
cufftResult create(cufftHandle* handle, const Make& make_plan) {
  const cufftResult made = cufftCreate(handle);
  if (made != CUFFT_SUCCESS) return made;
  const cufftResult result = make_plan(*handle);
  if (result != CUFFT_SUCCESS) cufftDestroy(*handle);
  return result;
}

Complex wide(float x) { return x; }
Complex wide(double x) { return x; }
Complex wide(cuComplex x) { return {x.x, x.y}; }
Complex wide(cuDoubleComplex x) { return {x.x, x.y}; }
void narrow(Complex x, float* to) { *to = static_cast<float>(x.real()); }
void narrow(Complex x, double* to) { *to = x.real(); }
void narrow(Complex x, cuComplex* to) { *to = {static_cast<float>(x.real()), static_cast<float>(x.imag())}; }
void narrow(Complex x, cuDoubleComplex* to) { *to = {x.real(), x.imag()}; }

// Calls `visit` with each index of an extent, and its number in a plain one.
template <class Visit>
void each_index(const std::vector<size_t>& extent, const Visit& visit) {
  size_t all = 1;
  for (const size_t one : extent) all *= one;
  std::vector<size_t> index(extent.size());
  for (size_t number = 0; number < all; ++number) {
    size_t rest = number;
    for (size_t d = extent.size(); d-- > 0; rest /= extent[d]) index[d] = rest % extent[d];
    visit(index, number);
  }
}

// The half that is not stored is the conjugate of the other, at the negated index.
void fill_other_half(Signal& data, const std::vector<size_t>& sizes, const Signal& stored,
                     const std::vector<size_t>& extent) {
  each_index(sizes, [&](std::vector<size_t> index, size_t number) {
    const bool is_stored = index.back() < extent.back();
    for (size_t d = 0; !is_stored && d < index.size(); ++d) index[d] = (sizes[d] - index[d]) % sizes[d];
    size_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at = at * extent[d] + index[d];
    data[number] = is_stored ? stored[at] : std::conj(stored[at]);
  });
}

template <class From, class To>
cufftResult execute(const LibraryCall& call, cufftHandle handle, cufftType type, const From* from, To* to, int sign) {
  const std::shared_ptr<Plan> plan = find(handle);
  if (plan == nullptr || plan->type != type) return CUFFT_INVALID_PLAN;
  if (sign != CUFFT_FORWARD && sign != CUFFT_INVERSE) return CUFFT_INVALID_VALUE;
  const std::vector<size_t>& sizes = plan->sizes;
  const std::vector<size_t> given = is_complex_to_real(type) ? half(sizes) : sizes;
  const std::vector<size_t> wanted = is_real_to_complex(type) ? half(sizes) : sizes;
  Layout source = plan->from, target = plan->to;
  const bool in_place = static_cast<const void*>(from) == static_cast<const void*>(to);
  if (plan->is_plain && in_place && type != CUFFT_C2C && type != CUFFT_Z2Z) {
    // Real numbers leave room for the complex ones in their place.
    std::vector<size_t> padded = half(sizes);
    padded.back() *= 2;
    (is_real_to_complex(type) ? source : target) = plain_layout(padded);
  }
  const bool there =
      call.reads(from, source.span(plan->batches, given)) && call.writes(to, target.span(plan->batches, wanted));
  if (!there) return CUFFT_EXEC_FAILED;
  size_t all = 1;
  for (const size_t one : sizes) all *= one;
  for (size_t batch = 0; batch < plan->batches; ++batch) {
    Signal data(all), stored(all);
    each_index(given, [&](const std::vector<size_t>& index, size_t number) {
      stored[number] = wide(from[source.place(batch, index)]);
    });
    if (is_complex_to_real(type)) {
      fill_other_half(data, sizes, stored, given);
    } else {
      data = std::move(stored);
    }
    transform(data, sizes, sign);
    each_index(sizes, [&](const std::vector<size_t>& index, size_t number) {
      if (index.back() < wanted.back()) narrow(data[number], &to[target.place(batch, index)]);
    });
  }
  return CUFFT_SUCCESS;
}

Plan plan_of(cufftType type, std::vector<int> sizes, int batch) {
  return {type, {sizes.begin(), sizes.end()}, static_cast<size_t>(batch), {}, {}, true};
}

}  // namespace

cufftResult cufftCreate(cufftHandle* handle) {
  if (handle == nullptr) return CUFFT_INVALID_VALUE;
  const std::lock_guard<std::mutex> hold(plans().guard);
  *handle = ++plans().last;
  plans().known.emplace(*handle, nullptr);
  return CUFFT_SUCCESS;
}
cufftResult cufftDestroy(cufftHandle handle) {
  const std::lock_guard<std::mutex> hold(plans().guard);
  return plans().known.erase(handle) != 0 ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

cufftResult cufftMakePlan1d(cufftHandle handle, int nx, cufftType type, int batch, size_t* work) {
  if (work != nullptr) *work = 0;
  return make(handle, plan_of(type, {nx}, batch));
}
cufftResult cufftMakePlan2d(cufftHandle handle, int nx, int ny, cufftType type, size_t* work) {
  if (work != nullptr) *work = 0;
  return make(handle, plan_of(type, {nx, ny}, 1));
}
cufftResult cufftMakePlan3d(cufftHandle handle, int nx, int ny, int nz, cufftType type, size_t* work) {
  if (work != nullptr) *work = 0;
  return make(handle, plan_of(type, {nx, ny, nz}, 1));
}
cufftResult cufftMakePlanMany(cufftHandle handle, int rank, int* n, int* inembed, int istride, int idist, int* onembed,
                              int ostride, int odist, cufftType type, int batch, size_t* work) {
  if (rank < 1 || rank > 3 || n == nullptr || (inembed == nullptr) != (onembed == nullptr)) return CUFFT_INVALID_VALUE;
  if (work != nullptr) *work = 0;
  Plan plan = plan_of(type, {n, n + rank}, batch);
  if (inembed != nullptr) {
    plan.is_plain = false;
    plan.from = given_layout(rank, inembed, istride, idist);
    plan.to = given_layout(rank, onembed, ostride, odist);
  }
  return make(handle, std::move(plan));
}
cufftResult cufftPlan1d(cufftHandle* handle, int nx, cufftType type, int batch) {
  return create(handle, [=](cufftHandle made) { return cufftMakePlan1d(made, nx, type, batch, nullptr); });
}
cufftResult cufftPlan2d(cufftHandle* handle, int nx, int ny, cufftType type) {
  return create(handle, [=](cufftHandle made) { return cufftMakePlan2d(made, nx, ny, type, nullptr); });
}
cufftResult cufftPlan3d(cufftHandle* handle, int nx, int ny, int nz, cufftType type) {
  return create(handle, [=](cufftHandle made) { return cufftMakePlan3d(made, nx, ny, nz, type, nullptr); });
}
cufftResult cufftPlanMany(cufftHandle* handle, int rank, int* n, int* inembed, int istride, int idist, int* onembed,
                          int ostride, int odist, cufftType type, int batch) {
  return create(handle, [=](cufftHandle made) {
    return cufftMakePlanMany(made, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, nullptr);
  });
}

cufftResult cufftGetSize(cufftHandle handle, size_t* work) {
  if (work == nullptr) return CUFFT_INVALID_VALUE;
  *work = 0;
  return find(handle) == nullptr ? CUFFT_INVALID_PLAN : CUFFT_SUCCESS;
}
cufftResult cufftSetStream(cufftHandle handle, cudaStream_t) {
  return find(handle) == nullptr ? CUFFT_INVALID_PLAN : CUFFT_SUCCESS;
}
// A plan takes no memory of a program's.
cufftResult cufftSetAutoAllocation(cufftHandle, int) { return CUFFT_SUCCESS; }
cufftResult cufftSetWorkArea(cufftHandle, void*) { return CUFFT_SUCCESS; }
cufftResult cufftGetVersion(int* version) {
  if (version == nullptr) return CUFFT_INVALID_VALUE;
  *version = CUFFT_VERSION;
  return CUFFT_SUCCESS;
}

cufftResult cufftExecC2C(cufftHandle handle, cufftComplex* from, cufftComplex* to, int direction) {
  OB_TWIN_LIBRARY_CALL;
  return execute(call, handle, CUFFT_C2C, from, to, direction);
}
cufftResult cufftExecR2C(cufftHandle handle, cufftReal* from, cufftComplex* to) {
  OB_TWIN_LIBRARY_CALL;
  return execute(call, handle, CUFFT_R2C, from, to, CUFFT_FORWARD);
}
cufftResult cufftExecC2R(cufftHandle handle, cufftComplex* from, cufftReal* to) {
  OB_TWIN_LIBRARY_CALL;
  return execute(call, handle, CUFFT_C2R, from, to, CUFFT_INVERSE);
}
cufftResult cufftExecZ2Z(cufftHandle handle, cufftDoubleComplex* from, cufftDoubleComplex* to, int direction) {
  OB_TWIN_LIBRARY_CALL;
  return execute(call, handle, CUFFT_Z2Z, from, to, direction);
}
cufftResult cufftExecD2Z(cufftHandle handle, cufftDoubleReal* from, cufftDoubleComplex* to) {
  OB_TWIN_LIBRARY_CALL;
  return execute(call, handle, CUFFT_D2Z, from, to, CUFFT_FORWARD);
}
cufftResult cufftExecZ2D(cufftHandle handle, cufftDoubleComplex* from, cufftDoubleReal* to) {
  OB_TWIN_LIBRARY_CALL;
  return execute(call, handle, CUFFT_Z2D, from, to, CUFFT_INVERSE);
}
