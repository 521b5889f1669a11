// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "document/yaml.h"
#include "kube_client/kubeconfig.h"
#include "os/root.h"

namespace aliquot::kube_client {
namespace {

using document::Value;

/// What a value is, without a word of it: whatever stands in a kubeconfig may be a secret.
std::string kind_of(const Value& node) {
    switch (node.kind) {
        case Value::Kind::kNull:
            return "nothing";
        case Value::Kind::kSequence:
            return "a list";
        case Value::Kind::kMapping:
            return "a mapping";
        case Value::Kind::kString:
            return "a text";
        default:
            return "a number or a truth value";
    }
}

/// Reads the fields of one mapping; keeps the first error.
class Reader {
public:
    Reader(std::string_view file, std::optional<Error>& error) : file_(file), error_(error) {}

    [[nodiscard]] ConfigPlace place(const Value& node) const {
        return {std::string(file_), node.mark.line, node.mark.column};
    }
    void refuse(const Value& node, std::string_view message) {
        if (!error_) error_ = place(node).error(message);
    }

    std::string text(const Value& map, std::string_view key) {
        const Value* const value = map.find(key);
        if (value == nullptr || value->kind == Value::Kind::kNull) return {};
        if (value->is_mapping() || value->is_sequence()) {
            refuse(*value, std::string(key) + " is " + kind_of(*value) + ", expected a text");
            return {};
        }
        return value->scalar;
    }

    bool flag(const Value& map, std::string_view key) {
        const Value* const value = map.find(key);
        if (value == nullptr || value->kind == Value::Kind::kNull) return false;
        if (value->kind != Value::Kind::kBool) {
            refuse(*value,
                   std::string(key) + " is " + kind_of(*value) + ", expected true or false");
            return false;
        }
        return value->scalar.starts_with('t') || value->scalar.starts_with('T');
    }

    /// A path, made independent of our own directory.
    std::string path(const Value& map, std::string_view key) {
        std::string written = text(map, key);
        if (written.empty() || written.starts_with('/')) return written;
        return (std::filesystem::path(file_).parent_path() / written).lexically_normal().string();
    }

    std::string decoded(const Value& map, std::string_view key) {
        const std::string written = text(map, key);
        if (written.empty()) return {};
        auto plain = decode_base64(written);
        if (plain) return *std::move(plain);
        refuse(*map.find(key), std::string(key) + " is not base64");
        return {};
    }

    const Value* list(const Value& map, std::string_view key) {
        const Value* const value = map.find(key);
        if (value == nullptr || value->kind == Value::Kind::kNull) return nullptr;
        if (value->is_sequence()) return value;
        refuse(*value, std::string(key) + " is " + kind_of(*value) + ", expected a list");
        return nullptr;
    }

    std::vector<std::string> texts(const Value& map, std::string_view key) {
        std::vector<std::string> result;
        const Value* const items = list(map, key);
        if (items == nullptr) return result;
        for (const Value& item : items->items) {
            if (item.is_mapping() || item.is_sequence()) {
                refuse(item, std::string(key) + " has " + kind_of(item) + ", expected a text");
            } else {
                result.push_back(item.scalar);
            }
        }
        return result;
    }

    std::vector<std::pair<std::string, std::string>> variables(const Value& map,
                                                               std::string_view key) {
        std::vector<std::pair<std::string, std::string>> result;
        const Value* const items = list(map, key);
        if (items == nullptr) return result;
        for (const Value& item : items->items) {
            std::string name = text(item, "name");
            if (name.empty() || name.contains('=')) refuse(item, "a variable of env has no name");
            result.emplace_back(std::move(name), text(item, "value"));
        }
        return result;
    }

private:
    std::string_view file_;
    std::optional<Error>& error_;
};

ConfigCluster read_cluster(Reader& reader, const Value& node) {
    return {.place = reader.place(node),
            .server = reader.text(node, "server"),
            .ca_file = reader.path(node, "certificate-authority"),
            .ca_pem = reader.decoded(node, "certificate-authority-data"),
            .tls_server_name = reader.text(node, "tls-server-name"),
            .proxy_url = reader.text(node, "proxy-url"),
            .insecure = reader.flag(node, "insecure-skip-tls-verify")};
}

ConfigExec read_exec(Reader& reader, const Value& node) {
    ConfigExec exec{.place = reader.place(node),
                    .api_version = reader.text(node, "apiVersion"),
                    .command = reader.text(node, "command"),
                    .arguments = reader.texts(node, "args"),
                    .environment = reader.variables(node, "env"),
                    .install_hint = reader.text(node, "installHint"),
                    .provide_cluster_info = reader.flag(node, "provideClusterInfo")};
    const std::string mode = reader.text(node, "interactiveMode");
    exec.always_interactive = mode == "Always";
    if (!mode.empty() && mode != "Always" && mode != "Never" && mode != "IfAvailable") {
        reader.refuse(node, "interactiveMode is another word, expected Never or IfAvailable");
    }
    if (exec.command.empty()) reader.refuse(node, "exec has no command");
    // A command with a slash is a path from the file's directory; one without is looked up.
    if (exec.command.contains('/')) exec.command = reader.path(node, "command");
    if (exec.api_version != "client.authentication.k8s.io/v1" &&
        exec.api_version != "client.authentication.k8s.io/v1beta1") {
        reader.refuse(node,
                      "exec has another apiVersion"
                      ", expected client.authentication.k8s.io/v1 or v1beta1");
    }
    return exec;
}

ConfigUser read_user(Reader& reader, const Value& node) {
    ConfigUser user{.place = reader.place(node),
                    .client_certificate_file = reader.path(node, "client-certificate"),
                    .client_certificate_pem = reader.decoded(node, "client-certificate-data"),
                    .client_key_file = reader.path(node, "client-key"),
                    .client_key_pem = reader.decoded(node, "client-key-data"),
                    .token = reader.text(node, "token"),
                    .token_file = reader.path(node, "tokenFile"),
                    .user_name = reader.text(node, "username"),
                    .exec = {},
                    .as = reader.text(node, "as"),
                    .as_uid = reader.text(node, "as-uid"),
                    .as_groups = reader.texts(node, "as-groups")};
    if (const Value* exec = node.find("exec"); exec != nullptr && exec->is_mapping()) {
        user.exec = read_exec(reader, *exec);
    }
    if (const Value* provider = node.find("auth-provider")) {
        user.auth_provider = reader.text(*provider, "name");
        if (user.auth_provider.empty()) user.auth_provider = "?";
    }
    if (const Value* extra = node.find("as-user-extra"); extra != nullptr && extra->is_mapping()) {
        for (const Value::Entry& entry : extra->entries) {
            for (auto& value : reader.texts(*extra, entry.first.scalar)) {
                user.as_extra.emplace_back(entry.first.scalar, std::move(value));
            }
        }
    }
    return user;
}

ConfigContext read_context(Reader& reader, const Value& node) {
    return {.place = reader.place(node),
            .cluster = reader.text(node, "cluster"),
            .user = reader.text(node, "user"),
            .namespace_name = reader.text(node, "namespace")};
}

/// `clusters: [{name: a, cluster: {...}}]` and its like.
template <class Entry, class Read>
void read_named(Reader& reader, const Value& root, std::string_view list, std::string_view field,
                std::map<std::string, Entry>& entries, Read read) {
    const Value* const items = reader.list(root, list);
    if (items == nullptr) return;
    for (const Value& item : items->items) {
        if (!item.is_mapping()) {
            reader.refuse(item, "an entry of " + std::string(list) + " is " + kind_of(item) +
                                    ", expected a mapping");
            continue;
        }
        const std::string name = reader.text(item, "name");
        const Value* const body = item.find(field);
        if (name.empty()) {
            reader.refuse(item, "an entry of " + std::string(list) + " has no name");
        } else if (body == nullptr || body->kind == Value::Kind::kNull) {
            entries.try_emplace(
                name, read(reader, Value{.kind = Value::Kind::kMapping, .mark = item.mark}));
        } else if (!body->is_mapping()) {
            reader.refuse(*body,
                          std::string(field) + " is " + kind_of(*body) + ", expected a mapping");
        } else {
            entries.try_emplace(name, read(reader, *body));
        }
    }
}

}  // namespace

Error ConfigPlace::error(std::string_view message) const {
    std::string text = file;
    if (line != 0) text += ":" + std::to_string(line) + ":" + std::to_string(column);
    return {ErrorCode::kInvalidInput, text + ": " + std::string(message)};
}

Result<Kubeconfig> parse_kubeconfig(std::string_view text, std::string_view file) {
    const auto stream = document::parse_yaml(text);
    if (!stream.errors.empty()) {
        const auto& first = stream.errors.front();
        const bool quotes = first.message.starts_with('\'');  // a key, or what stands in its place
        return ConfigPlace{std::string(file), first.mark.line, first.mark.column}.error(
            quotes ? "a line has no ':' behind its key" : first.message);
    }
    Kubeconfig config;
    const Value& root = stream.documents.front();
    if (root.kind == Value::Kind::kNull) return config;  // an empty file is an empty configuration
    std::optional<Error> error;
    Reader reader(file, error);
    if (!root.is_mapping()) {
        return reader.place(root).error("is " + kind_of(root) + ", expected a kubeconfig");
    }
    const std::string kind = reader.text(root, "kind");
    if (!kind.empty() && kind != "Config") {
        reader.refuse(*root.find("kind"), "kind is another one, expected Config");
    }
    read_named(reader, root, "clusters", "cluster", config.clusters, read_cluster);
    read_named(reader, root, "users", "user", config.users, read_user);
    read_named(reader, root, "contexts", "context", config.contexts, read_context);
    config.current_context = reader.text(root, "current-context");
    if (const Value* current = root.find("current-context")) {
        config.current_context_place = reader.place(*current);
    }
    if (error) return *std::move(error);
    return config;
}

Result<Kubeconfig> read_kubeconfigs(const std::vector<std::string>& files) {
    constexpr std::size_t kMostBytes = 4U << 20U;
    const os::Root root;
    Kubeconfig merged;
    bool any = false;
    std::string looked;
    for (const auto& file : files) {
        if (file.empty()) continue;
        looked += (looked.empty() ? "" : ", ") + file;
        std::error_code problem;
        const auto path = std::filesystem::absolute(file, problem);
        if (problem) return Error{ErrorCode::kInvalidInput, file + ": " + problem.message()};
        auto text = root.read(path.string(), kMostBytes);
        if (!text) {
            if (text.error().code == ErrorCode::kNotFound) continue;
            return std::move(text).error();
        }
        auto config = parse_kubeconfig(*text, file);
        if (!config) return std::move(config).error();
        merge(merged, *std::move(config));
        any = true;
    }
    if (!any) {
        return Error{ErrorCode::kNotFound, "no kubeconfig: looked for " +
                                               (looked.empty() ? "nothing" : looked) +
                                               "; name one with --kubeconfig or KUBECONFIG"};
    }
    return merged;
}

}  // namespace aliquot::kube_client
