// SPDX-License-Identifier: Apache-2.0
#include "controller/counters.h"

#include <algorithm>
#include <string_view>

#include "base/units.h"

namespace aliquot::controller {
namespace {

struct Bound {
    std::int64_t ns;
    std::string_view seconds;
};
constexpr std::array<Bound, 10> kBounds{{{50'000, "0.00005"},
                                         {100'000, "0.0001"},
                                         {250'000, "0.00025"},
                                         {500'000, "0.0005"},
                                         {1'000'000, "0.001"},
                                         {2'500'000, "0.0025"},
                                         {5'000'000, "0.005"},
                                         {10'000'000, "0.01"},
                                         {100'000'000, "0.1"},
                                         {1'000'000'000, "1"}}};

std::string family(std::string_view name, std::string_view type, std::string_view help) {
    return "# HELP " + std::string(name) + " " + std::string(help) + "\n# TYPE " +
           std::string(name) + " " + std::string(type) + "\n";
}

std::string row(std::string_view name, const std::string& value) {
    return std::string(name) + " " + value + "\n";
}

std::string seconds_of(std::chrono::system_clock::time_point time) {
    return std::to_string(
        std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count());
}

}  // namespace

void Counters::add_review(admission::ReviewResult result, std::chrono::nanoseconds took) {
    ++reviews_[static_cast<std::size_t>(result)];
    const auto* const bound = std::ranges::lower_bound(kBounds, took.count(), {}, &Bound::ns);
    ++buckets_[static_cast<std::size_t>(bound - kBounds.begin())];
    sum_ns_ += static_cast<std::uint64_t>(std::max<std::int64_t>(0, took.count()));
}

std::string Counters::text(const Gauges& gauges) const {
    constexpr std::string_view kSeconds = "aliquot_admission_review_seconds";
    std::string out = family("aliquot_admission_reviews_total", "counter",
                             "Reviews of pods by what became of them.");
    for (std::size_t i = 0; i < kResults; ++i) {
        const auto result = to_text(static_cast<admission::ReviewResult>(i));
        out += row("aliquot_admission_reviews_total{result=\"" + std::string(result) + "\"}",
                   std::to_string(reviews_[i].load()));
    }
    out += family(kSeconds, "histogram", "Time to decide one review, without TLS and the network.");
    std::uint64_t count = 0;
    for (std::size_t i = 0; i <= kBuckets; ++i) {
        count += buckets_[i].load();
        const std::string_view bound = i == kBuckets ? "+Inf" : kBounds[i].seconds;
        out += row(std::string(kSeconds) + "_bucket{le=\"" + std::string(bound) + "\"}",
                   std::to_string(count));
    }
    out += row(std::string(kSeconds) + "_sum",
               std::to_string(static_cast<double>(sum_ns_.load()) / kNsPerSecond));
    out += row(std::string(kSeconds) + "_count", std::to_string(count));
    out += family("aliquot_admission_gpu_nodes", "gauge", "Nodes with GPUs that are known.");
    out += row("aliquot_admission_gpu_nodes", std::to_string(gauges.gpu_nodes));
    out += family("aliquot_controller_leader", "gauge",
                  "1 for the replica that keeps the certificates.");
    out += row("aliquot_controller_leader", gauges.leads ? "1" : "0");
    out += family("aliquot_controller_certificate_valid_until_seconds", "gauge",
                  "When the certificate that is shown expires, Unix time; 0: there is none yet.");
    out += row("aliquot_controller_certificate_valid_until_seconds",
               seconds_of(gauges.certificate_until));
    out += family("aliquot_controller_authority_valid_until_seconds", "gauge",
                  "When the newest authority expires, Unix time; 0: there is none yet.");
    out +=
        row("aliquot_controller_authority_valid_until_seconds", seconds_of(gauges.authority_until));
    out += family("aliquot_controller_tending_failures_total", "counter",
                  "Rounds of the leader over Secret and caBundle that did not succeed.");
    out +=
        row("aliquot_controller_tending_failures_total", std::to_string(tending_failures_.load()));
    return out;
}

}  // namespace aliquot::controller
