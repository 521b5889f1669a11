// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor.h"

#include <cerrno>

namespace aliquot {

bool write_at(int fd, const void* bytes, std::size_t size, long offset) {
    const char* from = static_cast<const char*>(bytes);
    while (size > 0) {
        const ssize_t done = ::pwrite(fd, from, size, offset);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        from += done;
        offset += done;
        size -= static_cast<std::size_t>(done);
    }
    return true;
}

}  // namespace aliquot
