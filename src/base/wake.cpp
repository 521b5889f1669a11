// SPDX-License-Identifier: Apache-2.0
#include "base/wake.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace aliquot {

Wake::Wake() : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

void Wake::notify() const {
    const std::uint64_t one = 1;
    (void)!::write(event_.get(), &one, sizeof(one));  // a full counter wakes as well
}

void Wake::clear() const {
    std::uint64_t count = 0;
    (void)!::read(event_.get(), &count, sizeof(count));
}

}  // namespace aliquot
