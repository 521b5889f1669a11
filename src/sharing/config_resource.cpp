// SPDX-License-Identifier: Apache-2.0
// One entry of sharing.timeSlicing.resources or sharing.mps.resources.
#include <algorithm>

#include "document/write.h"
#include "k8s/memory_amount.h"
#include "sharing/config_reader.h"

namespace aliquot::sharing {
namespace {

constexpr std::string_view kDomain = "nvidia.com/";
constexpr std::int64_t kMostReplicas = 16'384;  // per GPU; kubelet's messages have a limit
constexpr std::int64_t kManyReplicas = 32;
constexpr std::int64_t kMostMpsClients = 48;

bool is_label(std::string_view text) {
    const auto inner = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    };
    return !text.empty() && text.front() != '-' && text.back() != '-' &&
           std::all_of(text.begin(), text.end(), inner);
}

/// Lower case words joined by dots, as Kubernetes names things.
bool is_subdomain(std::string_view text) {
    for (;;) {
        const auto dot = text.find('.');
        if (!is_label(text.substr(0, dot))) return false;
        if (dot == std::string_view::npos) return true;
        text.remove_prefix(dot + 1);
    }
}

std::optional<std::string> read_name(Reader& reader, const Fields& fields, std::string_view key,
                                     const Flags& flags) {
    const Value& node = *fields.find(key);
    const std::string path = fields.path_of(key);
    if (!node.is_string()) {
        complain_type(reader, node, path, "a resource name such as nvidia.com/gpu", "");
        return std::nullopt;
    }
    ResourceName read = parse_resource_name(node.scalar);
    if (!read.problem.empty()) {
        reader.error(node.mark, rule::kResourceName,
                     "'" + path + "' is '" + node.scalar + "': " + read.problem,
                     {"nvidia.com/gpu or nvidia.com/mig-<profile>",
                      std::string(key) + ": " +
                          (key == "name" ? "nvidia.com/gpu" : "nvidia.com/gpu.shared")});
        return std::nullopt;
    }
    if (key != "name") return std::move(read.name);
    const std::string bare = read.name.substr(kDomain.size());
    if (read.name != node.scalar && reader.strict()) {
        reader.warning(node.mark, rule::kNotOffered,
                       "'" + path + "' is '" + node.scalar + "', read as " + read.name,
                       {"the name with its domain", "name: " + read.name});
    }
    const bool mig = bare.substr(0, 4) == "mig-";
    const bool shared = bare == "gpu.shared" || (mig && bare.find(".shared") != std::string::npos);
    if (shared) {
        reader.warning(node.mark, rule::kNotOffered,
                       "'" + path + "' is " + read.name +
                           ": an entry names what is shared, and "
                           "the suffix comes from renameByDefault",
                       {"nvidia.com/gpu with 'renameByDefault: true' beside 'resources'",
                        "name: " + read.name.substr(0, read.name.find(".shared"))});
    } else if (bare != "gpu" && !mig) {
        reader.warning(node.mark, rule::kNotOffered,
                       "no node offers '" + read.name + "', so this entry shares nothing",
                       {"nvidia.com/gpu or nvidia.com/mig-<profile>", "name: nvidia.com/gpu"});
    } else if (mig && flags.mig_strategy && *flags.mig_strategy != MigStrategy::kMixed) {
        reader.warning(node.mark, rule::kNotOffered,
                       "'" + read.name + "' exists only with flags.migStrategy mixed",
                       {"nvidia.com/gpu, or migStrategy mixed", "flags:\n  migStrategy: mixed"});
    }
    return std::move(read.name);
}

std::optional<unsigned> read_replicas(Reader& reader, const Fields& fields,
                                      grant::Mechanism mechanism) {
    const Value& node = *fields.find("replicas");
    const std::string path = fields.path_of("replicas");
    const auto count = integer_of(node, reader.strict());
    if (!count) {
        std::string fix = "replicas: 2";
        if (!node.scalar.empty() && node.scalar.size() < 6 &&
            node.scalar.find_first_not_of("0123456789") == std::string::npos &&
            node.scalar.front() != '0' && node.scalar != "1") {
            fix = "replicas: " + node.scalar;
        }
        reader.error(node.mark, rule::kReplicas, "'" + path + "' is " + document::describe(node),
                     {"a whole number of 2 or more, without quotes", fix});
        return std::nullopt;
    }
    if (*count < 2) {
        reader.error(
            node.mark, rule::kReplicas,
            "'" + path + "' is " + node.scalar +
                (reader.strict() ? "" : "; NVIDIA's plugin: number of replicas must be >= 2"),
            {"2 or more; to share nothing, leave the entry out", "replicas: 2"});
        return std::nullopt;
    }
    if (*count > kMostReplicas) {
        reader.error(node.mark, rule::kManyReplicas, "'" + path + "' is " + node.scalar,
                     {"at most " + std::to_string(kMostReplicas) +
                          "; to share memory in small parts, use 'memory'",
                      "replicas: 8"});
        return std::nullopt;
    }
    if (mechanism == grant::Mechanism::kMps && *count > kMostMpsClients) {
        reader.error(
            node.mark, rule::kMpsClients,
            "'" + path + "' is " + node.scalar + ", but a GPU serves at most 48 MPS clients",
            {"at most 48 (16 on GPUs older than Volta)", "replicas: 48"});
        return std::nullopt;
    }
    if (mechanism == grant::Mechanism::kTimeSlicing && *count > kManyReplicas) {
        reader.warning(node.mark, rule::kManyReplicas,
                       "'" + path + "' is " + node.scalar +
                           ": so many programs on one GPU mostly wait for each other",
                       {"up to 32", ""});
    }
    return static_cast<unsigned>(*count);
}

std::optional<std::uint64_t> read_memory(Reader& reader, const Fields& fields) {
    const Value* node = fields.find("memory");
    if (node == nullptr) return std::nullopt;
    const std::string path = fields.path_of("memory");
    const std::string expected = "an amount such as 512Mi or 3.5Gi, at least 1Mi";
    constexpr std::uint64_t kLeast = 1U << 20U;
    if (!node->is_string() && node->kind != Value::Kind::kInteger &&
        node->kind != Value::Kind::kFloat) {
        complain_type(reader, *node, path, expected, "memory: 2Gi");
        return std::nullopt;
    }
    const auto bytes = k8s::parse_bytes(node->scalar);
    if (bytes && *bytes >= kLeast) return *bytes;
    std::string fix = "memory: 2Gi";
    const auto digits = node->scalar.find_first_not_of("0123456789.");
    const auto number = node->scalar.substr(0, digits);
    const auto suffix = digits == std::string::npos ? "" : node->scalar.substr(digits);
    if (const auto corrected = k8s::parse_bytes(number + "Gi"); corrected && *corrected != 0) {
        const char unit = suffix.empty() ? 'G' : suffix[suffix.find_first_not_of(' ')];
        fix = "memory: " + number + (unit == 'M' || unit == 'm' ? "Mi" : "Gi");
    }
    reader.error(node->mark, rule::kLimit,
                 "'" + path + "' is " + document::describe(*node) +
                     (bytes ? ", which is less than 1Mi" : ", which is not an amount of memory"),
                 {expected, fix});
    return std::nullopt;
}

std::optional<unsigned> read_compute(Reader& reader, const Fields& fields) {
    const Value* node = fields.find("compute");
    if (node == nullptr) return std::nullopt;
    const auto percent = integer_of(*node, true);
    if (percent && *percent >= 1 && *percent <= 100) return static_cast<unsigned>(*percent);
    std::string fix = "compute: 50";
    const auto digits = node->scalar.find_first_not_of("0123456789");
    if (node->is_string() && digits != 0 && digits != std::string::npos && digits <= 2 &&
        node->scalar.front() != '0') {
        fix = "compute: " + node->scalar.substr(0, digits);
    }
    reader.error(node->mark, rule::kLimit,
                 "'" + fields.path_of("compute") + "' is " + document::describe(*node),
                 {"a whole number of percent from 1 to 100, without sign", fix});
    return std::nullopt;
}

std::optional<unsigned> read_weight(Reader& reader, const Fields& fields) {
    const Value* node = fields.find("weight");
    if (node == nullptr) return std::nullopt;
    constexpr std::int64_t kMost = 10'000;
    const auto weight = integer_of(*node, true);
    if (weight && *weight >= 1 && *weight <= kMost) return static_cast<unsigned>(*weight);
    reader.error(
        node->mark, rule::kLimit,
        "'" + fields.path_of("weight") + "' is " + document::describe(*node),
        {"a whole number from 1 to 10000: beside 70, 30 gets 30 % of a busy GPU", "weight: 30"});
    return std::nullopt;
}

/// `shares`: the limits of each replica by itself.
std::vector<grant::Limits> read_shares(Reader& reader, const Fields& fields) {
    std::vector<grant::Limits> shares;
    const Value* list = fields.find("shares");
    if (list == nullptr) return shares;
    const std::string path = fields.path_of("shares");
    const std::string fix = "shares:\n  - memory: 8Gi\n    compute: 50\n  - memory: 4Gi";
    if (!list->is_sequence() || list->items.size() < 2 ||
        list->items.size() > static_cast<std::size_t>(kMostMpsClients)) {
        reader.error(list->mark, rule::kReplicas,
                     "'" + path + "' is " +
                         (list->is_sequence() ? "a list of " + std::to_string(list->items.size())
                                              : document::describe(*list)),
                     {"a list of 2 to 48 shares, one for each replica", fix});
        return shares;
    }
    for (std::size_t i = 0; i < list->items.size(); ++i) {
        const auto share =
            read_section(reader, list->items[i], section("sharing.mps.resources[].shares[]"),
                         path + "[" + std::to_string(i) + "]");
        if (!share) continue;
        shares.push_back({.memory_bytes = read_memory(reader, *share),
                          .compute_percent = read_compute(reader, *share)});
    }
    for (const auto* key : {"memory", "compute"}) {
        if (!fields.has(key)) continue;
        reader.error(fields.key_mark(key), rule::kLimit,
                     "'" + fields.path_of(key) + "' beside 'shares'",
                     {"the limit in each of the shares", fix});
    }
    return shares;
}

/// Our keys, which NVIDIA's plugin does not know.
void discard_extensions(Reader& reader, const Fields& fields) {
    for (const auto* key : {"memory", "compute", "weight", "shares"}) {
        if (!fields.has(key)) continue;
        reader.warning(fields.key_mark(key), rule::kUnknownKey,
                       "'" + std::string(key) + "' is not a key of " + fields.path +
                           "; NVIDIA's plugin ignores it");
    }
}

}  // namespace

ResourceName parse_resource_name(std::string_view text) {
    constexpr std::size_t kLongest = 63;
    ResourceName read;
    read.name = text;
    if (text.substr(0, kDomain.size()) != kDomain) read.name.insert(0, kDomain);
    const std::string_view bare = std::string_view(read.name).substr(kDomain.size());
    const auto slash = bare.find('/');
    if (slash != std::string_view::npos) {
        read.problem = "the domain '" + std::string(bare.substr(0, slash)) + "' is not nvidia.com";
    } else if (read.name.size() > kLongest) {
        read.problem = "with its domain it has " + std::to_string(read.name.size()) +
                       " characters, and 63 are allowed";
    } else if (!is_subdomain(bare)) {
        read.problem = "only lower case letters, digits, '-' and '.' are allowed";
    }
    return read;
}

std::optional<SharedResource> read_shared_resource(Reader& reader, const Value& node,
                                                   const std::string& path,
                                                   grant::Mechanism mechanism, const Flags& flags) {
    const bool mps = mechanism == grant::Mechanism::kMps;
    const auto fields = read_section(
        reader, node, section(mps ? "sharing.mps.resources[]" : "sharing.timeSlicing.resources[]"),
        path);
    if (!fields) return std::nullopt;
    SharedResource resource;
    resource.mark = node.mark;
    std::optional<std::string> name;
    std::optional<unsigned> replicas;
    if (fields->find("name") != nullptr) {
        name = read_name(reader, *fields, "name", flags);
    } else {
        reader.error(node.mark, rule::kNoName, "'" + path + "' has no 'name'",
                     {"the resource that is shared", "name: nvidia.com/gpu"});
    }
    if (mps && reader.strict()) resource.shares = read_shares(reader, *fields);
    if (fields->find("replicas") != nullptr) {
        replicas = read_replicas(reader, *fields, mechanism);
        if (replicas && !resource.shares.empty() && *replicas != resource.shares.size()) {
            reader.error(fields->find("replicas")->mark, rule::kReplicas,
                         "'" + fields->path_of("replicas") + "' is " + std::to_string(*replicas) +
                             ", but there are " + std::to_string(resource.shares.size()) +
                             " 'shares'",
                         {"as many as there are shares, or leave it out",
                          "replicas: " + std::to_string(resource.shares.size())});
        }
    } else if (!resource.shares.empty()) {
        replicas = static_cast<unsigned>(resource.shares.size());
    } else if (fields->find("shares") == nullptr || !reader.strict()) {
        reader.error(node.mark, rule::kReplicas, "'" + path + "' has no 'replicas'",
                     {"into how many each GPU is divided, 2 or more", "replicas: 2"});
    }
    auto devices = read_devices(reader, *fields);
    if (fields->find("rename") != nullptr) {
        resource.rename = read_name(reader, *fields, "rename", flags);
    }
    if (reader.strict()) {
        resource.limits.memory_bytes = read_memory(reader, *fields);
        resource.limits.compute_percent = read_compute(reader, *fields);
        if (!mps) resource.limits.weight = read_weight(reader, *fields);
    } else {
        discard_extensions(reader, *fields);
    }
    if (!name || !replicas || !devices) return std::nullopt;
    resource.name = *std::move(name);
    resource.replicas = *replicas;
    resource.devices = *std::move(devices);
    return resource;
}

}  // namespace aliquot::sharing
