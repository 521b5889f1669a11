// SPDX-License-Identifier: Apache-2.0
#include "bundle/redact.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::bundle {
namespace {

using document::Node;

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
    constexpr std::array<std::string_view, 11> kWords{
        "password",  "passwd",        "passphrase", "secret",   "token",           "apikey",
        "accesskey", "authorization", "credential", "luks.key", "certificate-data"};
    // A plain "key" is that of a label or a taint.
    constexpr std::array<std::string_view, 8> kEnds{
        "-key",       "_key",       ".key",          "-key-data",
        "key_base64", "privatekey", "encryptionkey", "certificate-authority-data"};
    if (word == "auth" || word == "_auth") return true;
    if (std::ranges::any_of(kEnds, [&](std::string_view one) { return word.ends_with(one); })) {
        return true;
    }
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

/// Where a value ends that begins at `value`: at its closing quote or bracket, else at a blank.
std::size_t end_of_value(std::string_view line, std::size_t value) {
    const char before = value == 0 ? ' ' : line[value - 1];
    if (before == '[') return std::min(line.find(']', value), line.size());
    if (before == '"' || before == '\'') return std::min(line.find(before, value), line.size());
    if (line.substr(value).starts_with("Bearer ")) value += 7;
    return std::min(line.find_first_of(" \t\"',&}", value), line.size());
}

/// The name before a ':' or '=' at `separator`: "token", "--password", "\"token\"".
std::string_view name_before(std::string_view line, std::size_t separator) {
    std::size_t end = separator;
    while (end > 0 && (line[end - 1] == ' ' || line[end - 1] == '\t')) --end;
    if (end > 0 && (line[end - 1] == '"' || line[end - 1] == '\'')) {
        const char quote = line[end - 1];
        const auto open = end < 2 ? std::string_view::npos : line.rfind(quote, end - 2);
        if (open != std::string_view::npos) return line.substr(open + 1, end - open - 2);
        --end;
    }
    const auto blank = end == 0 ? std::string_view::npos : line.find_last_of(" \t\"'{,&?", end - 1);
    const std::size_t begin = blank == std::string_view::npos ? 0 : blank + 1;
    return line.substr(begin, end - begin);
}

/// "  token: abc" and "--password=abc" keep their name and lose their value.
std::string redacted_assignment(std::string line) {
    for (std::size_t at = 0; at < line.size();) {
        const auto separator = line.find_first_of(":=", at);
        if (separator == std::string::npos) break;
        const std::string_view name = name_before(line, separator);
        auto value = line.find_first_not_of(" \t", separator + 1);
        at = separator + 1;
        if (value == std::string::npos || name.size() > 60 || !is_secret_word(name)) continue;
        if (line[value] == '[') ++value;
        if (line[value - 1] != '[' && (line[value] == '"' || line[value] == '\'')) ++value;
        const auto end = end_of_value(line, value);
        line.replace(value, end - value, kHidden);
        at = value + kHidden.size();
    }
    return line;
}

/// "--bootstrap-token abc": the word after an option that names a secret.
std::string redacted_options(std::string line) {
    for (std::size_t at = line.find("--"); at != std::string::npos; at = line.find("--", at)) {
        const auto end = std::min(line.find_first_of(" \t=\"'", at), line.size());
        const bool secret = is_secret_word(std::string_view(line).substr(at, end - at));
        const auto value = line.find_first_not_of(" \t\"'", end);
        at = end;
        if (!secret || value == std::string::npos || line[end] == '=' || line[value] == '-') {
            continue;
        }
        const auto stop = std::min(line.find_first_of(" \t\"'", value), line.size());
        line.replace(value, stop - value, kHidden);
    }
    return line;
}

/// Hides what stands behind each `word`, up to a blank or a quote; `with_word`: the word itself
/// too, where the whole has at least `least` characters.
void hide_behind(std::string& line, std::string_view word, bool with_word, std::size_t least) {
    for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at)) {
        const std::size_t begin = with_word ? at : at + word.size();
        const auto end = std::min(line.find_first_of(" \t\"',;", begin), line.size());
        at += word.size();
        if (end - begin < least) continue;
        line.replace(begin, end - begin, kHidden);
        at = begin + kHidden.size();
    }
}

std::string redacted_line(std::string line) {
    for (const char* const word : {"Bearer ", "Basic "}) hide_behind(line, word, false, 1);
    // Keys that are known by how they begin; "eyJ" is that of a signed web token.
    for (const char* const key : {"AKIA", "ASIA", "ghp_", "github_pat_", "glpat-", "hf_", "sk-",
                                  "nvapi-", "xoxb-", "eyJ"}) {
        hide_behind(line, key, true, std::string_view(key) == "eyJ" ? 24 : 16);
    }
    // scheme://user:password@host
    for (auto scheme = line.find("://"); scheme != std::string::npos;
         scheme = line.find("://", scheme + 3)) {
        const auto at = line.find('@', scheme);
        const auto stop = std::min(line.find_first_of(" /\"'", scheme + 3), line.size());
        if (at != std::string::npos && at < stop) {
            line.replace(scheme + 3, at - scheme - 3, kHidden);
        }
    }
    return redacted_assignment(redacted_options(std::move(line)));
}

/// Files that hold nothing but a secret, whatever they look like.
bool is_secret_file(std::string_view path) {
    const std::string name = lower(path.substr(path.rfind('/') + 1));
    return name.ends_with(".key") || name.ends_with(".pem") || name.contains("token") ||
           name.contains("credential") || name.contains("kubeconfig") ||
           name.contains("password") || name.contains("htpasswd");
}

}  // namespace

std::string redacted_text(std::string_view text) {
    std::string out;
    bool key_block = false;
    const bool broken = text.ends_with('\n');
    unsigned begun = 0;
    for_each_line(text, [&](std::string_view line, unsigned number) {
        const bool begins = line.contains("-----BEGIN") && line.contains("PRIVATE KEY");
        constexpr unsigned kLongestKey = 200;  // lines; what has no end does not hide the rest
        if (begins) begun = number;
        if (begins || number > begun + kLongestKey) key_block = begins;
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
        // An EFI variable is binary; a log that a crash has left zeros in is a text.
        const bool binary = entry.content.contains('\0') && path.starts_with("/sys/");
        if (entry.kind == Entry::Kind::kFile && is_secret_file(path)) {
            copy.content = kHidden;
        } else if (path.starts_with("k8s/") && entry.kind == Entry::Kind::kFile) {
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
