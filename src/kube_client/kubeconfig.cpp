// SPDX-License-Identifier: Apache-2.0
#include "kube_client/kubeconfig.h"

#include <array>
#include <cstdint>

#include "base/base64.h"
#include "base/text.h"
#include "kube_client/url.h"

namespace aliquot::kube_client {
namespace {

std::optional<Error> unusable(const ConfigCluster& cluster) {
    if (cluster.server.empty()) return cluster.place.error("the cluster has no server");
    if (!parse_url(cluster.server)) {
        return cluster.place.error("server is not https://HOST:PORT");
    }
    if (cluster.insecure && (!cluster.ca_file.empty() || !cluster.ca_pem.empty())) {
        return cluster.place.error(
            "insecure-skip-tls-verify and a certificate-authority exclude each other: remove one");
    }
    constexpr std::array<std::string_view, 5> kProxies{"http://", "https://", "socks5://",
                                                       "socks5h://", "socks4://"};
    if (cluster.proxy_url.empty()) return {};
    for (const auto scheme : kProxies) {
        if (cluster.proxy_url.starts_with(scheme)) return {};
    }
    return cluster.place.error("proxy-url is not an http, https or socks5 URL");
}

std::optional<Error> unusable(const ConfigUser& user) {
    if (!user.user_name.empty()) {
        return user.place.error(
            "username and password: API servers have not taken these since 1.19; use a token, a "
            "client certificate or exec");
    }
    if (!user.auth_provider.empty()) {
        return user.place.error("auth-provider '" + user.auth_provider +
                                "' was removed from Kubernetes in 1.26; use the exec plugin of "
                                "your provider");
    }
    const bool certificate =
        !user.client_certificate_file.empty() || !user.client_certificate_pem.empty();
    const bool key = !user.client_key_file.empty() || !user.client_key_pem.empty();
    if (certificate && !key) return user.place.error("a client-certificate without client-key");
    if (key && !certificate) return user.place.error("a client-key without client-certificate");
    if (user.token.find_first_of("\r\n") != std::string::npos) {
        return user.place.error("the token has a line break in it");
    }
    const bool as_more = !user.as_uid.empty() || !user.as_groups.empty() || !user.as_extra.empty();
    if (user.as.empty() && as_more) {
        return user.place.error("as-groups, as-uid and as-user-extra need `as`");
    }
    if (user.exec && user.exec->always_interactive) {
        return user.exec->place.error(
            "interactiveMode Always: exec plugins get no terminal here; use IfAvailable");
    }
    return {};
}

template <class Entry>
std::vector<std::string_view> names_of(const std::map<std::string, Entry>& entries) {
    std::vector<std::string_view> names;
    for (const auto& [name, entry] : entries) names.push_back(name);
    return names;
}

}  // namespace

void merge(Kubeconfig& first, Kubeconfig second) {
    first.clusters.merge(std::move(second.clusters));
    first.users.merge(std::move(second.users));
    first.contexts.merge(std::move(second.contexts));
    if (first.current_context.empty()) {
        first.current_context = std::move(second.current_context);
        first.current_context_place = std::move(second.current_context_place);
    }
}

Result<ConfigChoice> choose(const Kubeconfig& config, std::string_view context) {
    const std::string name(context.empty() ? std::string_view(config.current_context) : context);
    if (name.empty()) {
        return Error{ErrorCode::kNotFound,
                     "the kubeconfig has no current-context: name one with --context"};
    }
    const auto found = config.contexts.find(name);
    if (found == config.contexts.end()) {
        std::string known;
        for (const auto other : names_of(config.contexts)) {
            if (known.size() < 200) known += (known.empty() ? "" : ", ") + std::string(other);
        }
        return Error{ErrorCode::kNotFound, "there is no context '" + name +
                                               "'; there are: " + (known.empty() ? "none" : known)};
    }
    const ConfigContext& chosen = found->second;
    const auto cluster = config.clusters.find(chosen.cluster);
    if (cluster == config.clusters.end()) {
        return chosen.place.error("context '" + name + "' names the cluster '" + chosen.cluster +
                                  "', which is not there");
    }
    ConfigChoice choice{.context = name,
                        .cluster = cluster->second,
                        .user = {},
                        .namespace_name = chosen.namespace_name};
    if (auto error = unusable(choice.cluster)) return *std::move(error);
    if (!chosen.user.empty()) {
        const auto user = config.users.find(chosen.user);
        if (user == config.users.end()) {
            return chosen.place.error("context '" + name + "' names the user '" + chosen.user +
                                      "', which is not there");
        }
        choice.user = user->second;
        if (auto error = unusable(choice.user)) return *std::move(error);
    }
    return choice;
}

std::optional<std::string> decode_base64(std::string_view text) {
    std::string plain(text);
    std::erase_if(plain, is_blank);
    if (!plain.contains('=')) plain.append((4 - plain.size() % 4) % 4, '=');
    return aliquot::decode_base64(plain);
}

}  // namespace aliquot::kube_client
