// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kube_client/api.h"
#include "scheduling/gangs.h"

namespace aliquot::scheduling {

/// Asks the API server: GET of jobs (batch/v1), jobsets (jobset.x-k8s.io) and podgroups (scheduling.k8s.io, in the
/// newest version that it serves), each answer within some seconds. The only part of this folder that asks anybody.
/// api   must outlive it
FetchGangObject gang_objects(kube_client::Api& api);

}  // namespace aliquot::scheduling
