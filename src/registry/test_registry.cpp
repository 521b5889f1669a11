// SPDX-License-Identifier: Apache-2.0
#include "registry/test_registry.h"

#include <archive.h>
#include <archive_entry.h>

#include "base/base64.h"
#include "document/json.h"
#include "registry/digest.h"

namespace aliquot::registry {
namespace {

using document::make_mapping;
using document::Value;

la_ssize_t append_to(archive*, void* text, const void* bytes, std::size_t size) {
    static_cast<std::string*>(text)->append(static_cast<const char*>(bytes), size);
    return static_cast<la_ssize_t>(size);
}

http::Response refusal(int status, const char* code, const char* message) {
    const Value error = make_mapping({{"code", code}, {"message", message}});
    return {.status = status,
            .content_type = "application/json",
            .body = document::to_json_line(make_mapping({{"errors", std::vector{error}}}))};
}

}  // namespace

std::string packed_layer(const std::map<std::string, std::string>& files) {
    std::string packed;
    archive* const writer = archive_write_new();
    archive_write_set_format_pax_restricted(writer);
    archive_write_add_filter_gzip(writer);
    archive_write_open(writer, &packed, nullptr, append_to, nullptr);
    for (const auto& [path, text] : files) {
        archive_entry* const member = archive_entry_new();
        archive_entry_copy_pathname(member, path.c_str());
        archive_entry_set_filetype(member, AE_IFREG);
        archive_entry_set_perm(member, 0644);
        archive_entry_set_size(member, static_cast<la_int64_t>(text.size()));
        archive_write_header(writer, member);
        archive_write_data(writer, text.data(), text.size());
        archive_entry_free(member);
    }
    archive_write_close(writer);
    archive_write_free(writer);
    return packed;
}

TestRegistry::TestRegistry(Rules rules) : rules_(std::move(rules)), busy_(rules_.busy) {
    http::ServerOptions options{.address = "127.0.0.1:0"};
    if (rules_.tls) {
        const auto authority = http::TestCertificate::authority("registries");
        const auto own = authority.issue("registry", "IP:127.0.0.1");
        const auto folder = directory_.path();
        http::write_file(folder / "ca.pem", authority.certificate);
        http::write_file(folder / "tls.crt", own.certificate);
        http::write_file(folder / "tls.key", own.key);
        options.access.tls =
            http::Tls{.certificate_file = folder / "tls.crt", .key_file = folder / "tls.key"};
    }
    store_ = *http::Server::listen(options, [this](const http::Request& request) -> http::Response {
        const std::scoped_lock lock(mutex_);
        seen_.push_back("store " + request.path +
                        (request.header("authorization").empty() ? "" : " with a token"));
        return {.content_type = "application/octet-stream", .body = blobs_[request.path.substr(1)]};
    });
    server_ = *http::Server::listen(
        options, [this](const http::Request& request) { return answer(request); });
}

std::string TestRegistry::host() const { return "127.0.0.1:" + std::to_string(server_->port()); }
std::string TestRegistry::url() const { return (rules_.tls ? "https://" : "http://") + host(); }
std::string TestRegistry::ca_file() const {
    return rules_.tls ? (directory_.path() / "ca.pem").native() : "";
}

ClientOptions TestRegistry::client_options() const {
    return {.ca_file = ca_file(),
            .plain_http = !rules_.tls,
            .first_wait = std::chrono::milliseconds(1)};
}

http::Response TestRegistry::answer(const http::Request& request) {
    {
        const std::scoped_lock lock(mutex_);
        seen_.push_back(request.path + (request.header("authorization").empty() ? "" : " ") +
                        std::string(request.header("authorization")));
        if (busy_ > 0) {
            --busy_;
            return refusal(429, "TOOMANYREQUESTS", "slow down");
        }
    }
    return request.path == "/token" ? answer_token(request) : answer_registry(request);
}

http::Response TestRegistry::answer_token(const http::Request& request) const {
    const std::string wanted = "Basic " + encode_base64(rules_.login);
    if (!rules_.login.empty() && request.header("authorization") != wanted) {
        return refusal(401, "UNAUTHORIZED", "incorrect username or password");
    }
    const std::string token = "for-" + std::string(request.parameter("scope"));
    return {.content_type = "application/json",
            .body = document::to_json_line(make_mapping({{"token", token}}))};
}

http::Response TestRegistry::answer_registry(const http::Request& request) {
    const std::string scope = "repository:ci:pull";
    const bool basic = request.header("authorization") == "Basic " + encode_base64(rules_.login);
    const bool known =
        rules_.wants_token ? request.header("authorization") == "Bearer for-" + scope : basic;
    if ((rules_.wants_token || rules_.wants_basic) && !known) {
        auto refused = refusal(401, "UNAUTHORIZED", "authentication required");
        refused.headers.emplace_back(
            "WWW-Authenticate",
            rules_.wants_basic
                ? "Basic realm=\"test\""
                : "Bearer realm=\"" + url() + "/token\",service=\"test\",scope=\"" + scope + "\"");
        return refused;
    }
    const std::scoped_lock lock(mutex_);
    const std::string name = request.path.substr(request.path.rfind('/') + 1);
    if (request.path.starts_with("/v2/ci/manifests/")) {
        const auto found = manifests_.find(name);
        if (found == manifests_.end()) return refusal(404, "MANIFEST_UNKNOWN", "manifest unknown");
        return {.content_type = found->second.second, .body = found->second.first};
    }
    const auto blob = blobs_.find(name);
    if (!request.path.starts_with("/v2/ci/blobs/") || blob == blobs_.end()) {
        return refusal(404, "NAME_UNKNOWN", "repository name not known to registry");
    }
    if (rules_.redirects) {
        const std::string place = (rules_.tls ? "https" : "http") + std::string("://127.0.0.1:") +
                                  std::to_string(store_->port()) + "/" + name;
        return {.status = 307, .headers = {{"Location", place}}};
    }
    return {.content_type = "application/octet-stream",
            .body = name == rules_.refused ? "other" : blob->second};
}

std::string TestRegistry::put_blob(std::string bytes) {
    const std::scoped_lock lock(mutex_);
    std::string digest = digest_of(bytes);
    blobs_[digest] = std::move(bytes);
    return digest;
}

std::string TestRegistry::put_manifest(const std::string& tag, const std::string& text,
                                       const std::string& media_type) {
    const std::scoped_lock lock(mutex_);
    std::string digest = digest_of(text);
    manifests_[tag] = manifests_[digest] = {text, media_type};
    return digest;
}

std::string TestRegistry::put_layer(const std::map<std::string, std::string>& files) {
    return put_blob(packed_layer(files));
}

std::string TestRegistry::put_image(const std::string& tag,
                                    const std::vector<std::string>& layers) {
    const std::string config = put_blob(R"({"os":"linux","architecture":"amd64","rootfs":{}})");
    const auto descriptor = [&](const std::string& kind, const std::string& digest) {
        return make_mapping({{"mediaType", "application/vnd.oci.image." + kind},
                             {"digest", digest},
                             {"size", blobs_[digest].size()}});
    };
    std::vector<Value> list;
    for (const std::string& digest : layers)
        list.push_back(descriptor("layer.v1.tar+gzip", digest));
    return put_manifest(
        tag, document::to_json(make_mapping({{"schemaVersion", 2},
                                             {"config", descriptor("config.v1+json", config)},
                                             {"layers", list}})));
}

std::vector<std::string> TestRegistry::seen() {
    const std::scoped_lock lock(mutex_);
    return seen_;
}

}  // namespace aliquot::registry
