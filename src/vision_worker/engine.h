// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "onnx/session.h"
#include "os/clock.h"
#include "vision/batch.h"
#include "vision/classes.h"
#include "vision/detections.h"
#include "vision_worker/gpu_share.h"
#include "vision_worker/metrics.h"
#include "vision_worker/settings.h"

namespace aliquot::vision_worker {

/// A picture as the model wants it.
struct Input {
    std::vector<float> numbers;
    vision::Placement placement;
    std::uint32_t file_width = 0;
    std::uint32_t file_height = 0;
};

/// What the model says of a picture, as it says it.
using RawAnswer = std::vector<float>;

/// A loaded model on its device. It lives with out of memory: the batch is halved and the model loaded anew, and grows back
/// when a minute went well. One thread runs it; what is const may be asked by any.
class Engine {
public:
    /// Loads, and runs the largest batch once, so that the first picture does not wait for what is slow once.
    /// errors   kInvalidInput: the model; kConflict: not even one picture fits into the memory; kUnavailable: the device
    static Result<std::unique_ptr<Engine>> make(std::shared_ptr<const onnx::Runtime> runtime,
                                                std::string model, const Settings& settings,
                                                Metrics& metrics, const os::Clock& clock);

    [[nodiscard]] const vision::InputForm& form() const { return form_; }
    [[nodiscard]] Task task() const { return task_; }
    [[nodiscard]] const std::vector<std::string>& labels() const { return labels_; }
    [[nodiscard]] const vision::OutputShape& output() const { return output_; }
    [[nodiscard]] const std::string& formula() const { return choice_.formula; }
    [[nodiscard]] std::uint64_t arena_bytes() const { return choice_.arena_bytes; }
    [[nodiscard]] std::string_view provider() const { return onnx::name_of(session_provider_); }
    [[nodiscard]] const std::vector<std::string>& refused() const { return refused_; }
    [[nodiscard]] const std::optional<GpuShare>& share() const { return share_; }

    /// How many pictures a batch may have now.
    [[nodiscard]] std::size_t most() const { return metrics_.batch_limit.load(); }

    /// Runs the pictures, in smaller batches where they do not fit.
    /// errors   kConflict: not even one fits at the moment; else the device's own
    Result<std::vector<RawAnswer>> run(std::span<const Input* const> pictures);

    /// What an answer means. Any thread.
    [[nodiscard]] std::vector<vision::Detection> detections(
        const RawAnswer& answer, const Input& input, const vision::DetectionLimits& limits) const;
    [[nodiscard]] std::string label(std::uint32_t index) const;

private:
    Engine(std::shared_ptr<const onnx::Runtime> runtime, std::string model,
           const Settings& settings, Metrics& metrics, const os::Clock& clock)
        : runtime_(std::move(runtime)),
          model_(std::move(model)),
          settings_(settings),
          metrics_(metrics),
          clock_(clock) {}

    Result<Done> load();
    Result<Done> read_form();
    Result<Done> read_output(std::span<const std::int64_t> shape);
    Result<Done> warm_up();
    Result<onnx::Output> run_once(std::span<const Input* const> pictures);
    void shrink();
    void grow();
    void choose();

    const std::shared_ptr<const onnx::Runtime> runtime_;
    const std::string model_;
    const Settings settings_;
    Metrics& metrics_;
    const os::Clock& clock_;

    std::optional<GpuShare> share_;
    vision::BatchChoice choice_;
    std::unique_ptr<onnx::Session> session_;  // null: has to be loaded anew
    onnx::Provider session_provider_ = onnx::Provider::kCpu;
    std::vector<std::string> refused_;
    vision::InputForm form_;
    bool warm_ = false;
    std::set<std::size_t> sizes_;  // of batches that this session has run
    std::size_t fixed_batch_ = 0;  // of a model whose batch is not free
    Task task_ = Task::kDetect;
    std::vector<std::string> labels_;
    vision::OutputShape output_;
    std::size_t answer_size_ = 0;
    std::vector<float> staging_;  // of a batch
    os::TimePoint grow_at_{};
    std::chrono::seconds patience_{60};
};

}  // namespace aliquot::vision_worker
