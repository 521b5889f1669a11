// SPDX-License-Identifier: Apache-2.0
#include "kube_client/credentials.h"

#include "base/log.h"
#include "base/text.h"

namespace aliquot::kube_client {
namespace {

constexpr auto kReadAgain = std::chrono::seconds(60);
constexpr std::size_t kMostBytes = 1U << 20U;

bool equal(const Identity& one, const Identity& other) {
    return one.ca_pem == other.ca_pem && one.bearer_token == other.bearer_token &&
           one.client_certificate_pem == other.client_certificate_pem &&
           one.client_key_pem == other.client_key_pem;
}

}  // namespace

FileCredentials::FileCredentials(IdentityFiles files, const os::Clock& clock, os::Root root)
    : files_(std::move(files)), clock_(clock), root_(std::move(root)) {}

Result<Identity> FileCredentials::read() const {
    Identity identity = files_.given;
    const auto fill = [&](const std::string& file, std::string& into) -> std::optional<Error> {
        if (file.empty()) return {};
        auto text = root_.read(file, kMostBytes);
        if (!text) return std::move(text).error().during("credentials");
        into = *std::move(text);
        return {};
    };
    if (auto error = fill(files_.ca_file, identity.ca_pem)) return *std::move(error);
    if (auto error = fill(files_.client_certificate_file, identity.client_certificate_pem)) {
        return *std::move(error);
    }
    if (auto error = fill(files_.client_key_file, identity.client_key_pem)) {
        return *std::move(error);
    }
    if (auto error = fill(files_.token_file, identity.bearer_token)) return *std::move(error);
    identity.bearer_token = std::string(trim(identity.bearer_token));
    if (!files_.token_file.empty() && identity.bearer_token.empty()) {
        return Error{ErrorCode::kPermission, "credentials: " + files_.token_file + " is empty"};
    }
    if (identity.bearer_token.find_first_of("\r\n") != std::string::npos) {
        return Error{ErrorCode::kInvalidInput,
                     "credentials: " + files_.token_file + " has more than one line"};
    }
    return identity;
}

Result<std::shared_ptr<const Identity>> FileCredentials::current(const std::stop_token& /*stop*/) {
    const std::scoped_lock lock(mutex_);
    const auto now = clock_.now();
    if (held_ && now - read_at_ < kReadAgain) return held_;
    auto identity = read();
    if (!identity) {
        if (!held_) return std::move(identity).error();
        log::warning("kube.credentials_kept", {{"reason", identity.error().message}});
    } else if (!held_ || !equal(*held_, *identity)) {
        held_ = std::make_shared<const Identity>(*std::move(identity));
    }
    read_at_ = now;
    return held_;
}

bool FileCredentials::refused(const std::shared_ptr<const Identity>& shown) {
    if (files_.token_file.empty() && files_.client_certificate_file.empty()) return false;
    const std::scoped_lock lock(mutex_);
    if (held_ != shown) return true;  // somebody has looked already
    auto identity = read();
    if (!identity || (held_ && equal(*held_, *identity))) return false;
    held_ = std::make_shared<const Identity>(*std::move(identity));
    read_at_ = clock_.now();
    return true;
}

}  // namespace aliquot::kube_client
