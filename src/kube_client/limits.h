// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace aliquot::kube_client {

/// What an API server may have us keep, in bytes: whatever it says, a client stays within them. Who
/// runs in a container has limits that fit it; a person's commands may read whole clusters.
struct Limits {
    std::size_t answer_bytes = std::size_t{512} << 20U;  // one answer, unpacked; of a list: what is
                                                         // kept of it
    std::size_t object_bytes = std::size_t{16} << 20U;   // one object of a list, one event
    std::size_t unread_bytes = std::size_t{64} << 20U;   // of a stream; a slower reader loses it
    unsigned chunk = 500;                                // most objects asked for at once
};

/// An agent's: 64 MiB for all that it does. An object of etcd has at most 1.5 MiB.
inline constexpr Limits kNodeLimits{.answer_bytes = std::size_t{4} << 20U,
                                    .object_bytes = std::size_t{3} << 20U,
                                    .unread_bytes = std::size_t{4} << 20U,
                                    .chunk = 50};

/// A controller's: 128 MiB, and what it keeps of 5,000 nodes.
inline constexpr Limits kControllerLimits{.answer_bytes = std::size_t{32} << 20U,
                                          .object_bytes = std::size_t{3} << 20U,
                                          .unread_bytes = std::size_t{8} << 20U,
                                          .chunk = 100};

}  // namespace aliquot::kube_client
