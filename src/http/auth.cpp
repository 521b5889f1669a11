// SPDX-License-Identifier: Apache-2.0
#include "http/auth.h"

#include "base/log.h"

namespace aliquot::http {
namespace {

constexpr std::chrono::seconds kLookEvery{1};

Result<std::shared_ptr<const Auth>> admit(Access access) {
    auto made = std::make_shared<Auth>(std::move(access));
    if (made->access.tls) {
        auto tls = TlsContext::load(*made->access.tls);
        if (!tls) return std::move(tls).error();
        made->tls = *std::move(tls);
    }
    return std::shared_ptr<const Auth>(std::move(made));
}

}  // namespace

AuthWatch::AuthWatch(std::shared_ptr<const Auth> auth)
    : auth_(std::move(auth)), looked_at_(std::chrono::steady_clock::now()) {}

Result<AuthWatch> AuthWatch::start(Access access) {
    // Before the files are read: what changes meanwhile is seen at the next look.
    auto seen = identities(access);
    auto auth = admit(std::move(access));
    if (!auth) return std::move(auth).error();
    AuthWatch made(*std::move(auth));
    made.seen_ = std::move(seen);
    return made;
}

std::vector<AuthWatch::Identity> AuthWatch::identities(const Access& access) {
    std::vector<std::string> files{access.file};
    if (access.tls) {
        files.insert(files.end(), {access.tls->certificate_file, access.tls->key_file,
                                   access.tls->client_ca_file});
    }
    std::vector<Identity> made;
    for (const std::string& file : files) {
        const auto status =
            file.empty() ? Result<os::FileStatus>(Error{}) : os::Root().status(file);
        made.push_back(status ? Identity(status->identity) : std::nullopt);
    }
    return made;
}

void AuthWatch::look() {
    looked_at_ = std::chrono::steady_clock::now();
    auto now = identities(auth_->access);
    if (now == seen_) return;
    seen_ = now;
    Result<Access> access =
        auth_->access.file.empty() ? auth_->access : read_access(auth_->access.file);
    // Other files may be named now. Looked at before they are read, as at the start.
    if (access) seen_ = identities(*access);
    auto next = access ? admit(*access) : Result<std::shared_ptr<const Auth>>(access.error());
    if (!next) {
        // What is used is still what the old names say. As they were before anything was read: a key that
        // came just behind its certificate is a change.
        log::warning("web.reload_failed",
                     {{"reason", next.error().message}, {"kept", "what was read before"}});
        seen_ = std::move(now);
        return;
    }
    auth_ = *std::move(next);
    log::info("web.reloaded",
              {{"tls", auth_->tls != nullptr}, {"users", auth_->access.users.size()}});
}

const std::shared_ptr<const Auth>& AuthWatch::current() {
    if (std::chrono::steady_clock::now() - looked_at_ >= kLookEvery) look();
    return auth_;
}

}  // namespace aliquot::http
