// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace aliquot::kube_client {

/// Where something was written, for messages.
struct ConfigPlace {
    std::string file;
    unsigned line = 0;  // from 1
    unsigned column = 0;
    /// errors   kInvalidInput "file:line:column: message"
    [[nodiscard]] Error error(std::string_view message) const;
};

struct ConfigCluster {
    ConfigPlace place;
    std::string server;
    std::string ca_file;  // absolute, or relative to our own directory when the file's was
    std::string ca_pem;   // of the -data field, decoded; wins
    std::string tls_server_name;
    std::string proxy_url;
    bool insecure = false;
};

/// How a program is asked for credentials.
struct ConfigExec {
    ConfigPlace place;
    std::string api_version;  // "client.authentication.k8s.io/v1" or v1beta1
    std::string command;
    std::vector<std::string> arguments;
    std::vector<std::pair<std::string, std::string>> environment;
    std::string install_hint;
    bool provide_cluster_info = false;
    bool always_interactive = false;  // interactiveMode: Always
};

struct ConfigUser {
    ConfigPlace place;
    std::string client_certificate_file;
    std::string client_certificate_pem;
    std::string client_key_file;
    std::string client_key_pem;
    std::string token;
    std::string token_file;
    std::string user_name;  // basic authentication: read, so that it can be refused clearly
    std::string auth_provider;
    std::optional<ConfigExec> exec;
    std::string as;  // impersonation
    std::string as_uid;
    std::vector<std::string> as_groups;
    std::vector<std::pair<std::string, std::string>> as_extra;
};

struct ConfigContext {
    ConfigPlace place;
    std::string cluster;
    std::string user;
    std::string namespace_name;
};

struct Kubeconfig {
    std::map<std::string, ConfigCluster> clusters;
    std::map<std::string, ConfigUser> users;
    std::map<std::string, ConfigContext> contexts;
    std::string current_context;
    ConfigPlace current_context_place;
};

/// Reads one file's text. Unknown keys are ignored, wrong types are not.
/// file     for messages, and its directory is where relative paths begin
/// errors   kInvalidInput, as file:line:column
Result<Kubeconfig> parse_kubeconfig(std::string_view text, std::string_view file);

/// What is in `first` stays; the rest of `second` is added.
void merge(Kubeconfig& first, Kubeconfig second);

/// The files of a list that exist, merged as kubectl merges $KUBECONFIG.
/// errors   kNotFound: none exists; kInvalidInput; kPermission
Result<Kubeconfig> read_kubeconfigs(const std::vector<std::string>& files);

/// One context with what it names.
struct ConfigChoice {
    std::string context;
    ConfigCluster cluster;
    ConfigUser user;
    std::string namespace_name;  // may be empty
};

/// context  empty: current-context
/// errors   kNotFound: no such context; kInvalidInput: it names a cluster or user that is missing,
///          or one that cannot work
Result<ConfigChoice> choose(const Kubeconfig& config, std::string_view context);

/// Base64 as people leave it in files: blanks anywhere, padding left out. Empty optional: it is none.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace aliquot::kube_client
