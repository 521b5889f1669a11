// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/job_client.h"

#include <unistd.h>

#include <cstdlib>
#include <ostream>

#include "base/number.h"
#include "base/text.h"
#include "cli/jobs/job_words.h"
#include "cluster_jobs/cluster_jobs.h"
#include "cluster_jobs/pages.h"
#include "command_line/command.h"
#include "document/json.h"
#include "document/path.h"
#include "k8s/names.h"

namespace aliquot::cli {
namespace {

constexpr const char* kRootSocket = "/run/aliquot/jobs.sock";
constexpr std::chrono::milliseconds kDeadline{30'000};

std::string variable(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
    return value == nullptr ? "" : value;
}

ErrorCode code_of(int status) {
    if (status == 404) return ErrorCode::kNotFound;
    if (status == 409) return ErrorCode::kConflict;
    if (status == 403) return ErrorCode::kPermission;
    if (status >= 500) return ErrorCode::kUnavailable;
    return ErrorCode::kInvalidInput;
}

/// An answer that is no success, in the server's own words.
Error refused(const Answer& answer) {
    const auto value = document::parse_json(answer.body);
    std::string message = value ? document::text_at(*value, {"error", "message"}) : "";
    if (message.empty()) message = "the server answers " + std::to_string(answer.status);
    return {code_of(answer.status), std::move(message)};
}

/// Of a server that this user starts: beside the session's other sockets, else, without a session, beside its journal.
std::string own_socket() {
    if (::geteuid() == 0) return {};
    std::string place = variable("XDG_RUNTIME_DIR");
    if (const std::string session = "/run/user/" + std::to_string(::geteuid());
        place.empty() && ::access(session.c_str(), W_OK) == 0) {
        place = session;
    }
    if (place.empty()) place = variable("XDG_STATE_HOME");
    if (place.empty() && !variable("HOME").empty()) place = variable("HOME") + "/.local/state";
    return place.empty() ? std::string() : place + "/aliquot/jobs.sock";
}

}  // namespace

std::string job_server_at(const std::string& named) {
    if (named.empty()) return usual_job_server();
    return named.front() == '/' ? "unix:" + named : named;
}

std::string usual_job_server() {
    if (const std::string named = variable("ALIQUOT_JOBS"); !named.empty())
        return job_server_at(named);
    const std::string mine = own_socket();
    if (!mine.empty() && (::access(kRootSocket, F_OK) != 0 || ::access(mine.c_str(), F_OK) == 0)) {
        return "unix:" + mine;
    }
    return std::string("unix:") + kRootSocket;
}

void add_server_flag(command_line::Command& command, JobClient& client, const std::string& who) {
    command.add_option("--server", client.server,
                       "Where " + who + " listens; default: ALIQUOT_JOBS, or the usual place",
                       "unix:PATH");
}

void add_client_flags(command_line::Command& command, JobClient& client) {
    add_server_flag(command, client);
    add_cluster_flags(command, client.cluster);
    add_namespace_flag(command, client.cluster, "Namespace of the jobs, on a cluster");
}

Result<Answer> JobClient::ask(const std::string& method, const std::string& path,
                              const std::string& body, const std::string& key) const {
    if (is_cluster()) return ask_cluster(method, path, body, key);
    return ask_server(method, path, body, key);
}

Result<Answer> JobClient::ask_server(const std::string& method, const std::string& path,
                                     const std::string& body, const std::string& key,
                                     std::string_view way) const {
    constexpr std::string_view kStart =
        "start it with aliquot serve (as root for all users), or systemctl start aliquot-jobs";
    Asked asked{.who = "job server",
                .address = job_server_at(server),
                .method = method,
                .path = path,
                .headers = {{"Content-Type", "application/json"}},
                .body = body,
                .deadline = kDeadline};
    if (!key.empty()) asked.headers.emplace_back("Idempotency-Key", key);
    auto answer = cli::ask(asked);
    if (!answer && answer.error().code == ErrorCode::kNotFound) {
        return Error{ErrorCode::kUnavailable,
                     concat({answer.error().message, "; ", way.empty() ? kStart : way})};
    }
    if (!answer) return answer;
    if (answer->status >= 200 && answer->status < 300) return answer;
    return refused(*answer);
}

bool JobClient::is_cluster() const {
    if (!server.empty()) return false;
    if (!cluster.context.empty() || !cluster.kubeconfig.empty() || !cluster.namespace_name.empty())
        return true;
    if (!variable("ALIQUOT_JOBS").empty()) return false;
    const std::string usual = usual_job_server();
    if (::access(usual.c_str() + std::string_view("unix:").size(), F_OK) == 0) return false;
    if (!variable("KUBERNETES_SERVICE_HOST").empty() || !variable("KUBECONFIG").empty())
        return true;
    const std::string home = variable("HOME");
    return !home.empty() && ::access((home + "/.kube/config").c_str(), R_OK) == 0;
}

Result<Done> JobClient::connect() const {
    if (connection_ != nullptr) return Done{};
    auto made = kube_client::connect({.kubeconfig = cluster.kubeconfig,
                                      .context = cluster.context,
                                      .namespace_name = cluster.namespace_name});
    if (!made) return std::move(made).error();
    connection_ = std::make_shared<kube_client::Connection>(*std::move(made));
    return Done{};
}

Result<Answer> JobClient::ask_cluster(const std::string& method, const std::string& path,
                                      const std::string& body, const std::string& key) const {
    if (auto there = connect(); !there) return std::move(there).error();
    http::Request request;
    request.method = method;
    http::read_target(path, request);
    if (all_spaces) request.query.emplace_back("namespace", "*");
    request.body = body;
    if (!key.empty()) request.headers["idempotency-key"] = key;
    const char* const user = std::getenv("USER");  // NOLINT(concurrency-mt-unsafe): one thread
    auto answered = cluster_jobs::respond(
        *connection_->api, request,
        {.user = user == nullptr ? "" : user, .space = connection_->namespace_name},
        call_of(cluster));
    Answer answer{.status = answered.status, .head = "\r\n", .body = std::move(answered.body)};
    for (const auto& [name, value] : answered.headers)
        answer.head += lower(name) + ": " + value + "\r\n";
    if (answer.status >= 200 && answer.status < 300) return answer;
    return refused(answer);
}

Result<Done> JobClient::follow(const std::string& id,
                               const std::function<bool(std::string_view)>& take) const {
    if (auto there = connect(); !there) return there;
    return cluster_jobs::ClusterJobs(*connection_->api, connection_->namespace_name,
                                     call_of(cluster))
        .follow(id, take, {});
}

Result<document::Value> JobClient::get(const std::string& path) const {
    const auto answer = ask("GET", path);
    if (!answer) return answer.error();
    return document::parse_json(answer->body);
}

Result<std::string> JobClient::path_of(const std::string& id) const {
    if (is_cluster()) {
        if (k8s::is_dns_subdomain(id)) return "/v1/jobs/" + id;
        return Error{
            ErrorCode::kInvalidInput,
            "'" + id + "' is not a name of a job; expected one as aliquot job list shows it"};
    }
    const auto number = parse_number<std::uint64_t>(id);
    if (!number || *number == 0) {
        return Error{
            ErrorCode::kInvalidInput,
            "'" + id + "' is not a job; expected its number, as aliquot job list shows it"};
    }
    return "/v1/jobs/" + id;
}

Result<std::vector<std::string>> JobClient::paths_of(const std::vector<std::string>& ids) const {
    std::vector<std::string> paths;
    for (const std::string& id : ids) {
        auto path = path_of(id);
        if (!path) return std::move(path).error();
        paths.push_back(*std::move(path));
    }
    return paths;
}

Result<Done> check_queue(const std::string& word, const std::string& name) {
    const auto problem = k8s::check_dns_label(name);
    if (problem.empty()) return Done{};
    return Error{ErrorCode::kInvalidInput, word + ": '" + one_line(name, 80) + "': " + problem};
}

void failed(Context& context, const Error& error) {
    fail(context, exit_code_of(error), error.message);
}

}  // namespace aliquot::cli
