// SPDX-License-Identifier: Apache-2.0
#include "controller/certificate_rotation.h"

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json_value.h"
#include "base/log.h"
#include "controller/secret.h"

namespace aliquot::controller {
namespace {

using Json = nlohmann::json;

constexpr char kFieldManager[] = "aliquot-controller";

}  // namespace

const kube_client::Resource& webhook_configurations() {
    static const kube_client::Resource kResource{.group = "admissionregistration.k8s.io",
                                                 .version = "v1",
                                                 .plural = "mutatingwebhookconfigurations",
                                                 .kind = "MutatingWebhookConfiguration",
                                                 .namespaced = false};
    return kResource;
}

std::string trust_patch(std::string_view json, const std::string& bundle) {
    const Json root = parse_json<Json>(json);
    const Json& webhooks = member(root, "webhooks");
    if (!webhooks.is_array()) return {};
    const std::string encoded = encode_base64(bundle);
    Json changed = Json::array();
    for (const Json& webhook : webhooks) {
        const Json& name = member(webhook, "name");
        const Json& present = member(member(webhook, "clientConfig"), "caBundle");
        if (!name.is_string() || (present.is_string() && present == encoded)) continue;
        changed.push_back({{"name", name}, {"clientConfig", {{"caBundle", encoded}}}});
    }
    if (changed.empty()) return {};
    return dumped(Json{{"webhooks", std::move(changed)}});
}

Result<Done> CertificateRotation::write(const kube_client::StoredObject& present,
                                        const Credentials& credentials,
                                        const Leadership& leadership) {
    const kube_client::WriteOptions how{.field_manager = kFieldManager, .call = leadership.call};
    std::string json = write_secret(present ? std::string_view(present->json) : std::string_view{},
                                    options_.secret, credentials, leadership.epoch);
    auto written = present ? api_.replace(kube_client::resources::secrets(), options_.secret,
                                          std::move(json), how)
                           : api_.create(kube_client::resources::secrets(),
                                         options_.secret.namespace_name, std::move(json), how);
    if (!written) return written.error();
    return Done{};
}

/// By a strategic merge: the other fields of a webhook stay whose they are.
Result<Done> CertificateRotation::trust(const kube_client::StoredObject& configuration,
                                        const std::string& bundle, const Leadership& leadership) {
    if (configuration == nullptr) return Done{};
    std::string patch = trust_patch(configuration->json, bundle);
    if (patch.empty()) return Done{};
    const auto patched =
        api_.patch(webhook_configurations(), configuration->key(), std::move(patch),
                   {.kind = kube_client::PatchKind::kStrategic,
                    .write = {.field_manager = kFieldManager, .call = leadership.call}});
    if (!patched) return patched.error();
    log::info("controller.trusted", {{"configuration", configuration->name}});
    return Done{};
}

Result<http::Instant> CertificateRotation::tend(const kube_client::StoredObject& secret,
                                                const kube_client::StoredObject& configuration,
                                                http::Instant now, const Leadership& leadership) {
    const KeptCredentials kept = secret ? read_secret(secret->json) : KeptCredentials{};
    if (kept.epoch > leadership.epoch) {
        return Error{ErrorCode::kConflict, "Secret " + to_text(options_.secret) +
                                               " was written by a newer leader (epoch " +
                                               std::to_string(kept.epoch) + " > " +
                                               std::to_string(leadership.epoch) + ")"};
    }
    auto renewal = renew(kept.credentials, options_.names, now, options_.lifetimes);
    if (!renewal) return std::move(renewal).error();
    if (!renewal->reasons.empty()) {
        if (auto written = write(secret, renewal->credentials, leadership); !written) {
            return std::move(written).error();
        }
        for (const std::string& reason : renewal->reasons) {
            log::info("controller.renewed", {{"what", reason}});
        }
    }
    if (auto trusted = trust(configuration, renewal->credentials.bundle(), leadership); !trusted) {
        return std::move(trusted).error();
    }
    return renewal->next;
}

}  // namespace aliquot::controller
