// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace aliquot::web {

/// A certificate and its key in PEM, made for a test.
struct TestCertificate {
    std::string certificate;
    std::string key;

    /// Its own issuer.
    static TestCertificate authority(const std::string& name);
    /// alternative_name   as OpenSSL writes it: "DNS:localhost,IP:127.0.0.1"; empty: none
    [[nodiscard]] TestCertificate issue(const std::string& name,
                                        const std::string& alternative_name) const;
};

/// Writes a file so that a reader sees the old content or the new.
void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace aliquot::web
