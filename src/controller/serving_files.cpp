// SPDX-License-Identifier: Apache-2.0
#include "controller/serving_files.h"

#include "os/root.h"

namespace aliquot::controller {

Result<Done> ServingFiles::prepare() {
    constexpr std::chrono::hours kDay{24};
    auto own = http::make_authority("aliquot-not-ready", kDay);
    if (!own) return std::move(own).error();
    return put(*own);
}

Result<Done> ServingFiles::put(const http::Certificate& certificate) {
    if (certificate.certificate == shown_) return Done{};
    constexpr std::uint32_t kOnlyUs = 0600;
    const os::Root root;
    // The key first: a look in between sees a pair that does not fit, keeps what it had, and looks
    // again when the other file has changed.
    if (auto wrote = root.write_atomically(path("tls.key"), certificate.key, kOnlyUs); !wrote) {
        return wrote;
    }
    if (auto wrote = root.write_atomically(path("tls.crt"), certificate.certificate); !wrote) {
        return wrote;
    }
    shown_ = certificate.certificate;
    return Done{};
}

http::Tls ServingFiles::tls() const {
    return {.certificate_file = path("tls.crt"), .key_file = path("tls.key")};
}

}  // namespace aliquot::controller
