// SPDX-License-Identifier: Apache-2.0
#include "controller/counters.h"

#include <string_view>

namespace aliquot::controller {
namespace {

constexpr std::array<Durations::Bound, 10> kReviewBounds{{{50'000, "0.00005"},
                                                          {100'000, "0.0001"},
                                                          {250'000, "0.00025"},
                                                          {500'000, "0.0005"},
                                                          {1'000'000, "0.001"},
                                                          {2'500'000, "0.0025"},
                                                          {5'000'000, "0.005"},
                                                          {10'000'000, "0.01"},
                                                          {100'000'000, "0.1"},
                                                          {1'000'000'000, "1"}}};

std::string seconds_of(std::chrono::system_clock::time_point time) {
    return std::to_string(
        std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count());
}

}  // namespace

Counters::Counters() : took_(kReviewBounds) {}

void Counters::add_review(admission::ReviewResult result, std::chrono::nanoseconds took) {
    ++reviews_[static_cast<std::size_t>(result)];
    took_.add(took);
}

std::string Counters::text(const Gauges& gauges) const {
    std::string out = family("aliquot_admission_reviews_total", "counter",
                             "Reviews of pods by what became of them.");
    for (std::size_t i = 0; i < kResults; ++i) {
        const auto result = to_text(static_cast<admission::ReviewResult>(i));
        out += row("aliquot_admission_reviews_total{result=\"" + std::string(result) + "\"}",
                   std::to_string(reviews_[i].load()));
    }
    out += took_.text("aliquot_admission_review_seconds",
                      "Time to decide one review, without TLS and the network.");
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
