// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/trace.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace aliquot::sim {
namespace {

const char* destination() {
    return std::getenv("ALIQUOT_SIM_CUDA_TRACE");  // NOLINT(concurrency-mt-unsafe)
}

int open_destination() {
    const char* const name = destination();
    if (name == nullptr) return -1;
    if (std::string_view(name) == "stderr") return STDERR_FILENO;
    return ::open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

}  // namespace

bool tracing = destination() != nullptr && *destination() != '\0';

void trace(const char* entry_point, const char* remark) {
    static const int file = open_destination();
    if (file < 0) return;
    const int kept = errno;
    // One write: lines of several threads and processes do not mix.
    const auto piece = [](const char* text) {
        return iovec{.iov_base = const_cast<char*>(text), .iov_len = std::strlen(text)};
    };
    const std::array<iovec, 3> line = {piece(entry_point), piece(remark), piece("\n")};
    (void)!::writev(file, line.data(), static_cast<int>(line.size()));
    errno = kept;
}

}  // namespace aliquot::sim
