// SPDX-License-Identifier: Apache-2.0
#include "agent/privileges.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "os/root.h"

namespace aliquot::agent {

Result<Done> drop_capabilities() {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return os::error_from_errno(errno, "no_new_privs");
    }
    // The bounding set can only be cut by who holds CAP_SETPCAP; without it there is nothing to
    // cut.
    for (unsigned long capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
        ::prctl(PR_CAPBSET_DROP, capability);
    }
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, 2> none{};
    if (::syscall(SYS_capset, &header, none.data()) != 0) {
        return os::error_from_errno(errno, "capset");
    }
    return Done{};
}

}  // namespace aliquot::agent
