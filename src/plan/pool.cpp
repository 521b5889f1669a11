// SPDX-License-Identifier: Apache-2.0
#include "plan/pool.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/nearest_word.h"
#include "base/number.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/units.h"
#include "catalog/mig_profiles.h"
#include "document/yaml.h"
#include "sizing/text.h"

namespace aliquot::plan {
namespace {

using document::Value;

constexpr std::size_t kMostNodes = 5'000;

struct Counted {
    unsigned count = 1;
    std::string_view what;
};

/// "2x A2", "2 A2", "A2 x2": how many of what. A name that itself begins with a number ("1070")
/// has no blank or x behind it.
std::optional<Counted> counted(std::string_view text) {
    text = trim(text);
    std::size_t digits = 0;
    while (digits < text.size() && is_digit(text[digits])) ++digits;
    std::size_t at = digits;
    while (at < text.size() && text[at] == ' ') ++at;
    const bool times = at < text.size() && (text[at] == 'x' || text[at] == '*');
    std::string_view number;
    std::string_view what = text;
    if (digits > 0 && at < text.size() && (times || at > digits)) {
        number = text.substr(0, digits);
        what = trim(text.substr(at + (times ? 1 : 0)));
        // "3090 Ti" is a model, "2 A2" is two of them.
        constexpr std::size_t kLongestCount = 3;
        if (!times && digits > kLongestCount) return Counted{1, text};
    } else {
        const std::size_t x = text.rfind(" x");
        const std::string_view tail =
            x == std::string_view::npos ? std::string_view() : trim(text.substr(x + 2));
        if (!tail.empty() && std::ranges::all_of(tail, is_digit)) {
            number = tail;
            what = trim(text.substr(0, x));
        }
    }
    if (number.empty()) return Counted{1, what};
    const unsigned count = parse_number<unsigned>(number).value_or(0);
    if (count == 0 || count > kMostGpus) return std::nullopt;
    return Counted{count, what};
}

/// What is no GPU of NVIDIA's for PCI Express, by the words in its name; empty: it may be one.
std::string_view foreign(std::string_view text) {
    struct Maker {
        std::string_view words;  // between blanks
        std::string_view what;
    };
    constexpr std::array<Maker, 5> kMakers{{
        {"jetson orin xavier tegra agx",
         "is a Jetson module: its GPU shares the memory of the CPU and NVML tells nothing of it"},
        {"amd radeon instinct mi100 mi210 mi250 mi250x mi300 mi300a mi300x mi325x mi350x mi355x "
         "7900xtx 7900xt 9070xt",
         "is made by AMD"},
        {"intel arc gaudi gaudi2 gaudi3 a770 b580 b60", "is made by Intel"},
        {"apple m1 m2 m3 m4 m5", "is made by Apple"},
        {"tpu trainium inferentia", "is not a GPU"},
    }};
    const std::string name = lower(text);
    for (const Maker& maker : kMakers) {
        for (const std::string_view word : split(maker.words, ' ')) {
            for (std::size_t at = name.find(word); at != std::string::npos;
                 at = name.find(word, at + 1)) {
                const std::size_t end = at + word.size();
                const auto joins = [](char c) { return is_letter(c) || is_digit(c); };
                if (at > 0 && joins(name[at - 1])) continue;
                if (end == name.size() || !joins(name[end])) return maker.what;
            }
        }
    }
    return {};
}

Error no_count(std::string_view text) {
    return {ErrorCode::kInvalidInput,
            "'" + std::string(text) + "': a count of 1 to 4096 is expected, such as '2x A2'"};
}

/// A card of so much memory of which nothing else is known. What is not in the table is new rather
/// than old: Volta or newer is assumed, and no MIG.
GpuPool unlisted_pool(std::string_view name, double memory_gib, unsigned count) {
    constexpr std::size_t kLongestName = 100;
    name = name.substr(0, kLongestName);
    auto gpu = std::make_shared<UnlistedGpu>();
    for (const char c : name) {
        const bool letter = (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '.';
        gpu->key += letter ? c : c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : '-';
    }
    if (gpu->key.empty()) gpu->key = "gpu-" + decimal_text(memory_gib) + "gib";
    gpu->name = std::ranges::any_of(name, [](char c) { return c < ' '; }) ? gpu->key
                : name.empty() ? "a GPU of " + sizing::gib_text(memory_gib)
                               : std::string(name);
    gpu->model.key = gpu->key;
    gpu->model.name = gpu->name;
    gpu->model.architecture = kNotKnown;
    gpu->model.compute = catalog::Version{{7, 0}};
    gpu->model.memory_gib = memory_gib;
    gpu->model.mps = catalog::MpsClass::kLimits;
    GpuPool pool;
    pool.model = &gpu->model;
    pool.count = count;
    pool.unlisted = std::move(gpu);
    return pool;
}

/// "rtx-6090 48GB" and "48GB": a name, maybe, and the memory behind it.
std::optional<GpuPool> parse_unlisted(const Counted& found) {
    const std::string_view text = found.what;
    if (const auto whole = gpu_memory_gib(text)) return unlisted_pool({}, *whole, found.count);
    auto blank = text.rfind(' ');
    // "48 GB": the unit is a word of its own.
    if (blank != std::string_view::npos && blank > 0 && !is_digit(text[blank + 1])) {
        blank = text.rfind(' ', blank - 1);
    }
    if (blank == std::string_view::npos) return std::nullopt;
    const auto memory = gpu_memory_gib(text.substr(blank + 1));
    if (!memory) return std::nullopt;
    return unlisted_pool(trim(text.substr(0, blank)), *memory, found.count);
}

Error at(std::string_view file, const Value& node, const std::string& what) {
    return {ErrorCode::kInvalidInput, std::string(file) + ':' + std::to_string(node.mark.line) +
                                          ':' + std::to_string(node.mark.column) + ": " + what};
}

/// One node of our own form.
Result<GpuPool> read_node(std::string_view file, const Value& node) {
    constexpr std::array<std::string_view, 7> kKeys{"name", "gpu",    "memory", "count",
                                                    "type", "driver", "wsl"};
    if (!node.is_mapping()) {
        return at(file, node, describe(node) + " found, a node with 'gpu' or 'type' expected");
    }
    for (const auto& entry : node.entries) {
        if (std::ranges::find(kKeys, std::string_view(entry.first.scalar)) != kKeys.end()) continue;
        const auto near = nearest_word(entry.first.scalar, kKeys);
        return at(file, entry.first,
                  "'" + entry.first.scalar + "' is not a key of a node" + did_you_mean(near));
    }
    const std::string type = sizing::text_at(node, "type");
    const std::string gpu = sizing::text_at(node, "gpu");
    if (type.empty() && gpu.empty()) return at(file, node, "a node needs 'gpu' or 'type'");
    const Value* const memory = node.find("memory");
    const auto memory_gib = memory == nullptr ? std::nullopt : gpu_memory_gib(memory->scalar);
    if (memory != nullptr && !memory_gib) {
        return at(file, *memory,
                  "'memory': that of one GPU, such as 24Gi or 24576Mi, is expected, " +
                      describe(*memory) + " found");
    }
    auto pool = gpu.empty() ? parse_node_type(type) : parse_gpu(gpu);
    if (!pool && !gpu.empty() && memory_gib) pool = unlisted_pool(gpu, *memory_gib, 1);
    if (!pool) {
        return at(file, *node.find(gpu.empty() ? "type" : "gpu"), pool.error().message);
    }
    if (!gpu.empty() && !type.empty()) pool->instance = catalog::find_gpu_instance(type);
    if (const Value* const count = node.find("count")) {
        const auto number = sizing::number_of(count);
        if (!number || *number < 1 || *number > kMostGpus || *number != std::floor(*number)) {
            return at(file, *count,
                      "'count': 1 to 4096 are expected, " + describe(*count) + " found");
        }
        pool->count = static_cast<unsigned>(*number);
    }
    const std::string name = sizing::text_at(node, "name");
    if (!name.empty()) pool->name = name;
    pool->driver = sizing::text_at(node, "driver");
    const Value* const wsl = node.find("wsl");
    pool->wsl = wsl != nullptr && wsl->scalar == "true";
    return pool;
}

const Value* below(const Value& node, std::initializer_list<std::string_view> path) {
    const Value* at_node = &node;
    for (const std::string_view key : path) {
        at_node = at_node->find(key);
        if (at_node == nullptr) return nullptr;
    }
    return at_node;
}

std::string text_below(const Value& node, std::initializer_list<std::string_view> path) {
    const Value* const found = below(node, path);
    return found == nullptr ? std::string() : found->scalar;
}

/// A Node object of the API; empty when it has no GPU that we know.
std::optional<GpuPool> pool_of_object(const Value& node) {
    const Value* const labels = below(node, {"metadata", "labels"});
    if (labels == nullptr) return std::nullopt;
    const auto label = [labels](std::string_view key) {
        const Value* const value = labels->find(key);
        return value == nullptr ? std::string() : value->scalar;
    };
    const auto* const instance =
        catalog::find_gpu_instance(label("node.kubernetes.io/instance-type"));
    const catalog::GpuModel* model = catalog::find_gpu_model(label("nvidia.com/gpu.product"));
    if (model == nullptr && instance != nullptr) model = instance->model;
    GpuPool pool;
    if (model == nullptr) {
        // gpu-feature-discovery tells the memory, of models of tomorrow as well.
        const auto memory = gpu_memory_gib(label("nvidia.com/gpu.memory") + "MiB");
        if (label("nvidia.com/gpu.product").empty() || !memory) return std::nullopt;
        pool = unlisted_pool(label("nvidia.com/gpu.product"), *memory, 1);
    } else {
        pool.model = model;
    }
    pool.name = text_below(node, {"metadata", "name"});
    pool.instance = instance;
    pool.driver = label("nvidia.com/cuda.driver-version.full");
    std::string count = label("nvidia.com/gpu.count");  // GPUs, also when they are shared
    if (count.empty()) count = text_below(node, {"status", "allocatable", "nvidia.com/gpu"});
    pool.count = leading_number<unsigned>(count).value_or(0);
    if (pool.count == 0 || pool.count > kMostGpus) {
        pool.count = instance != nullptr && instance->gpu_count > 0 ? instance->gpu_count : 1;
    }
    return pool;
}

}  // namespace

double memory_mib(const GpuPool& pool) {
    const catalog::GpuModel& model = *pool.model;
    return model.memory_mib > 0 ? model.memory_mib : model.memory_gib * kMibPerGib;
}

std::optional<double> gpu_memory_gib(std::string_view text) {
    constexpr double kMostGib = 4096;
    text = trim(text);
    const double number = take_number<double>(text).value_or(0);
    if (number <= 0) return std::nullopt;
    const std::string_view unit = trim(text);
    constexpr std::array<std::string_view, 8> kUnits{"Gi", "GiB", "G", "GB",
                                                     "Mi", "MiB", "M", "MB"};
    const auto* const known = std::ranges::find(kUnits, unit);
    if (known == kUnits.end()) return std::nullopt;
    const double gib = unit.starts_with('G') ? number : number / kMibPerGib;
    if (gib < 1 / kMibPerGib || gib > kMostGib) return std::nullopt;
    return gib;
}

Result<GpuPool> parse_gpu(std::string_view text) {
    const auto found = counted(text);
    if (!found) return no_count(text);
    if (found->what.empty()) {
        return Error{ErrorCode::kInvalidInput,
                     "'" + std::string(text) + "': a GPU model such as 'a2' is expected"};
    }
    const catalog::GpuModel* const model = catalog::find_gpu_model(found->what);
    if (model == nullptr) {
        if (const std::string_view what = foreign(found->what); !what.empty()) {
            return Error{ErrorCode::kUnsupported,
                         "'" + std::string(found->what.substr(0, 100)) + "' " + std::string(what) +
                             "; aliquot shares NVIDIA's GPUs for PCI Express and SXM only"};
        }
        if (auto unlisted = parse_unlisted(*found)) return *std::move(unlisted);
        for (const std::string_view end : {".yaml", ".yml", ".json"}) {
            if (!found->what.ends_with(end)) continue;
            return Error{ErrorCode::kNotFound,
                         "'" + std::string(found->what.substr(0, 100)) +
                             "' is a file and no GPU; --workloads or --from-manifests takes files"};
        }
        if (catalog::find_mig_slice(found->what).profile != nullptr) {
            return Error{ErrorCode::kUnsupported,
                         "'" + std::string(found->what.substr(0, 100)) +
                             "' is a MIG slice; the plan cuts slices by itself: name the GPU, such "
                             "as 'a100-80'"};
        }
        const auto near = catalog::nearest_gpu_model(found->what);
        return Error{ErrorCode::kNotFound,
                     "GPU '" + std::string(found->what.substr(0, 100)) + "' is not known" +
                         (near.empty() ? "; `aliquot size batch` lists those that are, and a size "
                                         "such as 24GiB will do too"
                                       : ", did you mean '" + std::string(near) + "'?")};
    }
    GpuPool pool;
    pool.model = model;
    pool.count = std::min(kMostGpus, found->count * model->gpus_per_board);
    return pool;
}

Result<GpuPool> parse_node_type(std::string_view text) {
    const auto found = counted(text);
    if (!found) return no_count(text);
    const catalog::GpuInstance* const instance = catalog::find_gpu_instance(found->what);
    if (instance == nullptr) {
        const auto near = catalog::nearest_gpu_instance(found->what);
        return Error{ErrorCode::kNotFound, "machine type '" +
                                               std::string(found->what.substr(0, 100)) +
                                               "' is not in the table" + did_you_mean(near)};
    }
    if (instance->gpu_count == 0) {
        return Error{ErrorCode::kUnsupported,
                     std::string(instance->type) + " has a fraction of one " +
                         std::string(instance->model->key) +
                         ", which Kubernetes does not count: there is nothing to share"};
    }
    GpuPool pool;
    pool.name = instance->type;
    pool.model = instance->model;
    pool.instance = instance;
    pool.nodes = found->count;
    pool.count = std::min(kMostGpus, found->count * instance->gpu_count);
    return pool;
}

Result<std::vector<GpuPool>> read_nodes(std::string_view file, std::string_view text) {
    const auto stream = document::parse_yaml(text);
    if (!stream.errors.empty()) {
        Value place;
        place.mark = stream.errors.front().mark;
        return at(file, place, stream.errors.front().message);
    }
    std::vector<GpuPool> pools;
    for (const Value& root : stream.documents) {
        const Value* list = &root;
        const bool is_object = root.is_mapping() && root.find("kind") != nullptr;
        if (root.is_mapping()) list = root.find(is_object ? "items" : "nodes");
        std::vector<const Value*> nodes;
        if (list != nullptr && list->is_sequence()) {
            for (const Value& item : list->items) nodes.push_back(&item);
        } else if (is_object) {
            nodes.push_back(&root);
        }
        if (nodes.size() + pools.size() > kMostNodes) return at(file, root, "more than 5000 nodes");
        for (const Value* const node : nodes) {
            if (is_object) {
                if (auto pool = pool_of_object(*node)) pools.push_back(*std::move(pool));
                continue;
            }
            auto pool = read_node(file, *node);
            if (!pool) return std::move(pool).error();
            pools.push_back(*std::move(pool));
        }
    }
    if (pools.empty()) {
        return Error{ErrorCode::kInvalidInput,
                     std::string(file) +
                         ": has no node with a known GPU; a list under 'nodes' or "
                         "the output of 'kubectl get nodes -o json' is expected"};
    }
    return pools;
}

}  // namespace aliquot::plan
