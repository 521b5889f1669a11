// SPDX-License-Identifier: Apache-2.0
#include "http/admission.h"

#include "base/log.h"

namespace aliquot::http {
namespace {

constexpr std::chrono::seconds kLookEvery{1};

Result<std::shared_ptr<const Admission>> admit(Access access) {
    auto made = std::make_shared<Admission>(std::move(access));
    if (made->access.tls) {
        auto tls = TlsContext::load(*made->access.tls);
        if (!tls) return std::move(tls).error();
        made->tls = *std::move(tls);
    }
    return std::shared_ptr<const Admission>(std::move(made));
}

}  // namespace

AdmissionWatch::AdmissionWatch(std::shared_ptr<const Admission> admission)
    : admission_(std::move(admission)), looked_at_(std::chrono::steady_clock::now()) {}

Result<AdmissionWatch> AdmissionWatch::start(Access access) {
    // Before the files are read: what changes meanwhile is seen at the next look.
    auto seen = identities(access);
    auto admission = admit(std::move(access));
    if (!admission) return std::move(admission).error();
    AdmissionWatch made(*std::move(admission));
    made.seen_ = std::move(seen);
    return made;
}

std::vector<AdmissionWatch::Identity> AdmissionWatch::identities(const Access& access) {
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

void AdmissionWatch::look() {
    looked_at_ = std::chrono::steady_clock::now();
    auto now = identities(admission_->access);
    if (now == seen_) return;
    seen_ = std::move(now);
    Result<Access> access =
        admission_->access.file.empty() ? admission_->access : read_access(admission_->access.file);
    // Other files may be named now. Looked at before they are read, as at the start.
    if (access) seen_ = identities(*access);
    auto next = access ? admit(*access) : Result<std::shared_ptr<const Admission>>(access.error());
    if (!next) {
        // What is used is still what the old names say; they are looked at again with the new file.
        log::warning("web.reload_failed",
                     {{"reason", next.error().message}, {"kept", "what was read before"}});
        seen_ = identities(admission_->access);
        return;
    }
    admission_ = *std::move(next);
    log::info("web.reloaded",
              {{"tls", admission_->tls != nullptr}, {"users", admission_->access.users.size()}});
}

const std::shared_ptr<const Admission>& AdmissionWatch::current() {
    if (std::chrono::steady_clock::now() - looked_at_ >= kLookEvery) look();
    return admission_;
}

}  // namespace aliquot::http
