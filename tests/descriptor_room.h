// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <string>

namespace aliquot {

/// Raises this process's limit of open descriptors as far as it may be (1,024 are common in containers,
/// some have fewer). Says what is missing; empty: there is room for `needed`.
inline std::string lacking_descriptors(rlim_t needed) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return "the limit of descriptors is not known";
    limit.rlim_cur = limit.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max >= needed) return "";
    return "needs " + std::to_string(needed) + " descriptors (ulimit -Hn)";
}

}  // namespace aliquot
