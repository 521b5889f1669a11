// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube_client/connect.h"
#include "scaling/gatherer.h"
#include "scaling/recent_metrics.h"

namespace aliquot::scaling {

struct MetricsApiOptions {
    std::string listen = ":6443";
    GatherOptions gather;
    RecentMetricsOptions recent;
    /// Both empty: a certificate is made at the start.
    std::string certificate_file;
    std::string key_file;
    /// False: anybody who reaches us is answered; only on a loopback address.
    bool front_proxy_only = true;
    /// Empty: the authority and the names that the cluster itself tells.
    std::string front_proxy_ca_file;
    std::vector<std::string> front_proxy_names;
    /// The API server, for the pods' labels. Without it a pod is found by its name only.
    bool use_kube = true;
    kube_client::ConnectOptions kube;
};

/// The metrics API as it runs: asks the agents, watches the pods, answers the API server. Threads
/// of its own until the destructor.
class MetricsApi {
public:
    /// errors   kInvalidInput: options that do not fit together, a bad file; kNotFound: no API
    ///          server where one is needed; kUnavailable, kPermission: it does not tell;
    ///          kConflict: the address is in use
    static Result<std::unique_ptr<MetricsApi>> start(MetricsApiOptions options);
    ~MetricsApi();

    [[nodiscard]] unsigned port() const;
    /// Where the pods' labels come from: "context 'prod' of ...", or why from nowhere.
    [[nodiscard]] const std::string& labels_from() const;

private:
    class Running;
    explicit MetricsApi(std::unique_ptr<Running> running);
    std::unique_ptr<Running> running_;
};

}  // namespace aliquot::scaling
