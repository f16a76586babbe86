// std::complex<float> and std::complex<double> as tensor elements; apart from kernel.h because <complex> is slow to
// compile.
#ifndef OPBRIDGE_COMPLEX_H
#define OPBRIDGE_COMPLEX_H

#include <opbridge/kernel.h>

#include <complex>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

OB_ELEMENT(std::complex<float>, complex64)
OB_ELEMENT(std::complex<double>, complex128)

}  // namespace detail
}  // namespace ob
#endif
