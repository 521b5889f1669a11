// SPDX-License-Identifier: Apache-2.0
#include "vision_worker/metrics.h"

#include "metrics/text.h"

namespace aliquot::vision_worker {
namespace {

constexpr auto kSeconds =
    std::to_array<double>({0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10});
constexpr auto kPictures = std::to_array<double>({1, 2, 4, 8, 16, 32, 64, 128});

}  // namespace

std::string_view name_of(Stage stage) {
    static constexpr std::array<std::string_view, kStages> kNames{"queue", "decode", "batch", "run",
                                                                  "read"};
    return kNames.at(static_cast<std::size_t>(stage));
}

Metrics::Metrics() : duration_(kSeconds), batches_(kPictures) {
    for (std::size_t i = 0; i < kStages; ++i) stages_.emplace_back(kSeconds);
}

void Metrics::answered(int status, std::chrono::duration<double> took) {
    duration_.add(took);
    const std::scoped_lock lock(mutex_);
    ++answers_[status];
}

void Metrics::stage(Stage which, std::chrono::duration<double> took) {
    stages_[static_cast<std::size_t>(which)].add(took);
}

void Metrics::batch(std::size_t pictures) { batches_.add(static_cast<double>(pictures)); }

void Metrics::set_device(Device device) {
    const std::scoped_lock lock(mutex_);
    device_ = std::move(device);
}

Metrics::Device Metrics::device() const {
    const std::scoped_lock lock(mutex_);
    return device_;
}

std::string Metrics::text() const {
    std::string out;
    metrics::Text text(out);
    text.single("vision_requests_waiting", "Pictures that wait to be decoded or for a batch.",
                "gauge", waiting.load());
    text.single("vision_requests_running", "Pictures in the batch that runs.", "gauge",
                running.load());
    text.single("vision_batch_limit", "Most pictures in a batch; smaller after out of memory.",
                "gauge", batch_limit.load());
    text.single("vision_ready", "Whether the model is loaded and warm, and the device answers.",
                "gauge", ready.load() && !stalled.load() ? 1 : 0);
    text.single("vision_out_of_memory_total", "Batches that the device had no memory for.",
                "counter", out_of_memory.load());
    text.single("vision_session_rebuilds_total", "Times that the model was loaded anew.", "counter",
                session_rebuilds.load());
    write_device(text);
    text.family("vision_requests_total", "Requests by the status of their answer.", "counter");
    {
        const std::scoped_lock lock(mutex_);
        for (const auto& [status, count] : answers_)
            text.row("").label("code", static_cast<std::uint64_t>(status)).is(count);
    }
    text.family("vision_request_duration_seconds", "From a whole request to its answer.",
                "histogram");
    duration_.write(text);
    text.family("vision_stage_duration_seconds", "Where the time of a picture goes.", "histogram");
    for (std::size_t i = 0; i < kStages; ++i) {
        std::string stage;
        metrics::append_label(stage, "stage", name_of(static_cast<Stage>(i)));
        stages_[i].write(text, stage);
    }
    text.family("vision_batch_size", "Pictures in a batch.", "histogram");
    batches_.write(text);
    return out;
}

void Metrics::write_device(metrics::Text& text) const {
    const Device now = device();
    text.family("vision_device_info", "What runs the model.", "gauge");
    text.row("")
        .label("provider", now.provider)
        .label("device", now.name)
        .label("library", now.library)
        .is(1U);
    if (now.memory_bytes == 0) return;
    text.single("vision_gpu_memory_limit_bytes", "GPU memory of the share.", "gauge",
                now.memory_bytes);
    text.single("vision_gpu_arena_limit_bytes", "Of it, what the runtime's arena may take.",
                "gauge", now.arena_bytes);
}

}  // namespace aliquot::vision_worker
