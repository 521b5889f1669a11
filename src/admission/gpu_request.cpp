// SPDX-License-Identifier: Apache-2.0
#include "admission/gpu_request.h"

#include <algorithm>
#include <array>
#include <set>

#include "admission/request_text.h"
#include "base/nearest_word.h"
#include "base/sentence.h"

namespace aliquot::admission {
namespace {

constexpr std::string_view kDomain = "aliquot.dev/";
constexpr std::string_view kMemory = "gpu-memory";
constexpr std::string_view kCompute = "gpu-compute";
constexpr std::string_view kType = "gpu-type";
constexpr std::string_view kCount = "gpu-count";
constexpr std::string_view kShm = "shm";
constexpr std::string_view kStrict = "strict";
constexpr std::array<std::string_view, 6> kKeys{kMemory, kCompute, kType, kCount, kShm, kStrict};

bool is_gpu_key(std::string_view word) {
    return word == kMemory || word == kCompute || word == kType || word == kCount;
}

/// One key of ours as it stands on the pod.
struct Written {
    std::string key;        // whole: "aliquot.dev/gpu-memory.main"
    std::string_view word;  // one of kKeys
    std::string container;  // empty: none is named
    std::string value;
};

std::string names_of(const PodFacts& pod) {
    std::string names = listed(pod.containers, [](const ContainerFacts& one) { return one.name; });
    return names;
}

class Reader {
public:
    Reader(const PodFacts& pod, const Cluster& cluster) : pod_(pod), cluster_(cluster) {}

    Result<GpuRequests> read() {
        for (const auto& [key, value] : pod_.annotations) {
            if (auto taken = take(key, value); !taken) return std::move(taken).error();
        }
        for (const auto& [key, value] : pod_.labels) {
            const auto same = pod_.annotations.find(key);
            if (same == pod_.annotations.end()) {
                if (auto taken = take(key, value); !taken) return std::move(taken).error();
            } else if (key.starts_with(kDomain) && same->second != value) {
                warn(key + ": the annotation '" + same->second + "' counts, not the label '" +
                     value + "'");
            }
        }
        for (const std::size_t one : gpu_containers()) {
            if (auto added = add_request(one); !added) return std::move(added).error();
        }
        if (auto added = add_shm(); !added) return std::move(added).error();
        return std::move(requests_);
    }

private:
    void warn(std::string text) { requests_.warnings.push_back(std::move(text)); }

    Result<Done> take(const std::string& key, const std::string& value) {
        if (!key.starts_with(kDomain)) return Done{};
        const std::string_view rest = std::string_view(key).substr(kDomain.size());
        const std::size_t dot = std::min(rest.find('.'), rest.size());
        const std::string_view word = rest.substr(0, dot);
        const auto* const known = std::ranges::find(kKeys, word);
        if (known == kKeys.end()) return unknown(key, word);
        Written one{.key = key,
                    .word = *known,
                    .container = dot == rest.size() ? "" : std::string(rest.substr(dot + 1)),
                    .value = value};
        if (*known == kStrict) {
            const auto strict = parse_flag(key, value);
            if (!strict) return strict.error();
            requests_.strict = *strict;
            return Done{};
        }
        if (dot != rest.size() &&
            std::ranges::find(pod_.containers, one.container, &ContainerFacts::name) ==
                pod_.containers.end()) {
            return Error{ErrorCode::kInvalidInput, key + ": the pod has no container '" +
                                                       one.container +
                                                       "'; its containers are: " + names_of(pod_)};
        }
        written_.push_back(std::move(one));
        return Done{};
    }

    Result<Done> unknown(const std::string& key, std::string_view word) {
        if (!word.starts_with("gpu")) return Done{};  // somebody else's, or of another part
        const std::string_view near = nearest_word(word, kKeys);
        if (!near.empty()) {
            return Error{ErrorCode::kInvalidInput, key + " is not known; did you mean " +
                                                       std::string(kDomain) + std::string(near) +
                                                       "?"};
        }
        warn(key +
             " is not known; expected aliquot.dev/gpu-memory, gpu-compute, gpu-type or "
             "gpu-count");
        return Done{};
    }

    [[nodiscard]] bool is_written(bool (*wanted)(std::string_view)) const {
        return std::ranges::any_of(written_, [&](const Written& one) { return wanted(one.word); });
    }

    /// Which containers the GPU keys are for.
    std::vector<std::size_t> gpu_containers() {
        if (!is_written(is_gpu_key)) return {};
        std::set<std::size_t> found;
        bool has_general = false;
        for (const Written& one : written_) {
            if (!is_gpu_key(one.word)) continue;
            has_general = has_general || one.container.empty();
            for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
                if (pod_.containers[i].name == one.container) found.insert(i);
            }
        }
        if (!has_general) return {found.begin(), found.end()};
        for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
            if (!pod_.containers[i].gpu_resources.empty()) found.insert(i);
        }
        if (!found.empty()) return {found.begin(), found.end()};
        const auto mains = std::ranges::count(pod_.containers, false, &ContainerFacts::init);
        if (mains > 1) {
            const std::string& first = pod_.containers[0].name;
            warn("the GPU is for container '" + first + "', the first of " + std::to_string(mains) +
                 "; write aliquot.dev/gpu-memory." + first + " (or of another one) to say so");
        }
        return {0};
    }

    /// What is written for a container: by its name, else for all.
    [[nodiscard]] const Written* find(std::string_view word, std::size_t container) const {
        const Written* general = nullptr;
        for (const Written& one : written_) {
            if (one.word != word) continue;
            if (one.container == pod_.containers[container].name) return &one;
            if (one.container.empty()) general = &one;
        }
        return general;
    }

    Result<Done> add_request(std::size_t container) {
        GpuRequest request{.container = container};
        if (const Written* const one = find(kMemory, container)) {
            const auto memory = parse_memory_mib(one->key, one->value);
            if (!memory) return memory.error();
            request.memory_mib = *memory;
        }
        if (const Written* const one = find(kCompute, container)) {
            const auto compute = parse_compute(one->key, one->value);
            if (!compute) return compute.error();
            request.compute_percent = *compute;
        }
        if (const Written* const one = find(kCount, container)) {
            const auto count = parse_count(one->key, one->value);
            if (!count) return count.error();
            request.count = *count;
        }
        if (const Written* const one = find(kType, container)) {
            auto types = parse_types(one->key, one->value, cluster_);
            if (!types) return std::move(types).error();
            request.types = *std::move(types);
        }
        requests_.gpus.push_back(std::move(request));
        return Done{};
    }

    Result<Done> add_shm() {
        std::set<std::size_t> candidates;
        for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
            if (!pod_.containers[i].gpu_resources.empty()) candidates.insert(i);
        }
        for (const GpuRequest& request : requests_.gpus) candidates.insert(request.container);
        for (const Written& one : written_) {
            if (one.word != kShm || one.container.empty()) continue;
            const auto named =
                std::ranges::find(pod_.containers, one.container, &ContainerFacts::name);
            candidates.insert(static_cast<std::size_t>(named - pod_.containers.begin()));
        }
        for (const std::size_t container : candidates) {
            const Written* const one = find(kShm, container);
            if (one == nullptr) continue;
            const auto bytes = parse_shm_bytes(one->key, one->value);
            if (!bytes) return bytes.error();
            requests_.shm.push_back({.container = container, .bytes = *bytes});
        }
        return Done{};
    }

    const PodFacts& pod_;
    const Cluster& cluster_;
    std::vector<Written> written_;
    GpuRequests requests_;
};

}  // namespace

Result<GpuRequests> read_gpu_requests(const PodFacts& pod, const Cluster& cluster) {
    return Reader(pod, cluster).read();
}

}  // namespace aliquot::admission
