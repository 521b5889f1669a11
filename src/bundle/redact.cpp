// SPDX-License-Identifier: Apache-2.0
#include "bundle/redact.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/text.h"
#include "bundle/random_text.h"
#include "bundle/secret_name.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::bundle {
namespace {

using document::Value;

constexpr std::string_view kHidden = "***";

bool about_gpus(const Value& object) {
    const std::string name = lower(text_at(object, {"metadata", "name"}));
    const std::string space = lower(text_at(object, {"metadata", "namespace"}));
    for (const char* const word : {"nvidia", "gpu", "device-plugin", "time-slicing", "timeslicing",
                                   "mig", "mps", "aliquot", "dcgm", "sharing"}) {
        if (name.contains(word) || space.contains(word)) return true;
    }
    // A plugin's configuration under any name.
    for (const Value::Entry& entry : entries_at(object, {"data"})) {
        if (entry.second.scalar.contains("timeSlicing") ||
            entry.second.scalar.contains("migStrategy")) {
            return true;
        }
    }
    return false;
}

void hide(Value& node) {
    Value hidden{.kind = Value::Kind::kString, .quoted = true, .mark = node.mark};
    hidden.scalar = kHidden;
    node = std::move(hidden);
}

void redact_node(Value& node);

/// Whether the words of a value are all such as anybody may read.
bool is_harmless(const std::string& value) {
    std::size_t begin = 0;
    constexpr std::string_view kStops = " \t\n,;=<>|";
    while (begin < value.size()) {
        const std::size_t end = std::min(value.find_first_of(kStops, begin), value.size());
        if (looks_secret(std::string_view(value).substr(begin, end - begin),
                         std::string_view(value).substr(0, begin), Suspicion::kHigh)) {
            return false;
        }
        begin = end + 1;
    }
    return true;
}

/// {name, value}: a variable of the environment, a header, a parameter.
void redact_named_value(Value& pair, const std::function<bool(std::string_view)>& may_be_told) {
    const std::string name = text_at(pair, {"name"});
    for (Value::Entry& entry : pair.entries) {
        if (entry.first.scalar != "value") continue;
        if (!may_be_told(name) || is_secret_name(name) || !is_harmless(entry.second.scalar)) {
            hide(entry.second);
        }
    }
}

void hide_scalars(Value& node) {
    if (!node.is_mapping() && !node.is_sequence()) return hide(node);
    for (Value::Entry& entry : node.entries) hide_scalars(entry.second);
    for (Value& item : node.items) hide_scalars(item);
}

/// What Kubernetes says of secrets without showing one: their names, where they are mounted.
bool refers_to_secrets(std::string_view key) {
    constexpr std::array<std::string_view, 9> kKeys{
        "secretKeyRef",  "secretRef",  "secret", "secrets",        "serviceAccountToken",
        "tokenRequests", "secretFile", "csi",    "securityContext"};
    return std::ranges::find(kKeys, key) != kKeys.end();
}

/// Annotations of Kubernetes, of its distributions and of GPU software; those of others may be anything.
bool is_known_annotation(std::string_view key) {
    const std::string_view domain = key.substr(0, key.find('/'));
    constexpr std::array<std::string_view, 12> kDomains{
        "kubernetes.io", "k8s.io",           "nvidia.com", "aliquot.dev",   "containerd.io",
        "cri-o.io",      "k3s.io",           "google.com", "amazonaws.com", "eks.amazonaws.com",
        "azure.com",     "projectcalico.org"};
    return std::ranges::any_of(kDomains, [&](std::string_view one) {
        return domain == one ||
               (domain.ends_with(one) && domain[domain.size() - one.size() - 1] == '.');
    });
}

void redact_words(Value& list) {
    bool next = false;  // "--token", "x"
    std::string before;
    for (Value& word : list.items) {
        if (next && !word.scalar.starts_with("-")) {
            hide(word);
            next = false;
            continue;
        }
        next = !word.scalar.contains('=') && word.scalar.starts_with("-") &&
               is_secret_name(word.scalar);
        if (next) continue;
        // "-u", "admin:x" is judged as one line.
        const std::string line = before.empty() ? word.scalar : before + " " + word.scalar;
        const std::string safe = redacted_text(line);
        const bool option =
            word.scalar.size() <= 16 && word.scalar.starts_with("-") && !word.scalar.contains('=');
        const std::string front = before + " ";
        word.scalar = before.empty() || !safe.starts_with(front) ? redacted_text(word.scalar)
                                                                 : safe.substr(front.size());
        before = option ? word.scalar : "";
    }
}

void redact_entry(Value::Entry& entry) {
    const std::string& key = entry.first.scalar;
    Value& value = entry.second;
    if (key == "env" && value.is_sequence()) {
        for (Value& one : value.items) redact_named_value(one, tells_of_gpus);
    } else if (key == "httpHeaders" && value.is_sequence()) {
        for (Value& one : value.items) redact_named_value(one, is_harmless_header);
    } else if (key == "imagePullSecrets" ||
               key == "kubectl.kubernetes.io/last-applied-configuration") {
        hide(value);
    } else if (key == "annotations" && value.is_mapping()) {
        for (Value::Entry& one : value.entries) {
            if (is_known_annotation(one.first.scalar)) {
                redact_entry(one);
            } else {
                hide(one.second);
            }
        }
    } else if (is_secret_name(key) && !refers_to_secrets(key)) {
        // "automountServiceAccountToken: true" is no secret.
        if (value.kind != Value::Kind::kBool && value.kind != Value::Kind::kNull)
            hide_scalars(value);
    } else if ((key == "args" || key == "command") && value.is_sequence()) {
        redact_words(value);
    } else {
        redact_node(value);
    }
}

void redact_node(Value& node) {
    if (node.is_string()) node.scalar = redacted_text(node.scalar);
    if (node.is_mapping()) {
        const std::string kind = text_at(node, {"kind"});
        const bool secret = kind == "Secret";
        const bool foreign = kind == "ConfigMap" && !about_gpus(node);
        for (Value::Entry& entry : node.entries) {
            const std::string& key = entry.first.scalar;
            const bool values = key == "data" || key == "stringData" || key == "binaryData";
            if ((secret || foreign) && values) {
                for (Value::Entry& value : entry.second.entries) hide(value.second);
            } else {
                redact_entry(entry);
            }
        }
    }
    for (Value& item : node.items) redact_node(item);
    if (node.find("name") != nullptr && is_secret_name(text_at(node, {"name"}))) {
        redact_named_value(node, [](std::string_view) { return true; });
    }
}

/// JSON that programs wrote: it stays JSON, and nobody is told of a line in it.
bool is_made_of_values(std::string_view path) {
    const bool told = path.contains("cmd/") || path.starts_with("agent/");
    return path.starts_with("k8s/") || (told && path.ends_with(".json"));
}

/// Files that hold nothing but a secret, whatever they look like.
bool is_secret_file(std::string_view path) {
    const std::string name = lower(path.substr(path.rfind('/') + 1));
    return name.ends_with(".key") || name.ends_with(".pem") || name.contains("token") ||
           name.contains("credential") || name.contains("kubeconfig") ||
           name.contains("password") || name.contains("htpasswd");
}

}  // namespace

Tree redacted(const Tree& tree) {
    Tree safe;
    safe.complete = tree.complete;
    safe.taken_s = tree.taken_s;
    safe.name = tree.name;
    for (const auto& [path, entry] : tree.entries()) {
        Entry copy = entry;
        // An EFI variable is binary; a log that a crash has left zeros in is a text.
        const bool binary = entry.content.contains('\0') && path.starts_with("/sys/");
        if (entry.kind == Entry::Kind::kFile && is_secret_file(path)) {
            copy.content = kHidden;
        } else if (is_made_of_values(path) && entry.kind == Entry::Kind::kFile) {
            if (auto root = document::parse_object(entry.content)) {
                redact_node(*root);
                copy.content = document::to_json_line(*root);
            } else {
                copy.content = redacted_text(entry.content);
            }
        } else if (path.ends_with("/cmdline")) {
            std::string words = entry.content;
            std::ranges::replace(words, '\0', ' ');
            copy.content = redacted_text(words);
        } else if (!binary && entry.kind == Entry::Kind::kFile) {
            copy.content = redacted_text(entry.content);
        }
        safe.add(path, std::move(copy));
    }
    return safe;
}

}  // namespace aliquot::bundle
