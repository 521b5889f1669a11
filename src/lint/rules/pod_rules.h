// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lint/facts.h"
#include "lint/report.h"
#include "lint/set.h"

/// The parts of the family POD. Inside src/lint only.
namespace aliquot::lint {

void check_pod_amounts(const File&, const Set&, const Facts*, Report&);  // POD001, 019, 023
void check_pod_names(const File&, const Set&, const Facts*, Report&);    // POD002, 008
void check_pod_env(const File&, const Set&, const Facts*, Report&);      // POD005-007, 010, 024
void check_pod_labels(const File&, const Set&, const Facts*, Report&);   // POD015-017
void check_pod_nodes(const File&, const Set&, const Facts*, Report&);  // POD003, 011, 012, 018, 022
void check_pod_spec(const File&, const Set&, const Facts*, Report&);   // POD004, 009, 013, 020, 021
void check_pod_images(const File&, const Set&, const Facts*, Report&);  // POD014

/// A pod of an operator's own custom resource whose GPUs another pod asks for: the head of a
/// RayCluster, the launcher of an MPIJob.
bool is_gpu_free_role(const PodSpec& pod);

}  // namespace aliquot::lint
