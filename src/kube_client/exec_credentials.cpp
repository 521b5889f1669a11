// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json_value.h"
#include "base/time_text.h"
#include "kube_client/credentials.h"
#include "os/exchange.h"

namespace aliquot::kube_client {
namespace {

using Json = nlohmann::json;

constexpr auto kLongestRun = std::chrono::seconds(60);
constexpr std::size_t kMostOutput = 1U << 20U;
constexpr std::int64_t kEarlySeconds = 10;  // before the expiry we ask anew

}  // namespace

Result<ExecAnswer> read_exec_answer(std::string_view json, std::string_view api_version) {
    const auto refuse = [](std::string_view why) {
        return Error{ErrorCode::kInvalidInput, "the answer " + std::string(why)};
    };
    const Json root = parse_json<Json>(json);
    if (!root.is_object()) return refuse("is no JSON object");
    if (text_at(root, "kind") != "ExecCredential") return refuse("is no ExecCredential");
    if (text_at(root, "apiVersion") != api_version) {
        return refuse("has another apiVersion than " + std::string(api_version));
    }
    const auto status = root.find("status");
    if (status == root.end() || !status->is_object()) return refuse("has no status");
    ExecAnswer answer{.token = text_at(*status, "token"),
                      .client_certificate_pem = text_at(*status, "clientCertificateData"),
                      .client_key_pem = text_at(*status, "clientKeyData"),
                      .expires = {}};
    if (answer.token.find_first_of("\r\n") != std::string::npos) {
        return refuse("has a token with a line break");
    }
    if (answer.client_certificate_pem.empty() != answer.client_key_pem.empty()) {
        return refuse("has one of clientCertificateData and clientKeyData, not both");
    }
    if (answer.token.empty() && answer.client_certificate_pem.empty()) {
        return refuse("has neither token nor clientCertificateData");
    }
    if (const std::string date = text_at(*status, "expirationTimestamp"); !date.empty()) {
        const auto expires = parse_rfc3339(date);
        if (!expires) return refuse("has an expirationTimestamp that is no RFC 3339 date");
        answer.expires =
            std::chrono::floor<std::chrono::seconds>(*expires).time_since_epoch().count();
    }
    return answer;
}

std::string exec_info(const ConfigExec& exec, const ConfigCluster& cluster,
                      std::string_view ca_pem) {
    Json spec{{"interactive", false}};
    if (exec.provide_cluster_info) {
        Json info{{"server", cluster.server}};
        if (!ca_pem.empty()) info["certificate-authority-data"] = encode_base64(ca_pem);
        if (!cluster.tls_server_name.empty()) info["tls-server-name"] = cluster.tls_server_name;
        if (!cluster.proxy_url.empty()) info["proxy-url"] = cluster.proxy_url;
        if (cluster.insecure) info["insecure-skip-tls-verify"] = true;
        spec["cluster"] = std::move(info);
    }
    const Json root{
        {"kind", "ExecCredential"}, {"apiVersion", exec.api_version}, {"spec", std::move(spec)}};
    return dumped(root);
}

ExecCredentials::ExecCredentials(ConfigExec exec, ConfigCluster cluster,
                                 std::unique_ptr<Credentials> base,
                                 std::function<std::int64_t()> seconds_now)
    : exec_(std::move(exec)),
      cluster_(std::move(cluster)),
      base_(std::move(base)),
      seconds_now_(std::move(seconds_now)) {}

Result<ExecAnswer> ExecCredentials::ask(std::string_view ca_pem) const {
    os::Command command{.argv = {exec_.command}, .environment = os::current_environment()};
    command.argv.insert(command.argv.end(), exec_.arguments.begin(), exec_.arguments.end());
    for (const auto& [name, value] : exec_.environment) command.environment[name] = value;
    command.environment["KUBERNETES_EXEC_INFO"] = exec_info(exec_, cluster_, ca_pem);
    command.error_descriptor = 2;  // what it says to people goes where ours goes
    const std::string subject = "exec plugin " + exec_.command;
    auto done = os::exchange(std::move(command), "",
                             {.deadline = kLongestRun, .output_bytes = kMostOutput});
    if (!done) {
        Error error = std::move(done).error().during(subject);
        if (error.code == ErrorCode::kNotFound && !exec_.install_hint.empty()) {
            error.message += ": " + exec_.install_hint;
        }
        return error;
    }
    if (done->exit.code != 0) {
        return Error{ErrorCode::kPermission,
                     subject + ": ended with exit code " + std::to_string(done->exit.code)};
    }
    auto answer = read_exec_answer(done->output, exec_.api_version);
    if (!answer) return std::move(answer).error().during(subject);
    return answer;
}

Result<std::shared_ptr<const Identity>> ExecCredentials::current(const std::stop_token& stop) {
    auto base = base_->current(stop);
    if (!base) return base;
    // One question at a time: who comes meanwhile waits for its answer.
    const std::scoped_lock lock(mutex_);
    if (answer_ && answer_->expires && *answer_->expires - kEarlySeconds <= seconds_now_()) {
        answer_.reset();
    }
    if (!answer_) {
        auto answer = ask((*base)->ca_pem);
        if (!answer) return std::move(answer).error();
        answer_ = *std::move(answer);
        held_.reset();
    }
    if (!held_ || made_of_ != *base) {
        Identity identity = **base;
        identity.bearer_token = answer_->token;
        if (!answer_->client_certificate_pem.empty()) {
            identity.client_certificate_pem = answer_->client_certificate_pem;
            identity.client_key_pem = answer_->client_key_pem;
        }
        made_of_ = *base;
        held_ = std::make_shared<const Identity>(std::move(identity));
    }
    return held_;
}

bool ExecCredentials::refused(const std::shared_ptr<const Identity>& shown) {
    const std::scoped_lock lock(mutex_);
    if (held_ == shown) answer_.reset();
    return true;
}

}  // namespace aliquot::kube_client
