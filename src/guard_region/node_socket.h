// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <thread>

#include "base/descriptor.h"
#include "base/result.h"

namespace aliquot::guard_region {

/// Hands the node page to containers: whoever connects gets one byte with a descriptor of it, and
/// the connection ends. One listener for all containers, on a thread of its own: what lies in their
/// directories are links to its socket.
class NodeSocket {
public:
    /// Listens at `file`, in place of what an earlier agent has left there.
    /// page     from make_node_memory() or find_node_memory()
    /// errors   kPermission, kUnavailable: the socket cannot be made
    static Result<std::unique_ptr<NodeSocket>> listen(std::filesystem::path file, Descriptor page);
    ~NodeSocket();  // stops; the socket file goes, containers that run keep their page

    /// Puts the socket at `place`, in place of what is there.
    Result<Done> link(const std::filesystem::path& place) const;

private:
    NodeSocket(std::filesystem::path file, Descriptor page, Descriptor listener, Descriptor wake);
    void serve();

    std::filesystem::path file_;
    Descriptor page_;
    Descriptor listener_;
    Descriptor wake_;  // an eventfd: readable when it is to end
    std::thread thread_;
};

}  // namespace aliquot::guard_region
