// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/cluster/cluster_flags.h"
#include "cli/command.h"
#include "cli/local_server.h"
#include "document/value.h"

namespace aliquot::command_line {
class Command;
}

namespace aliquot::cli {

/// Where jobs are: `aliquot serve` of this machine, or a cluster. The same paths and documents of both.
struct JobClient {
    std::string server;  // of --server; empty: ALIQUOT_JOBS, else the usual places
    ClusterOptions cluster;
    bool all_spaces = false;  // of a list

    /// A cluster: when one is named (--context, --kubeconfig, -n), in a pod, or where no server of this machine is
    /// there and a kubeconfig is.
    [[nodiscard]] bool is_cluster() const;

    /// An answer with a status of success; else the server's own words.
    /// errors   kNotFound: no server, or no such job; as the server says
    [[nodiscard]] Result<Answer> ask(const std::string& method, const std::string& path,
                                     const std::string& body = "",
                                     const std::string& key = "") const;
    /// The same of a server only, never of a cluster, which knows no costs.
    /// way   how one comes to a server, for the error when there is none; empty: how to start aliquot serve
    [[nodiscard]] Result<Answer> ask_server(const std::string& method, const std::string& path,
                                            const std::string& body = "",
                                            const std::string& key = "",
                                            std::string_view way = "") const;
    [[nodiscard]] Result<document::Value> get(const std::string& path) const;
    /// Of a cluster: the output of a job as it comes, until its pod ends or `take` says false.
    [[nodiscard]] Result<Done> follow(const std::string& id,
                                      const std::function<bool(std::string_view)>& take) const;
    /// "12", of a cluster a name, as a path: "/v1/jobs/12". errors: kInvalidInput
    [[nodiscard]] Result<std::string> path_of(const std::string& id) const;
    /// Of all, before any of them is asked for.
    [[nodiscard]] Result<std::vector<std::string>> paths_of(
        const std::vector<std::string>& ids) const;

private:
    [[nodiscard]] Result<Answer> ask_cluster(const std::string& method, const std::string& path,
                                             const std::string& body, const std::string& key) const;
    [[nodiscard]] Result<Done> connect() const;
    mutable std::shared_ptr<kube_client::Connection> connection_;  // made when it is needed
};

/// Adds --server.
/// who   listens there
void add_server_flag(command_line::Command& command, JobClient& client,
                     const std::string& who = "aliquot serve");

/// Adds --server, and --context, --kubeconfig, --namespace of a cluster.
void add_client_flags(command_line::Command& command, JobClient& client);

/// Where a server of this user listens: root's is everybody's.
std::string usual_job_server();

/// The address of --server, --socket: a path is a unix socket; empty: usual_job_server().
std::string job_server_at(const std::string& named);

/// Whether a queue can have this name. errors: kInvalidInput, beginning with `word`
Result<Done> check_queue(const std::string& word, const std::string& name);

/// Prints the error and sets the exit code.
void failed(Context& context, const Error& error);

}  // namespace aliquot::cli
