// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace aliquot::sim::apiserver {

struct PemPair {
    std::string certificate, key;
};

/// A certificate authority made for one server. Thread-safe.
class Authority {
public:
    /// errors   kInternal: OpenSSL refuses
    static Result<std::unique_ptr<Authority>> make();
    ~Authority();
    Authority(const Authority&) = delete;
    Authority& operator=(const Authority&) = delete;

    [[nodiscard]] const std::string& certificate() const { return pem_; }
    /// names   host names and IP addresses
    [[nodiscard]] Result<PemPair> issue_server(const std::string& common_name,
                                               const std::vector<std::string>& names) const;
    [[nodiscard]] Result<PemPair> issue_client(const std::string& user,
                                               const std::vector<std::string>& groups) const;

private:
    struct Keys;
    explicit Authority(std::unique_ptr<Keys> keys);
    std::unique_ptr<Keys> keys_;
    std::string pem_;
};

}  // namespace aliquot::sim::apiserver
