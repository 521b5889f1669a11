// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "scaling/answer.h"

namespace {

class OnePod final : public aliquot::scaling::PodDirectory {
public:
    [[nodiscard]] aliquot::Result<aliquot::Done> pods(
        const std::string& /*namespace_name*/,
        const std::function<void(const aliquot::scaling::PodRecord&)>& visit) const override {
        visit({.name = "p", .uid = "u", .labels = {{"app", "web"}}});
        return aliquot::Done{};
    }
};

}  // namespace

/// The path on the first line, the label selector on the second: always a JSON answer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace aliquot::scaling;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::size_t line = text.find('\n');
    RecentMetrics recent;
    aliquot::telemetry::Snapshot snapshot;
    snapshot.devices.emplace_back();
    snapshot.devices[0].read_at = snapshot.at;
    snapshot.devices[0].parts.emplace_back();
    snapshot.devices[0].parts[0].tenants.emplace_back();
    aliquot::telemetry::Tenant& tenant = snapshot.devices[0].parts[0].tenants[0];
    tenant.owner = {.pod_uid = "u", .pod_namespace = "ns", .pod = "p", .container = "c"};
    tenant.entitlement_ppm = 250'000;
    tenant.amounts.utilization_ppm = 100'000;
    recent.add(snapshot, Instant());
    const ApiAnswer got =
        answer({.path = std::string(text.substr(0, line)),
                .label_selector = std::string(
                    line == std::string_view::npos ? std::string_view{} : text.substr(line + 1)),
                .now = Instant()},
               recent, OnePod());
    if (!got.body.starts_with("{") || !got.body.ends_with("}")) std::abort();
    return 0;
}
