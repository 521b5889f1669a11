// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <vector>

#include "sim/mps/line_socket.h"
#include "sim/node/node.h"

namespace aliquot::sim::mps {

struct ServerOptions {
    uid_t uid = 0;
    std::vector<unsigned> gpus;  // of the node
    unsigned most_clients = 48;
};

/// The process of an MPS server, from fork to its end: holds its GPUs, speaks with its clients,
/// obeys the control daemon at the other end of `control`. When that is gone it goes on until its
/// last client has left, which is the worst that a supervisor may meet.
/// returns   exit code
int serve(Node& node, const ServerOptions& options, LineSocket control);

}  // namespace aliquot::sim::mps
