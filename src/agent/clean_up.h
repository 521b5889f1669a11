// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/options.h"

namespace aliquot::agent {

/// Takes away what agents have left on this host, for good: MPS daemons and the compute modes they
/// changed, the CDI file, sockets in kubelet's directory, the label file for NFD, /run/aliquot and
/// the state directory. No agent may run on the host meanwhile. Containers with limits by the guard
/// keep what they need: its library and their regions stay while such a container runs. How GPUs
/// are cut (MIG) stays as it is.
///
/// returns   exit code: 0 all is gone; 1 something stays, and stderr says what and why; node::kLeftInUse: only
///           what running containers use stays, and stderr says whose
int clean_up(const Options& options);

}  // namespace aliquot::agent
