// SPDX-License-Identifier: Apache-2.0
#include <time.h>  // NOLINT(modernize-deprecated-headers): timegm() is no part of C

#include <charconv>
#include <nlohmann/json.hpp>

#include "kube_client/credentials.h"
#include "os/exchange.h"

namespace aliquot::kube_client {
namespace {

using Json = nlohmann::json;

constexpr auto kLongestRun = std::chrono::seconds(60);
constexpr std::size_t kMostOutput = 1U << 20U;
constexpr std::int64_t kEarlySeconds = 10;  // before the expiry we ask anew

std::string text_at(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool read_number(std::string_view text, std::size_t at, std::size_t size, int& number) {
    if (text.size() < at + size) return false;
    const char* const begin = text.data() + at;
    const auto read = std::from_chars(begin, begin + size, number);
    return read.ec == std::errc{} && read.ptr == begin + size && number >= 0;
}

/// "2026-11-21T22:00:00Z", "2026-11-21T22:00:00.5+01:00" (RFC 3339).
std::optional<std::int64_t> seconds_of(std::string_view text) {
    std::tm date{};
    if (!read_number(text, 0, 4, date.tm_year) || !read_number(text, 5, 2, date.tm_mon) ||
        !read_number(text, 8, 2, date.tm_mday) || !read_number(text, 11, 2, date.tm_hour) ||
        !read_number(text, 14, 2, date.tm_min) || !read_number(text, 17, 2, date.tm_sec)) {
        return {};
    }
    date.tm_year -= 1900;
    date.tm_mon -= 1;
    std::int64_t seconds = timegm(&date);
    text.remove_prefix(19);
    if (text.starts_with('.')) {
        const auto end = text.find_first_not_of("0123456789", 1);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end);
    }
    if (text == "Z" || text == "z") return seconds;
    int hours = 0;
    int minutes = 0;
    if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || !read_number(text, 1, 2, hours) ||
        !read_number(text, 4, 2, minutes)) {
        return {};
    }
    const int offset = hours * 3600 + minutes * 60;
    return text[0] == '+' ? seconds - offset : seconds + offset;
}

std::string base64(std::string_view text) {
    constexpr std::string_view kSigns =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (std::size_t i = 0; i < text.size(); i += 3) {
        std::uint32_t bits = 0;
        for (std::size_t j = 0; j < 3; ++j) {
            const unsigned byte = i + j < text.size() ? static_cast<unsigned char>(text[i + j]) : 0;
            bits = (bits << 8U) | byte;
        }
        for (std::size_t j = 0; j < 4; ++j) {
            out += i + j > text.size() ? '=' : kSigns[(bits >> (18 - 6 * j)) & 63U];
        }
    }
    return out;
}

}  // namespace

Result<ExecAnswer> read_exec_answer(std::string_view json, std::string_view api_version) {
    const auto refuse = [](std::string_view why) {
        return Error{ErrorCode::kInvalidInput, "the answer " + std::string(why)};
    };
    const Json root = Json::parse(json, nullptr, false);
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
        answer.expires = seconds_of(date);
        if (!answer.expires) return refuse("has an expirationTimestamp that is no RFC 3339 date");
    }
    return answer;
}

std::string exec_info(const ConfigExec& exec, const ConfigCluster& cluster,
                      std::string_view ca_pem) {
    Json spec{{"interactive", false}};
    if (exec.provide_cluster_info) {
        Json info{{"server", cluster.server}};
        if (!ca_pem.empty()) info["certificate-authority-data"] = base64(ca_pem);
        if (!cluster.tls_server_name.empty()) info["tls-server-name"] = cluster.tls_server_name;
        if (!cluster.proxy_url.empty()) info["proxy-url"] = cluster.proxy_url;
        if (cluster.insecure) info["insecure-skip-tls-verify"] = true;
        spec["cluster"] = std::move(info);
    }
    const Json root{
        {"kind", "ExecCredential"}, {"apiVersion", exec.api_version}, {"spec", std::move(spec)}};
    return root.dump(-1, ' ', false, Json::error_handler_t::replace);
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
