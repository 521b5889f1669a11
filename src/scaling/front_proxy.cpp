// SPDX-License-Identifier: Apache-2.0
#include "scaling/front_proxy.h"

#include "document/yaml.h"

namespace aliquot::scaling {
namespace {

constexpr std::string_view kNamespace = "kube-system";
constexpr std::string_view kName = "extension-apiserver-authentication";

Error refused(std::string_view what) {
    return {ErrorCode::kInvalidInput, "ConfigMap " + std::string(kNamespace) + "/" +
                                          std::string(kName) + ": " + std::string(what)};
}

}  // namespace

Result<ProxyAuthority> read_proxy_authority(std::string_view json) {
    ProxyAuthority made;
    made.certificates =
        kube_client::string_at(json, "/data/requestheader-client-ca-file").value_or("");
    if (made.certificates.empty()) {
        return refused(
            "requestheader-client-ca-file is missing; start the API server with "
            "--requestheader-client-ca-file");
    }
    const std::string names =
        kube_client::string_at(json, "/data/requestheader-allowed-names").value_or("[]");
    const auto read = document::parse_yaml(names);
    if (!read.errors.empty() || read.documents.size() != 1 || !read.documents[0].is_sequence()) {
        return refused("requestheader-allowed-names is not a list of names");
    }
    for (const document::Value& name : read.documents[0].items) {
        if (!name.is_string()) return refused("requestheader-allowed-names has what is not a name");
        if (!name.scalar.empty()) made.allowed_names.push_back(name.scalar);
    }
    return made;
}

Result<ProxyAuthority> ask_proxy_authority(kube_client::Api& api) {
    const auto map = api.get(kube_client::resources::config_maps(),
                             {std::string(kNamespace), std::string(kName)});
    if (!map) {
        Error error = map.error();
        if (error.code == ErrorCode::kPermission) {
            error.message +=
                "; bind role extension-apiserver-authentication-reader of "
                "kube-system to this service account";
        }
        return error;
    }
    return read_proxy_authority(map->json);
}

}  // namespace aliquot::scaling
