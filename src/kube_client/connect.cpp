// SPDX-License-Identifier: Apache-2.0
#include "kube_client/connect.h"

#include <chrono>
#include <map>

#include "http/libcurl.h"
#include "kube_client/credentials.h"
#include "kube_client/http_api.h"
#include "kube_client/kubeconfig.h"
#include "kube_client/url.h"
#include "os/root.h"
#include "os/spawner.h"

namespace aliquot::kube_client {
namespace {

using Environment = std::map<std::string, std::string>;

constexpr std::string_view kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";

const os::Clock& system_clock() {
    static const os::SystemClock kClock;
    return kClock;
}

std::int64_t wall_seconds() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::string variable(const Environment& environment, const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? "" : found->second;
}

std::vector<std::string> split_list(std::string_view text) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(':', begin), text.size());
        if (end > begin) parts.emplace_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

HttpApiOptions api_options(const ConnectOptions& options) {
    return {.user_agent = options.user_agent,
            .burst = options.burst,
            .per_second = options.per_second,
            .headers = {},
            .transport = {.limits = options.limits}};
}

std::vector<std::pair<std::string, std::string>> impersonation(const ConfigUser& user) {
    std::vector<std::pair<std::string, std::string>> headers;
    if (user.as.empty()) return headers;
    headers.emplace_back("Impersonate-User", user.as);
    if (!user.as_uid.empty()) headers.emplace_back("Impersonate-Uid", user.as_uid);
    for (const auto& group : user.as_groups) headers.emplace_back("Impersonate-Group", group);
    for (const auto& [name, value] : user.as_extra) {
        headers.emplace_back("Impersonate-Extra-" + encode_part(name), value);
    }
    return headers;
}

Result<Connection> by_kubeconfig(const ConnectOptions& options,
                                 const std::vector<std::string>& files) {
    auto config = read_kubeconfigs(files);
    if (!config) return std::move(config).error();
    auto choice = choose(*config, options.context);
    if (!choice) return std::move(choice).error();
    const ConfigCluster& cluster = choice->cluster;
    ConfigUser& user = choice->user;

    IdentityFiles sources;
    sources.given = {.ca_pem = cluster.ca_pem,
                     .client_certificate_pem = user.client_certificate_pem,
                     .client_key_pem = user.client_key_pem,
                     .bearer_token = user.token};
    if (cluster.ca_pem.empty()) sources.ca_file = cluster.ca_file;
    if (user.client_certificate_pem.empty()) {
        sources.client_certificate_file = user.client_certificate_file;
    }
    if (user.client_key_pem.empty()) sources.client_key_file = user.client_key_file;
    sources.token_file = user.token_file;
    const bool has_token = !user.token.empty() || !user.token_file.empty();
    std::unique_ptr<Credentials> credentials =
        std::make_unique<FileCredentials>(std::move(sources), system_clock());
    if (user.exec && !has_token) {
        credentials = std::make_unique<ExecCredentials>(*std::move(user.exec), cluster,
                                                        std::move(credentials), &wall_seconds);
    } else if (auto shown = credentials->current({}); !shown) {
        return std::move(shown).error();  // a file that is missing is known at once
    }

    HttpApiOptions api = api_options(options);
    api.headers = impersonation(user);
    Connection connection;
    connection.server = parse_url(cluster.server)->text();
    connection.api =
        std::make_unique<HttpApi>(Destination{.url = connection.server,
                                              .proxy_url = cluster.proxy_url,
                                              .tls_server_name = cluster.tls_server_name,
                                              .insecure = cluster.insecure},
                                  std::move(credentials), std::move(api));
    connection.namespace_name = choice->namespace_name;
    connection.origin = "context '" + choice->context + "' of " + cluster.place.file;
    return connection;
}

Result<Connection> by_service_account(const ConnectOptions& options, const Environment& environment,
                                      const os::Root& root) {
    const std::string directory(kServiceAccount);
    Url url{.scheme = "https", .host = variable(environment, "KUBERNETES_SERVICE_HOST")};
    const std::string port = variable(environment, "KUBERNETES_SERVICE_PORT");
    const auto parsed = parse_url("https://" + url.authority_host() + ":" + port);
    if (!parsed) {
        return Error{ErrorCode::kInvalidInput,
                     "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are '" + url.host +
                         "' and '" + port + "', expected an address and a port"};
    }
    IdentityFiles sources;
    sources.token_file = directory + "token";
    if (root.exists(directory + "ca.crt")) sources.ca_file = directory + "ca.crt";
    auto credentials = std::make_unique<FileCredentials>(std::move(sources), system_clock(), root);
    if (auto shown = credentials->current({}); !shown) return std::move(shown).error();

    Connection connection;
    connection.server = parsed->text();
    connection.api = std::make_unique<HttpApi>(Destination{.url = connection.server},
                                               std::move(credentials), api_options(options));
    if (auto name = root.read(directory + "namespace", 256)) {
        connection.namespace_name = name->substr(0, name->find_first_of(" \r\n"));
    }
    connection.origin = "service account";
    return connection;
}

Result<Connection> choose_way(const ConnectOptions& options, const Environment& environment,
                              const os::Root& root) {
    if (!options.kubeconfig.empty()) {
        const std::string& file = options.kubeconfig;
        auto connection = by_kubeconfig(options, {file});
        if (!connection && connection.error().code == ErrorCode::kNotFound &&
            !os::Root().exists(file)) {
            return Error{ErrorCode::kNotFound, file + ": there is no such kubeconfig"};
        }
        return connection;
    }
    const auto listed = split_list(variable(environment, "KUBECONFIG"));
    if (!listed.empty()) return by_kubeconfig(options, listed);
    const bool in_pod = !variable(environment, "KUBERNETES_SERVICE_HOST").empty() &&
                        root.exists(std::string(kServiceAccount) + "token");
    if (in_pod && options.context.empty()) {
        return by_service_account(options, environment, root);
    }
    const std::string home = variable(environment, "HOME");
    if (home.empty()) {
        return Error{ErrorCode::kNotFound,
                     "no kubeconfig: neither KUBECONFIG nor HOME is set, and this is not a pod"};
    }
    return by_kubeconfig(options, {home + "/.kube/config"});
}

}  // namespace

Result<std::vector<std::string>> contexts_of(const ConnectOptions& options) {
    const Environment environment = os::current_environment();
    std::vector<std::string> files{options.kubeconfig};
    if (options.kubeconfig.empty()) files = split_list(variable(environment, "KUBECONFIG"));
    if (files.empty()) files = {variable(environment, "HOME") + "/.kube/config"};
    const auto config = read_kubeconfigs(files);
    if (!config) return config.error();
    std::vector<std::string> names;
    for (const auto& [name, context] : config->contexts) names.push_back(name);
    return names;
}

Result<Connection> connect(const ConnectOptions& options) {
    return connect(options, os::current_environment(), os::Root());
}

Result<Connection> connect(const ConnectOptions& options, const Environment& environment,
                           const os::Root& root) {
    if (auto library = http::start_libcurl(); !library) return std::move(library).error();
    auto connection = choose_way(options, environment, root);
    if (!connection) return connection;
    if (!options.namespace_name.empty()) connection->namespace_name = options.namespace_name;
    if (connection->namespace_name.empty()) connection->namespace_name = "default";
    return connection;
}

}  // namespace aliquot::kube_client
