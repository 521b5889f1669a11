// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/server.h"
#include "page/checkup.h"
#include "page/live.h"
#include "sim/cluster/snapshot.h"

namespace aliquot::up {

/// The web page of `aliquot up`: what its agent measures, and the pods that it runs or that wait.
class UpPage {
public:
    /// address      as http::listen_on() takes them
    /// web_config   TLS and passwords; empty: none
    /// agent        the agent's unix socket, a host path
    /// remarks      what lint says of what is run
    /// checkup      what doctor says of the node
    /// errors       kInvalidInput, kConflict, kPermission: others could reach it, and it has no password
    static Result<std::unique_ptr<UpPage>> serve(const std::string& address,
                                                 const std::string& web_config,
                                                 const std::string& agent,
                                                 std::vector<page::Remark> remarks,
                                                 page::Checkup checkup);

    /// What is shown from now on.
    void note(const sim::cluster::Snapshot& snapshot);
    /// "http://127.0.0.1:8080/".
    [[nodiscard]] const std::string& url() const { return url_; }

private:
    UpPage() = default;
    [[nodiscard]] std::vector<page::PodSeen> pods() const;

    std::string url_;
    std::vector<page::Remark> remarks_;
    mutable std::mutex mutex_;
    sim::cluster::Snapshot snapshot_;       // under mutex_
    std::unique_ptr<http::Server> server_;  // last: its pages use the others
};

/// What `aliquot lint` finds in these files and folders: what errors are first. Empty: nothing, or they cannot be read.
std::vector<page::Remark> lint_remarks(const std::vector<std::string>& paths);

}  // namespace aliquot::up
