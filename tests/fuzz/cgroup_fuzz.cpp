// SPDX-License-Identifier: Apache-2.0
// Any bytes as /proc/PID/cgroup or /proc/PID/stat: what is read is whole and stands in the text.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "k8s/cgroup.h"
#include "os/process_stat.h"
#include "pods/log_names.h"

namespace {

void insist(bool condition) {
    if (!condition) std::abort();
}

bool is_hex(std::string_view text) {
    return std::ranges::all_of(
        text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    if (const auto place = aliquot::k8s::place_of(text)) {
        std::string digits = place->pod_uid;
        std::erase(digits, '-');
        insist(digits.size() == 32 && is_hex(digits));
        insist(place->pod_uid.size() == 36 || place->pod_uid.size() == 32);
        insist(place->container_id.empty() || place->container_id.size() == 64);
        insist(is_hex(place->container_id));
        insist(text.find(place->container_id) != std::string::npos);
        // The same path in the place of version 2 says the same.
        if (!place->container_id.empty()) {
            const auto again = aliquot::k8s::place_of("0::/kubepods/pod" + place->pod_uid + "/" +
                                                      place->container_id);
            insist(again && again->pod_uid == place->pod_uid);
            insist(again->container_id == place->container_id);
        }
    }
    if (const auto container = aliquot::k8s::container_of(text)) {
        insist(container->container_id.empty() == container->group.empty());
        insist(text.find(container->group) != std::string::npos);
    }
    if (const auto stat = aliquot::os::parse_stat(text)) {
        insist(text.find(stat->command) != std::string::npos);
    }
    if (const auto pod = aliquot::pods::parse_pod_log_name(text)) {
        insist(pod->second.pod_namespace + "_" + pod->second.pod + "_" + pod->first == text);
    }
    if (const auto container = aliquot::pods::parse_container_log_name(text)) {
        const auto& [id, name] = *container;
        insist(name.pod.pod + "_" + name.pod.pod_namespace + "_" + name.container + "-" + id +
                   ".log" ==
               text);
    }
    return 0;
}
