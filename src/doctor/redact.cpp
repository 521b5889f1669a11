// SPDX-License-Identifier: Apache-2.0
#include "doctor/redact.h"

#include <algorithm>
#include <array>
#include <utility>

#include "doctor/text.h"

namespace aliquot::doctor {
namespace {

constexpr std::string_view kHidden = "***";

/// Environment variables whose values say what is wrong with a GPU and nothing of their owner.
bool tells_of_gpus(std::string_view name) {
    constexpr std::array<std::string_view, 14> kPrefixes{
        "NVIDIA_", "CUDA_",   "DP_",         "MIG_",    "NCCL_", "TORCH_CUDA", "PASS_DEVICE",
        "DEVICE_", "FAIL_ON", "CONFIG_FILE", "OMP_NUM", "MPS_",  "DCGM_",      "ALIQUOT_"};
    return name == "LD_LIBRARY_PATH" || name == "NODE_NAME" || name == "PATH" ||
           std::ranges::any_of(kPrefixes,
                               [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_secret_word(std::string_view name) {
    const std::string word = lower(name);
    constexpr std::array<std::string_view, 12> kWords{
        "password", "passwd",     "secret",    "token",       "apikey",        "api_key",
        "api-key",  "access_key", "accesskey", "private_key", "authorization", "credential"};
    // "tokenizer", "max_tokens" and "secretName" hold nothing secret.
    if (word.contains("tokenizer") || word.contains("tokens") || word == "secretname") return false;
    return std::ranges::any_of(kWords, [&](std::string_view one) { return word.contains(one); });
}

bool about_gpus(const Node& object) {
    const std::string name = lower(text_at(object, {"metadata", "name"}));
    const std::string space = lower(text_at(object, {"metadata", "namespace"}));
    for (const char* const word : {"nvidia", "gpu", "device-plugin", "time-slicing", "timeslicing",
                                   "mig", "mps", "aliquot", "dcgm", "sharing"}) {
        if (name.contains(word) || space.contains(word)) return true;
    }
    // A plugin's configuration under any name.
    for (const Node::Entry& entry : entries_at(object, {"data"})) {
        if (entry.second.scalar.contains("timeSlicing") ||
            entry.second.scalar.contains("migStrategy")) {
            return true;
        }
    }
    return false;
}

void hide(Node& node) {
    Node hidden{.kind = Node::Kind::kString, .quoted = true, .mark = node.mark};
    hidden.scalar = kHidden;
    node = std::move(hidden);
}

void redact_node(Node& node);

void redact_environment(Node& list) {
    for (Node& variable : list.items) {
        const std::string name = text_at(variable, {"name"});
        for (Node::Entry& entry : variable.entries) {
            if (entry.first.scalar == "value" && !tells_of_gpus(name)) hide(entry.second);
        }
    }
}

void redact_entry(Node::Entry& entry) {
    const std::string& key = entry.first.scalar;
    if (key == "env" && entry.second.is_sequence()) {
        redact_environment(entry.second);
    } else if (key == "imagePullSecrets" ||
               key == "kubectl.kubernetes.io/last-applied-configuration" ||
               (is_secret_word(key) && !entry.second.is_mapping() && !entry.second.is_sequence())) {
        hide(entry.second);
    } else if ((key == "args" || key == "command") && entry.second.is_sequence()) {
        bool next = false;  // "--token", "x"
        for (Node& word : entry.second.items) {
            if (next) hide(word);
            next = !word.scalar.contains('=') && word.scalar.starts_with("-") &&
                   is_secret_word(word.scalar);
            if (!next) word.scalar = redacted_text(word.scalar);
        }
    } else {
        redact_node(entry.second);
    }
}

void redact_node(Node& node) {
    if (node.is_string()) node.scalar = redacted_text(node.scalar);
    if (node.is_mapping()) {
        const std::string kind = text_at(node, {"kind"});
        const bool secret = kind == "Secret";
        const bool foreign = kind == "ConfigMap" && !about_gpus(node);
        for (Node::Entry& entry : node.entries) {
            const std::string& key = entry.first.scalar;
            const bool values = key == "data" || key == "stringData" || key == "binaryData";
            if ((secret || foreign) && values) {
                for (Node::Entry& value : entry.second.entries) hide(value.second);
            } else {
                redact_entry(entry);
            }
        }
    }
    for (Node& item : node.items) redact_node(item);
}

/// "  token: abc" and "--password=abc" keep their name and lose their value.
std::string redacted_assignment(std::string line) {
    for (std::size_t at = 0; at < line.size();) {
        const auto separator = line.find_first_of(":=", at);
        if (separator == std::string::npos) break;
        const auto blank = line.find_last_of(" \t\"'{,&?", separator == 0 ? 0 : separator - 1);
        const std::size_t begin = blank == std::string::npos ? 0 : blank + 1;
        std::string name = line.substr(begin, separator - begin);
        while (name.ends_with('"') || name.ends_with('\'')) name.pop_back();
        if (name.empty() && separator > 1 &&
            (line[separator - 1] == '"' || line[separator - 1] == '\'')) {
            // "token": "abc"
            const auto open = line.rfind(line[separator - 1], separator - 2);
            if (open != std::string::npos) name = line.substr(open + 1, separator - open - 2);
        }
        const auto value = line.find_first_not_of(" \t\"'", separator + 1);
        at = separator + 1;
        if (value == std::string::npos || !is_secret_word(name) || name.size() > 60) continue;
        auto end = std::min(line.find_first_of(" \t\"',&}", value), line.size());
        if (line.compare(value, 7, "Bearer ") == 0) {
            end = std::min(line.find_first_of(" \t\"',&}", value + 7), line.size());
        }
        line.replace(value, end - value, kHidden);
        at = value + kHidden.size();
    }
    return line;
}

std::string redacted_line(std::string line) {
    for (const char* const word : {"Bearer ", "Basic ", "--token ", "--password "}) {
        const auto found = line.find(word);
        if (found == std::string::npos) continue;
        const std::size_t begin = found + std::string_view(word).size();
        const auto end = std::min(line.find_first_of(" \t\"'", begin), line.size());
        if (end > begin) line.replace(begin, end - begin, kHidden);
    }
    for (const char* const key : {"AKIA", "ASIA", "ghp_", "hf_", "sk-", "nvapi-"}) {
        const auto found = line.find(key);
        if (found == std::string::npos) continue;
        const auto end = std::min(line.find_first_of(" \t\"',;", found), line.size());
        if (end - found >= 16) line.replace(found, end - found, kHidden);
    }
    // scheme://user:password@host
    if (const auto scheme = line.find("://"); scheme != std::string::npos) {
        const auto at = line.find('@', scheme);
        const auto stop = std::min(line.find_first_of(" /\"'", scheme + 3), line.size());
        if (at != std::string::npos && at < stop) {
            line.replace(scheme + 3, at - scheme - 3, kHidden);
        }
    }
    return redacted_assignment(std::move(line));
}

void write(const Node& node, std::string& out) {
    switch (node.kind) {
        case Node::Kind::kMapping: {
            out += '{';
            bool first = true;
            for (const Node::Entry& entry : node.entries) {
                if (!first) out += ',';
                first = false;
                out += json_text(entry.first.scalar) + ":";
                write(entry.second, out);
            }
            out += '}';
            return;
        }
        case Node::Kind::kSequence: {
            out += '[';
            bool first = true;
            for (const Node& item : node.items) {
                if (!first) out += ',';
                first = false;
                write(item, out);
            }
            out += ']';
            return;
        }
        case Node::Kind::kNull:
            out += "null";
            return;
        case Node::Kind::kBool:
        case Node::Kind::kInteger:
        case Node::Kind::kFloat: {
            // YAML knows more spellings than JSON.
            const bool plain = node.scalar == "true" || node.scalar == "false" ||
                               (number_of(node.scalar).has_value() &&
                                (node.scalar == "0" || !node.scalar.starts_with('0')));
            out += plain ? node.scalar : json_text(node.scalar);
            return;
        }
        case Node::Kind::kString:
            out += json_text(node.scalar);
    }
}

}  // namespace

std::string to_json(const Node& node) {
    std::string out;
    write(node, out);
    return out;
}

std::string redacted_text(std::string_view text) {
    std::string out;
    bool key_block = false;
    const bool broken = text.ends_with('\n');
    for_each_line(text, [&](std::string_view line, unsigned) {
        const bool begins = line.contains("-----BEGIN") && line.contains("PRIVATE KEY");
        if (begins) key_block = true;
        if (!key_block) out += redacted_line(std::string(line)) + "\n";
        if (key_block && line.contains("-----END")) {
            key_block = false;
            out += std::string(kHidden) + "\n";
        }
    });
    if (!broken && out.ends_with('\n')) out.pop_back();
    return out;
}

Tree redacted(const Tree& tree) {
    Tree safe;
    safe.complete = tree.complete;
    safe.taken_s = tree.taken_s;
    safe.name = tree.name;
    for (const auto& [path, entry] : tree.entries()) {
        Entry copy = entry;
        // Binary texts (an EFI variable, a command line) are short and none of these.
        const bool binary = entry.content.contains('\0') && !path.ends_with("/cmdline");
        if (path.starts_with("k8s/") && entry.kind == Entry::Kind::kFile) {
            if (auto root = parse_object(entry.content)) {
                redact_node(*root);
                copy.content = to_json(*root);
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

}  // namespace aliquot::doctor
