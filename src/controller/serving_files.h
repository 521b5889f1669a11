// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "http/certificate.h"
#include "http/server.h"
#include "os/temporary_directory.h"

namespace aliquot::controller {

/// The certificate that is shown, in files for http::Server, which looks at them by itself. Used by
/// one thread.
class ServingFiles {
public:
    /// Begins with a certificate that nobody trusts, so that the server can be there before the real
    /// one.
    /// errors   as put()
    Result<Done> prepare();

    /// errors   kPermission, kUnavailable: the folder (TMPDIR) cannot be written to
    Result<Done> put(const http::Certificate& certificate);

    [[nodiscard]] http::Tls tls() const;

private:
    [[nodiscard]] std::string path(const char* name) const {
        return (folder_.path() / name).string();
    }
    const os::TemporaryDirectory folder_;
    std::string shown_;  // the certificate in the files
};

}  // namespace aliquot::controller
