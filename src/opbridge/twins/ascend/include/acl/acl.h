// What the host of a kernel includes: the part of acl that starting kernels takes.
#ifndef OPBRIDGE_ASCEND_ACL_H
#define OPBRIDGE_ASCEND_ACL_H

#include "acl_base.h"
#include "acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

aclError aclInit(const char* configuration);
aclError aclFinalize();
// What the last call that failed on this thread said; null where none has.
const char* aclGetRecentErrMsg();

#ifdef __cplusplus
}
#endif

#endif
