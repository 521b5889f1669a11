// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "http/message.h"
#include "kube_client/api.h"

namespace aliquot::cluster_jobs {

/// Who asks, and where.
struct Asker {
    std::string user;   // as the cluster knows it; for the label; empty: nobody says
    std::string space;  // where jobs are that name no namespace
    bool sees_all =
        true;  // jobs of other namespaces, as far as `api` does: an explanation names them
};

/// What a request needs to be allowed: verbs on Jobs (or pods/log) in a namespace.
struct Right {
    std::string verb;
    std::string group;
    std::string resource;
    std::string subresource;
    std::string space;
    std::string name;
};
/// All of them are needed; none: there is no such page.
std::vector<Right> rights_of(const http::Request& request, const Asker& asker);

/// The paths of api/jobs.yaml below /v1/jobs, answered by the cluster with the rights of `api`. The parameter
/// `namespace` says another than the asker's; of a list `*` all of them.
http::Response respond(kube_client::Api& api, const http::Request& request, const Asker& asker,
                       const kube_client::Call& call = {});

}  // namespace aliquot::cluster_jobs
