// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "kube_client/kubeconfig.h"
#include "kube_client/transport.h"
#include "os/clock.h"
#include "os/root.h"

namespace aliquot::kube_client {

/// Who we are, asked before each request. Thread-safe.
class Credentials {
public:
    virtual ~Credentials() = default;

    /// errors   kPermission, kNotFound, kUnavailable: there is nothing to show now
    virtual Result<std::shared_ptr<const Identity>> current(const std::stop_token& stop) = 0;

    /// The server refused what was shown (401). True: another look may bring something newer.
    virtual bool refused(const std::shared_ptr<const Identity>& shown) = 0;
};

/// Texts that are given, or files that are read: at first, when a minute has passed, and when the
/// server refuses what they held. A file that cannot be read any more leaves what it said.
struct IdentityFiles {
    Identity given;  // counts where no file is named
    std::string ca_file;
    std::string client_certificate_file;
    std::string client_key_file;
    std::string token_file;
};
class FileCredentials final : public Credentials {
public:
    FileCredentials(IdentityFiles files, const os::Clock& clock, os::Root root = os::Root());
    Result<std::shared_ptr<const Identity>> current(const std::stop_token& stop) override;
    bool refused(const std::shared_ptr<const Identity>& shown) override;

private:
    Result<Identity> read() const;

    const IdentityFiles files_;
    const os::Clock& clock_;
    const os::Root root_;
    std::mutex mutex_;
    std::shared_ptr<const Identity> held_;
    os::TimePoint read_at_{};
};

/// What an exec plugin answered.
struct ExecAnswer {
    std::string token;
    std::string client_certificate_pem;
    std::string client_key_pem;
    /// Seconds since 1970; empty: it never expires.
    std::optional<std::int64_t> expires;
};

/// Reads an ExecCredential.
/// errors   kInvalidInput: not one of `api_version`, or neither a token nor a certificate with key.
///          A message never quotes the text: it holds secrets.
Result<ExecAnswer> read_exec_answer(std::string_view json, std::string_view api_version);

/// The value of KUBERNETES_EXEC_INFO.
std::string exec_info(const ConfigExec& exec, const ConfigCluster& cluster,
                      std::string_view ca_pem);

/// A program that is asked for credentials: without a shell, without input, its stderr is ours,
/// within a minute. What it answers is kept until it expires or is refused.
class ExecCredentials final : public Credentials {
public:
    /// base     brings what the plugin does not: the CA
    /// seconds_now  the wall clock: expiry is a date
    ExecCredentials(ConfigExec exec, ConfigCluster cluster, std::unique_ptr<Credentials> base,
                    std::function<std::int64_t()> seconds_now);
    Result<std::shared_ptr<const Identity>> current(const std::stop_token& stop) override;
    bool refused(const std::shared_ptr<const Identity>& shown) override;

private:
    Result<ExecAnswer> ask(std::string_view ca_pem) const;

    const ConfigExec exec_;
    const ConfigCluster cluster_;
    const std::unique_ptr<Credentials> base_;
    const std::function<std::int64_t()> seconds_now_;
    std::mutex mutex_;
    std::optional<ExecAnswer> answer_;
    std::shared_ptr<const Identity> made_of_;  // what base_ said then
    std::shared_ptr<const Identity> held_;
};

}  // namespace aliquot::kube_client
