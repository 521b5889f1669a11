// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "syntax/shell.h"

/// Reads the texts inside of HCL (Terraform, OpenTofu). Inside src/syntax only.
namespace aliquot::syntax {

/// The heredocs (`<<EOT` and `<<-EOT`) of a block: Helm values, manifests, scripts; and what yamlencode
/// and `manifest =` are given, in the flow form of YAML. Linear; any bytes.
std::vector<Enclosed> read_hcl_texts(const Block& block);

}  // namespace aliquot::syntax
