// SPDX-License-Identifier: Apache-2.0
#include "base/line_output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

namespace aliquot {

/// With room a pipe takes PIPE_BUF bytes at once (pipe(7)); a file and a terminal take anything.
bool LineOutput::has_room(std::chrono::milliseconds patience) const {
    pollfd wanted{.fd = descriptor_, .events = POLLOUT, .revents = 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(patience.count()));
    return ready == 1 && (wanted.revents & POLLOUT) != 0 && (wanted.revents & POLLERR) == 0;
}

bool LineOutput::write(std::string_view line) {
    while (!line.empty()) {
        if (!has_room(stuck_ ? std::chrono::milliseconds(0) : patience_)) break;
        const ssize_t written =
            ::write(descriptor_, line.data(), std::min<std::size_t>(line.size(), PIPE_BUF));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) break;
        stuck_ = false;
        line.remove_prefix(static_cast<std::size_t>(written));
    }
    if (line.empty()) return true;
    stuck_ = true;
    ++dropped_;
    return false;
}

std::uint64_t LineOutput::take_dropped() { return std::exchange(dropped_, 0); }

bool LineOutput::may_tell_of_dropped() const {
    return dropped_ > 0 && has_room(std::chrono::milliseconds(0));
}

}  // namespace aliquot
