// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "cdi/spec.h"
#include "dra/prepare.h"

namespace aliquot::dra {

/// "k8s.gpu.aliquot.dev/claim=<cdi name>": how kubelet tells a container runtime of a device.
std::string cdi_id(const PreparedDevice& device);
/// The name of a claim's CDI file.
std::string cdi_file_name(const std::string& uid);
/// The uid that a file is of; empty: it is no such file.
std::string uid_of_cdi_file(std::string_view name);

/// A claim's CDI file: each device with its device nodes, and for all of them the driver's files and the guard.
/// node   as cdi::describe_node() describes this node, by uuid
/// errors   kNotFound: a device that `node` does not have (any more)
Result<cdi::Spec> claim_spec(const PreparedClaim& claim, const cdi::Spec& node);

}  // namespace aliquot::dra
