// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "http/certificate.h"

namespace aliquot::http {

/// A certificate for a test, valid for a day. Throws when none can be made.
struct TestCertificate : Certificate {
    /// Its own issuer.
    static TestCertificate authority(const std::string& name);
    /// alternative_name   as OpenSSL writes it: "DNS:localhost,IP:127.0.0.1"; empty: none
    [[nodiscard]] TestCertificate issue(const std::string& name,
                                        const std::string& alternative_name) const;
};

/// Writes a file so that a reader sees the old content or the new.
void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace aliquot::http
