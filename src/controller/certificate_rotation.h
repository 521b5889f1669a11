// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/credentials.h"
#include "kube_client/api.h"
#include "kube_client/store.h"

namespace aliquot::controller {

struct RotationOptions {
    kube_client::ObjectKey secret{"aliquot-system", "aliquot-webhook"};
    std::string webhook_configuration = "aliquot";
    std::vector<std::string> names;  // of the certificate: "DNS:..."
    Lifetimes lifetimes;
};

/// Keeps Secret and caBundle right; for the leader.
class CertificateRotation {
public:
    CertificateRotation(kube_client::Api& api, RotationOptions options)
        : api_(api), options_(std::move(options)) {}

    /// Who leads, and how long a write may take.
    struct Leadership {
        kube_client::Call call;
        std::uint64_t epoch = 0;
    };

    /// One round: renews what is due, then makes the webhook configuration trust it.
    /// secret, configuration   as last seen; empty: not there. A configuration that is not there
    ///                         is nobody's fault: it may come later.
    /// returns  when the next round is due at the latest
    /// errors   as the API server's; kConflict also when a newer leader has written
    Result<http::Instant> tend(const kube_client::StoredObject& secret,
                               const kube_client::StoredObject& configuration, http::Instant now,
                               const Leadership& leadership);

    [[nodiscard]] const RotationOptions& options() const { return options_; }

private:
    Result<Done> write(const kube_client::StoredObject& present, const Credentials& credentials,
                       const Leadership& leadership);
    Result<Done> trust(const kube_client::StoredObject& configuration, const std::string& bundle,
                       const Leadership& leadership);

    kube_client::Api& api_;
    const RotationOptions options_;
};

/// admissionregistration.k8s.io/v1 mutatingwebhookconfigurations
const kube_client::Resource& webhook_configurations();

/// The change that gives each webhook of a configuration this caBundle; empty: all have it.
/// json   a MutatingWebhookConfiguration; any bytes
std::string trust_patch(std::string_view json, const std::string& bundle);

}  // namespace aliquot::controller
