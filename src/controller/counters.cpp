// SPDX-License-Identifier: Apache-2.0
#include "controller/counters.h"

#include <string_view>

namespace aliquot::controller {
namespace {

constexpr std::array<double, 10> kReviewBounds{0.00005, 0.0001, 0.00025, 0.0005, 0.001,
                                               0.0025,  0.005,  0.01,    0.1,    1};

std::uint64_t seconds_of(std::chrono::system_clock::time_point time) {
    const auto since = time.time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(since).count());
}

}  // namespace

Counters::Counters() : took_(kReviewBounds) {}

void Counters::add_review(admission::ReviewResult result, std::chrono::nanoseconds took) {
    ++reviews_[static_cast<std::size_t>(result)];
    took_.add(took);
}

std::string Counters::text(const Gauges& gauges) const {
    std::string out;
    metrics::Text text(out);
    text.family("aliquot_admission_reviews_total", "Reviews of pods by what became of them.",
                "counter");
    for (std::size_t i = 0; i < kResults; ++i) {
        const auto result = to_text(static_cast<admission::ReviewResult>(i));
        text.row("").label("result", result).is(reviews_[i].load());
    }
    text.family("aliquot_admission_review_seconds",
                "Time to decide one review, without TLS and the network.", "histogram");
    took_.write(text);
    text.single("aliquot_admission_gpu_nodes", "Nodes with GPUs that are known.", "gauge",
                gauges.gpu_nodes);
    text.single("aliquot_controller_leader", "1 for the replica that keeps the certificates.",
                "gauge", gauges.leads ? 1 : 0);
    text.single("aliquot_controller_certificate_valid_until_seconds",
                "When the certificate that is shown expires, Unix time; 0: there is none yet.",
                "gauge", seconds_of(gauges.certificate_until));
    text.single("aliquot_controller_authority_valid_until_seconds",
                "When the newest authority expires, Unix time; 0: there is none yet.", "gauge",
                seconds_of(gauges.authority_until));
    text.single("aliquot_controller_tending_failures_total",
                "Rounds of the leader over Secret and caBundle that did not succeed.", "counter",
                tending_failures_.load());
    return out;
}

}  // namespace aliquot::controller
