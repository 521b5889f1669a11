// SPDX-License-Identifier: Apache-2.0
#include "install/values.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/number.h"
#include "base/time_text.h"
#include "cost/price.h"
#include "findings/finding.h"
#include "k8s/names.h"
#include "k8s/taint.h"
#include "mig/config.h"
#include "pools/read.h"
#include "sharing/config_file.h"

namespace aliquot::install {
namespace {

Error wrong(const std::string& what, std::string_view found, const std::string& expected) {
    return {ErrorCode::kInvalidInput,
            what + " '" + std::string(found.substr(0, 80)) + "': expected " + expected};
}

bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool only(std::string_view text, std::string_view besides) {
    return std::ranges::all_of(text,
                               [&](char c) { return is_alphanumeric(c) || besides.contains(c); });
}

bool is_config_key(std::string_view text) {
    return !text.empty() && text.size() <= 253 && text != "." && !text.starts_with("..") &&
           only(text, "-_.");
}

bool is_host_path(std::string_view text) {
    return text.starts_with('/') && text.size() <= 4000 && only(text, "-_./+") &&
           !("/" + std::string(text) + "/").contains("/../");
}

bool is_cidr(std::string_view text) {
    const auto slash = text.find('/');
    if (slash == std::string_view::npos) return false;
    const std::string host(text.substr(0, slash));
    std::array<unsigned char, 16> bytes{};
    const bool four = ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1;
    if (!four && ::inet_pton(AF_INET6, host.c_str(), bytes.data()) != 1) return false;
    const auto bits = parse_number<unsigned>(text.substr(slash + 1));
    return bits && *bits <= (four ? 32U : 128U);
}

Result<Done> check_one_of(const std::string& what, std::string_view word,
                          const std::vector<std::string_view>& allowed) {
    if (std::ranges::find(allowed, word) != allowed.end()) return Done{};
    std::string list;
    for (const auto one : allowed) list.append(list.empty() ? "" : ", ").append(one);
    return wrong(what, word, "one of " + list);
}

/// What is asked for, and what else it takes.
struct Need {
    bool asked = false;
    bool given = false;
    std::string_view flag;
    std::string_view other;
};

Result<Done> check_needs(const Values& values) {
    constexpr std::string_view kWebhook = "the webhook: leave out --no-webhook";
    const std::array needs{
        Need{values.placement, values.webhook, "--placement", kWebhook},
        Need{values.claims, values.webhook, "--claims", kWebhook},
        Need{values.claims, values.dra != "off", "--claims",
             "--dra as well: auto, whole, fixed, consumable, dynamic-mig or by-label"},
        Need{values.claims_preemption, values.claims, "--claims-preemption", "--claims as well"},
        Need{values.pools, values.webhook, "--pools", kWebhook},
        Need{values.jobs, values.webhook, "--jobs", kWebhook},
        Need{values.jobs_idle_after != "off", values.jobs, "--jobs-idle-after", "--jobs as well"},
        Need{!values.jobs_api.empty(), values.webhook, "--jobs-api", kWebhook},
        Need{values.cost_store != "off", values.webhook, "--cost-store", kWebhook},
        Need{values.placement_preemption, values.placement, "--placement-preemption",
             "--placement as well"},
        Need{values.placement_strict, values.placement, "--placement-strict",
             "--placement as well"},
        Need{!values.placement_extender_ca.empty(), values.placement, "--placement-extender",
             "--placement as well"},
        Need{values.prices.has_value(), values.cost_store != "off", "--prices",
             "--cost-store as well: temporary, claim/NAME or postgresql://HOST/DATABASE"},
    };
    for (const Need& need : needs) {
        if (!need.asked || need.given) continue;
        return Error{ErrorCode::kInvalidInput,
                     std::string(need.flag).append(" needs ").append(need.other)};
    }
    return Done{};
}

/// As aliquot-controller reads them: whole seconds.
bool is_span(const std::string& text, std::chrono::milliseconds least) {
    constexpr std::chrono::milliseconds kMost = std::chrono::hours(24 * 3660);
    const auto span = parse_duration(text);
    return span && span->count() % 1000 == 0 && *span >= least && *span <= kMost;
}

Result<Done> check_idle(const Values& values) {
    using std::chrono::minutes;
    if (values.jobs_idle_after != "off" && !is_span(values.jobs_idle_after, minutes(1)))
        return wrong("idle time of jobs", values.jobs_idle_after, "off, or 1m or more, as 30m");
    const std::string span = "a duration, as 90s, 10m or 2h";
    if (!is_span(values.jobs_idle_grace, minutes(0)))
        return wrong("grace period of idle jobs", values.jobs_idle_grace, span);
    if (!is_span(values.jobs_idle_min_run, minutes(0)))
        return wrong("minimum run time of idle jobs", values.jobs_idle_min_run, span);
    return check_one_of("action for idle jobs", values.jobs_idle_action, {"tell", "end"});
}

Result<Done> check_words(const Values& values) {
    if (auto done = check_needs(values); !done) return done;
    if (auto done = check_idle(values); !done) return done;
    if (!values.jobs_api.empty() && !k8s::is_dns_subdomain(values.jobs_api))
        return wrong("jobs API", values.jobs_api, "the name of a TLS Secret in aliquot-system");
    for (const auto& done :
         {check_one_of("image pull policy", values.pull_policy,
                       {"Always", "IfNotPresent", "Never"}),
          check_one_of("MIG drain policy", values.mig_drain, {"refuse", "wait", "evict"}),
          check_one_of("dra", values.dra,
                       {"off", "auto", "whole", "fixed", "consumable", "dynamic-mig", "by-label"}),
          check_one_of("labels", values.labels, {"node", "nodefeature", "off"}),
          check_one_of("taint for unhealthy GPUs", values.unhealthy_taint,
                       {"all", "any", "off"})}) {
        if (!done) return done;
    }
    for (const std::string& one : values.label_profiles) {
        auto done = check_one_of("label profile", one,
                                 {"present", "accelerator", "model", "resource", "role", "type"});
        if (!done) return done;
    }
    std::string_view rest = values.device_list_strategy;
    while (!rest.empty()) {
        const auto comma = rest.find(',');
        auto done = check_one_of("device list strategy", rest.substr(0, comma),
                                 {"envvar", "volume-mounts", "cdi-annotations", "cdi-cri"});
        if (!done) return done;
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
    return Done{};
}

/// "postgresql://db.example/aliquot" without a password: who may read the Deployment may read it.
bool is_database(std::string_view text) {
    constexpr std::string_view kScheme = "postgresql://";
    if (!text.starts_with(kScheme) || text.size() > 400) return false;
    const auto rest = text.substr(kScheme.size());
    const auto at = rest.substr(0, rest.find('/')).find('@');
    const bool has_password = at != std::string_view::npos && rest.substr(0, at).contains(':');
    return !rest.empty() && !has_password && !text.contains("password=") &&
           only(text, "-_./:@?&=%,[]");
}

Result<Done> check_costs(const Values& values) {
    const std::string& store = values.cost_store;
    constexpr std::string_view kClaim = "claim/";
    const bool is_known =
        store == "off" || store == "temporary" || is_database(store) ||
        (store.starts_with(kClaim) && k8s::is_dns_subdomain(store.substr(kClaim.size())));
    if (!is_known) {
        // What may be a password is not told again: terminals and logs of CI keep it.
        const bool secret = store.contains('@') || store.contains("password=");
        return wrong("cost store", secret ? "postgresql://..." : store,
                     "off, temporary, claim/NAME of a PersistentVolumeClaim, or "
                     "postgresql://[USER@]HOST/DATABASE without a password (that is in a Secret: "
                     "--cost-secret)");
    }
    if (!values.cost_secret.empty() && !is_database(store)) {
        return wrong("cost secret", values.cost_secret,
                     "it only with a cost store postgresql://..., for user and password");
    }
    if (!values.cost_secret.empty() && !k8s::is_dns_subdomain(values.cost_secret)) {
        return wrong("cost secret", values.cost_secret, "the name of a Secret");
    }
    if (!values.prices) return Done{};
    auto read = cost::read_prices(values.prices_file, *values.prices);
    std::erase_if(read.problems, [](const auto& one) { return one.is_warning; });
    if (read.problems.empty()) return Done{};
    read.problems.resize(1);
    std::string told = pools::text_of(values.prices_file, read.problems);
    while (told.ends_with('\n')) told.pop_back();
    return Error{ErrorCode::kInvalidInput, told + "; see: aliquot price check"};
}

Result<Done> check_placing(const Values& values) {
    for (const auto& [key, value] : values.node_selector) {
        if (!k8s::is_label_key(key)) return wrong("node selector", key, "a label's name");
        if (!k8s::is_label_value(value))
            return wrong("node selector " + key, value, "a label's value");
    }
    for (const Toleration& one : values.tolerations) {
        if (!k8s::is_label_key(one.key)) return wrong("toleration", one.key, "a taint's key");
        if (!k8s::is_label_value(one.value))
            return wrong("toleration", one.value, "a taint's value");
        if (!one.effect.empty() && !k8s::is_taint_effect(one.effect)) {
            return wrong("toleration " + one.key, one.effect,
                         "NoSchedule, PreferNoSchedule or NoExecute");
        }
    }
    if (values.node_taint.empty()) return Done{};
    const auto taint = k8s::parse_taint(values.node_taint);  // as the agent will
    if (!taint) return taint.error();
    return Done{};
}

Result<Done> check_config(const Values& values) {
    for (const auto& [key, text] : values.config) {
        if (!is_config_key(key)) {
            return wrong("configuration", key, "a key of letters, digits, '-', '_' and '.'");
        }
        const auto checked = sharing::check_config_file("configuration " + key, text,
                                                        sharing::Compatibility::kStrict);
        for (const findings::Finding& one : checked.findings) {
            if (one.severity != findings::Severity::kError) continue;
            return Error{ErrorCode::kInvalidInput, "configuration " + key + ":" +
                                                       std::to_string(one.line) + ":" +
                                                       std::to_string(one.column) + ": " +
                                                       one.message + "; see: aliquot config check"};
        }
        for (const sharing::FoundConfig& found : checked.configs) {
            if (!found.where.empty()) {
                return Error{ErrorCode::kInvalidInput, "configuration " + key + ": it is a whole " +
                                                           found.where +
                                                           "; expected the configuration itself"};
            }
            if (found.config.sharing.mechanism == grant::Mechanism::kMps && !values.mps) {
                return Error{ErrorCode::kInvalidInput,
                             "configuration " + key +
                                 ": shares by MPS, for which the agent needs more; add --mps"};
            }
        }
    }
    for (const std::string& one : values.api_server_cidrs) {
        if (!is_cidr(one))
            return wrong("addresses of the API server", one, "10.0.0.1/32 or fd00::1/128");
    }
    if (!values.webhook_client_ca.empty() && !k8s::is_label_value(values.webhook_client_ca)) {
        return wrong("ConfigMap of the webhook's client authority", values.webhook_client_ca,
                     "a ConfigMap's name");
    }
    const std::string& extender_ca = values.placement_extender_ca;
    if (!extender_ca.empty() && !k8s::is_label_value(extender_ca))
        return wrong("ConfigMap of kube-scheduler's authority", extender_ca, "a ConfigMap's name");
    for (const std::string& one : values.webhook_client_names) {
        if (values.webhook_client_ca.empty() || one.empty() ||
            one.find_first_of("\n\r\t\"\\,") != std::string::npos) {
            return wrong("name of the webhook's client", one,
                         "a certificate's common name, together with its authority");
        }
    }
    if (!values.default_config.empty() && !values.config.empty() &&
        !values.config.contains(values.default_config)) {
        return wrong("default configuration", values.default_config, "a key of --config");
    }
    if (values.mig_config) {
        const auto read = mig::read_config(*values.mig_config);
        if (!read.problems.empty()) {
            return Error{ErrorCode::kInvalidInput,
                         mig::to_text("MIG configuration", read.problems.front())};
        }
    }
    return Done{};
}

}  // namespace

Result<Toleration> parse_toleration(std::string_view text) {
    const std::string expected = "KEY[=VALUE][:EFFECT], as nvidia.com/gpu=true:NoSchedule";
    Toleration made;
    const auto colon = text.rfind(':');
    if (colon != std::string_view::npos) {
        made.effect = text.substr(colon + 1);
        if (!k8s::is_taint_effect(made.effect)) return wrong("taint", text, expected);
    }
    const std::string_view rest = text.substr(0, colon);
    const auto equals = rest.find('=');
    made.key = rest.substr(0, equals);
    if (equals != std::string_view::npos) made.value = rest.substr(equals + 1);
    if (!k8s::is_label_key(made.key) || !k8s::is_label_value(made.value)) {
        return wrong("taint", text, expected);
    }
    return made;
}

Result<Done> check(const Values& values) {
    if (values.image.empty() || values.image.size() > 512 || !only(values.image, "-._/:@") ||
        !is_alphanumeric(values.image.front())) {
        return wrong("image", values.image, "a reference such as registry.example/aliquot:0.1.0");
    }
    if (!values.runtime_class.empty() &&
        (!k8s::is_label_value(values.runtime_class) || values.runtime_class.contains('_'))) {
        return wrong("runtime class", values.runtime_class, "the name of a RuntimeClass");
    }
    if (!values.kubelet_root.empty() && !is_host_path(values.kubelet_root)) {
        return wrong("kubelet's directory", values.kubelet_root, "an absolute path");
    }
    if (!is_host_path(values.driver_root)) {
        return wrong("driver root", values.driver_root, "an absolute path");
    }
    if (values.api_port > 65535) {
        return wrong("port of the API server", std::to_string(values.api_port), "1 to 65535");
    }
    if (values.controller_replicas < 1 || values.controller_replicas > 10) {
        return wrong("replicas of the controller", std::to_string(values.controller_replicas),
                     "1 to 10");
    }
    if (values.metrics_namespace.empty() || !k8s::is_label_value(values.metrics_namespace)) {
        return wrong("namespace of Prometheus", values.metrics_namespace, "a namespace's name");
    }
    if (!values.default_config.empty() && !is_config_key(values.default_config)) {
        return wrong("default configuration", values.default_config, "a key of a ConfigMap");
    }
    for (const std::string& one : values.agent_args) {
        if (!one.starts_with("--") || one.size() > 1000 ||
            one.find_first_of("\n\r\t\"\\") != std::string::npos) {
            return wrong("flag of the agent", one, "--NAME or --NAME=VALUE in one line");
        }
    }
    for (auto* part : {&check_words, &check_costs, &check_placing, &check_config}) {
        auto done = (*part)(values);
        if (!done) return done;
    }
    return Done{};
}

}  // namespace aliquot::install
