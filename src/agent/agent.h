// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/options.h"

namespace aliquot::agent {

/// Runs the node agent until SIGTERM or SIGINT, on the calling thread. Threads, all owned here:
///   caller     reconcile: configuration + newest observation -> offer -> kubelet and CDI
///   observer   asks the driver (agent/observer.h); nvml keeps one more for the calls themselves
///   signals    waits for SIGTERM, SIGINT, SIGHUP
///   http       the pages (agent/pages.h)
///   telemetry  one looks at the GPUs (nvml keeps one more for each), one follows the pods, web
///              serves /metrics (agent/telemetry_service.h)
///   mps        one per GPU that MPS shares or shared (mps/control_daemon.h)
///   per resource: registration, and what gRPC needs (kubelet/device_plugin.h)
///
/// returns   exit code: 0 told to end; 2 the configuration cannot be read and no good one is kept;
///           3 the machine does not let us (driver with failOnInitError, sockets)
int run(const Options& options);

}  // namespace aliquot::agent
