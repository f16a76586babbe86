// Included first: a product and a sum are rounded one by one, and never become one instruction.
//
// A loop that looks for the value that another loop has found the largest needs both to round alike, and compilers
// contract as they please.
#ifndef OPBRIDGE_UNCONTRACTED_H
#define OPBRIDGE_UNCONTRACTED_H

#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__) && (!defined(__CUDACC__) || defined(__OPBRIDGE_CUDA_TWIN__))
#pragma GCC optimize("fp-contract=off")
#endif

#endif
