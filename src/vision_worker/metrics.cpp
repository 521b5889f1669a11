// SPDX-License-Identifier: Apache-2.0
#include "vision_worker/metrics.h"

#include <algorithm>

#include "base/number.h"

namespace aliquot::vision_worker {
namespace {

constexpr auto kSeconds =
    std::to_array<double>({0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10});
constexpr auto kPictures = std::to_array<double>({1, 2, 4, 8, 16, 32, 64, 128});
constexpr int kDigits = 9;

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
    out += "# HELP ";
    out += name;
    out += ' ';
    out += help;
    out += "\n# TYPE ";
    out += name;
    out += ' ';
    out += type;
    out += '\n';
}

void row(std::string& out, std::string_view name, std::string_view labels,
         const std::string& value) {
    out += name;
    if (!labels.empty()) {
        out += '{';
        out += labels;
        out += '}';
    }
    out += ' ' + value + '\n';
}

std::string label(std::string_view name, std::string_view value) {
    std::string text(name);
    text += "=\"";
    for (const char c : value) {
        if (c == '\\' || c == '"') text += '\\';
        if (c != '\n') text += c;
    }
    return text + '"';
}

}  // namespace

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds), buckets_(bounds.size() + 1) {}

void Histogram::add(double value) {
    const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value);
    ++buckets_[static_cast<std::size_t>(at - bounds_.begin())];
    sum_.fetch_add(value);
}

void Histogram::write(std::string& out, std::string_view name, std::string_view labels) const {
    std::uint64_t count = 0;
    const std::string before = labels.empty() ? "" : std::string(labels) + ",";
    const std::string buckets = std::string(name) + "_bucket";
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        count += buckets_[i].load();
        const std::string bound = i < bounds_.size() ? decimal_text(bounds_[i], kDigits) : "+Inf";
        row(out, buckets, before + label("le", bound), std::to_string(count));
    }
    row(out, std::string(name) + "_sum", labels, decimal_text(sum_.load(), kDigits));
    row(out, std::string(name) + "_count", labels, std::to_string(count));
}

std::string_view name_of(Stage stage) {
    static constexpr std::array<std::string_view, kStages> kNames{"queue", "decode", "batch", "run",
                                                                  "read"};
    return kNames.at(static_cast<std::size_t>(stage));
}

Metrics::Metrics() : duration_(kSeconds), batches_(kPictures) {
    for (std::size_t i = 0; i < kStages; ++i) stages_.emplace_back(kSeconds);
}

void Metrics::answered(int status, std::chrono::duration<double> took) {
    duration_.add(took.count());
    const std::scoped_lock lock(mutex_);
    ++answers_[status];
}

void Metrics::stage(Stage which, std::chrono::duration<double> took) {
    stages_[static_cast<std::size_t>(which)].add(took.count());
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
    const auto gauge = [&](std::string_view name, std::string_view help, std::uint64_t value) {
        head(out, name, "gauge", help);
        row(out, name, "", std::to_string(value));
    };
    const auto counter = [&](std::string_view name, std::string_view help, std::uint64_t value) {
        head(out, name, "counter", help);
        row(out, name, "", std::to_string(value));
    };
    gauge("vision_requests_waiting", "Pictures that wait to be decoded or for a batch.",
          waiting.load());
    gauge("vision_requests_running", "Pictures in the batch that runs.", running.load());
    gauge("vision_batch_limit", "Most pictures in a batch; smaller after out of memory.",
          batch_limit.load());
    gauge("vision_ready", "Whether the model is loaded and warm, and the device answers.",
          ready.load() && !stalled.load() ? 1 : 0);
    counter("vision_out_of_memory_total", "Batches that the device had no memory for.",
            out_of_memory.load());
    counter("vision_session_rebuilds_total", "Times that the model was loaded anew.",
            session_rebuilds.load());
    const Device now = device();
    head(out, "vision_device_info", "gauge", "What runs the model.");
    row(out, "vision_device_info",
        label("provider", now.provider) + "," + label("device", now.name) + "," +
            label("library", now.library),
        "1");
    if (now.memory_bytes > 0) {
        gauge("vision_gpu_memory_limit_bytes", "GPU memory of the share.", now.memory_bytes);
        gauge("vision_gpu_arena_limit_bytes", "Of it, what the runtime's arena may take.",
              now.arena_bytes);
    }
    {
        const std::scoped_lock lock(mutex_);
        head(out, "vision_requests_total", "counter", "Requests by the status of their answer.");
        for (const auto& [status, count] : answers_) {
            row(out, "vision_requests_total", label("code", std::to_string(status)),
                std::to_string(count));
        }
    }
    head(out, "vision_request_duration_seconds", "histogram",
         "From a whole request to its answer.");
    duration_.write(out, "vision_request_duration_seconds", "");
    head(out, "vision_stage_duration_seconds", "histogram", "Where the time of a picture goes.");
    for (std::size_t i = 0; i < kStages; ++i) {
        stages_[i].write(out, "vision_stage_duration_seconds",
                         label("stage", name_of(static_cast<Stage>(i))));
    }
    head(out, "vision_batch_size", "histogram", "Pictures in a batch.");
    batches_.write(out, "vision_batch_size", "");
    return out;
}

}  // namespace aliquot::vision_worker
