// What the calls of acl share.
#ifndef OPBRIDGE_ASCEND_ACL_STATE_H
#define OPBRIDGE_ASCEND_ACL_STATE_H

#include <acl/acl_base.h>

#include <string>

namespace opbridge_ascend {

// Says it on stderr too, because most programs look at no more than the number, if at that.
aclError failed(aclError error, const std::string& message);

int32_t current_device();

}  // namespace opbridge_ascend

#endif
