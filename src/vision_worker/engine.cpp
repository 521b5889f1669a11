// SPDX-License-Identifier: Apache-2.0
#include "vision_worker/engine.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/log.h"
#include "base/number.h"
#include "base/text.h"
#include "os/root.h"
#include "vision_worker/memory_view.h"

namespace aliquot::vision_worker {
namespace {

constexpr std::size_t kMostBatch = 128;
constexpr std::size_t kMostCpuBatch = 8;
constexpr std::size_t kMostModelInput = std::size_t{64}
                                        << 20U;  // numbers of a picture and of a batch
constexpr std::uint32_t kMostSide = 16'384;
constexpr std::chrono::seconds kLongestPatience{3600};

onnx::SessionOptions session_options(const Settings& settings, const vision::BatchChoice& choice) {
    return {.providers = settings.providers,
            .threads = settings.threads > 0 ? settings.threads : allowed_cores(),
            .device = settings.device,
            .gpu_memory_bytes = choice.arena_bytes,
            .half_precision = settings.half_precision,
            .engine_cache = settings.engine_cache};
}

/// The size a model was exported for, "[HEIGHT, WIDTH]" as Ultralytics writes it into the metadata; nothing when it says none.
std::optional<std::array<std::uint32_t, 2>> trained_size(const std::string& imgsz) {
    if (!imgsz.starts_with('[') || !imgsz.ends_with(']')) return std::nullopt;
    const auto parts = split_list(std::string_view(imgsz).substr(1, imgsz.size() - 2));
    if (parts.size() != 2) return std::nullopt;
    std::array<std::uint32_t, 2> size{};
    for (std::size_t i = 0; i < 2; ++i) {
        const auto side = parse_number<std::uint32_t>(parts[i]);
        if (!side || *side == 0 || *side > kMostSide) return std::nullopt;
        size.at(i) = *side;
    }
    return size;
}

/// Height and width where the model leaves them free.
std::array<std::uint32_t, 2> free_size(const Settings& settings, Task task,
                                       const std::string& imgsz) {
    if (settings.side > 0) return {settings.side, settings.side};
    if (const auto trained = trained_size(imgsz)) return *trained;
    return task == Task::kClassify ? std::array{224U, 224U} : std::array{640U, 640U};
}

/// Four numbers: batch, three colours, height, width.
Result<vision::InputForm> form_of(const onnx::Port& port, const Settings& settings, Task task,
                                  const std::string& imgsz) {
    const auto wrong = [&](const std::string& why) {
        std::vector<std::string> axes;
        for (const std::int64_t axis : port.shape)
            axes.push_back(axis < 0 ? "free" : std::to_string(axis));
        return Error{ErrorCode::kInvalidInput,
                     "model: its input '" + port.name + "' is [" + join(axes) + "], " + why};
    };
    if (port.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT &&
        port.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16) {
        return wrong("of type " + std::to_string(port.type) + "; expected float or float16");
    }
    if (port.shape.size() != 4 || (port.shape[1] != 3 && port.shape[1] >= 0)) {
        return wrong("expected [batch, 3, height, width]");
    }
    const auto free = free_size(settings, task, imgsz);
    const auto axis = [&](std::size_t i) {
        return port.shape[i] < 0
                   ? free.at(i - 2)
                   : static_cast<std::uint32_t>(std::min<std::int64_t>(port.shape[i], 1 << 16));
    };
    vision::InputForm form{.width = axis(3), .height = axis(2)};
    if (form.width == 0 || form.height == 0 || vision::input_size(form) > kMostModelInput) {
        return wrong("which is not a size of a picture");
    }
    if (task == Task::kClassify) {
        form.fit = vision::InputForm::Fit::kCrop;
        // Classifiers with mean and deviation are trained on the middle of a slightly larger picture.
        const bool torch = !settings.mean.empty();
        form.resize =
            torch ? std::max(form.width, form.height) * 8 / 7 : std::max(form.width, form.height);
    }
    for (std::size_t i = 0; i < 3; ++i) {
        if (!settings.mean.empty()) form.mean.at(i) = static_cast<float>(settings.mean[i]);
        if (!settings.deviation.empty())
            form.deviation.at(i) = static_cast<float>(settings.deviation[i]);
    }
    return form;
}

/// While it lives the device is asked.
class Asked {
public:
    Asked(RunWatch& runs, os::TimePoint now, bool builds) : runs_(runs) {
        runs.begin(now, builds ? RunWatch::Work::kBuilding : RunWatch::Work::kUsual);
    }
    ~Asked() { runs_.end(); }
    Asked(const Asked&) = delete;
    Asked& operator=(const Asked&) = delete;

private:
    RunWatch& runs_;
};

}  // namespace

Result<std::unique_ptr<Engine>> Engine::make(std::shared_ptr<const onnx::Runtime> runtime,
                                             std::string model, const Settings& settings,
                                             Metrics& metrics, const os::Clock& clock) {
    std::unique_ptr<Engine> engine(
        new Engine(std::move(runtime), std::move(model), settings, metrics, clock));
    const bool gpu = std::find_if(settings.providers.begin(), settings.providers.end(),
                                  [](onnx::Provider one) { return one != onnx::Provider::kCpu; }) !=
                     settings.providers.end();
    if (gpu) {
        auto share = look_at_share(settings.device);
        if (share) {
            engine->share_ = *std::move(share);
        } else if (settings.gpu_wanted) {
            return std::move(share).error();
        } else {
            engine->refused_.push_back(share.error().message);
        }
    }
    engine->choose();
    if (auto loaded = engine->load(); !loaded) return std::move(loaded).error();
    if (auto warm = engine->warm_up(); !warm) return std::move(warm).error();
    return engine;
}

/// Before the model is loaded, from the memory alone.
void Engine::choose() {
    const std::size_t asked = settings_.most_batch;
    if (share_) {
        choice_ =
            vision::choose_batch(batch_memory(*share_, settings_.gpu_memory_bytes, model_.size()),
                                 asked > 0 ? asked : kMostBatch);
        if (asked > 0) {
            choice_.batch = asked;
            choice_.formula = std::to_string(asked) + ", as asked";
        }
    } else {
        choice_.batch = asked > 0 ? asked : kMostCpuBatch;
        choice_.formula =
            std::to_string(choice_.batch) + (asked > 0 ? ", as asked" : ", on the CPU");
        choice_.arena_bytes = settings_.gpu_memory_bytes;
    }
}

Result<Done> Engine::load() {
    const Asked asked(metrics_.runs, clock_.now(), true);
    sizes_.clear();
    auto session = onnx::Session::make(runtime_, model_, session_options(settings_, choice_));
    if (!session) return std::move(session).error();
    session_ = *std::move(session);
    session_provider_ = session_->provider();
    if (metrics_.batch_limit == 0) {  // the first time
        refused_.insert(refused_.end(), session_->refused().begin(), session_->refused().end());
        if (auto read = read_form(); !read) return read;
        if (session_provider_ == onnx::Provider::kCpu && share_) {
            share_.reset();
            choose();
        }
        const std::size_t batch = fixed_batch_ > 0 ? fixed_batch_ : choice_.batch;
        metrics_.batch_limit = batch;
        // A batch is one block of memory here, too.
        const std::size_t fits =
            std::max<std::size_t>(kMostModelInput * 4 / vision::input_size(form_), 1);
        if (fixed_batch_ == 0 && batch > fits) metrics_.batch_limit = std::bit_floor(fits);
    }
    return Done{};
}

Result<Done> Engine::read_form() {
    if (session_->inputs().size() != 1 || session_->outputs().empty()) {
        return Error{ErrorCode::kUnsupported, "model: it has " +
                                                  std::to_string(session_->inputs().size()) +
                                                  " inputs; expected one, a picture"};
    }
    const std::string told = session_->metadata("task");
    task_ = settings_.task;
    if (task_ == Task::kAuto) {
        const bool classify = told == "classify" || session_->outputs().front().shape.size() == 2;
        task_ = classify ? Task::kClassify : Task::kDetect;
    }
    auto form = form_of(session_->inputs().front(), settings_, task_, session_->metadata("imgsz"));
    if (!form) return std::move(form).error();
    form_ = *form;
    const std::int64_t batch = session_->inputs().front().shape[0];
    fixed_batch_ = batch > 0 ? static_cast<std::size_t>(std::min<std::int64_t>(batch, 1024)) : 0;
    std::string text = session_->metadata("names");
    if (!settings_.labels.empty()) {
        auto read = os::Root("/").read(std::filesystem::absolute(settings_.labels).native(),
                                       std::size_t{8} << 20U);
        if (!read) return std::move(read).error().during("labels");
        text = *std::move(read);
    }
    labels_ = vision::read_labels(text);
    return Done{};
}

/// The whole output of a batch, whose first axis is the batch.
Result<Done> Engine::read_output(std::span<const std::int64_t> shape) {
    const auto classes = static_cast<std::uint32_t>(labels_.size());
    if (task_ == Task::kDetect) {
        auto read = vision::read_output_shape(shape, settings_.layout, classes);
        if (!read) return std::move(read).error().during("model");
        output_ = *read;
        answer_size_ = std::size_t{output_.rows} * output_.columns;
        return Done{};
    }
    answer_size_ = 1;
    for (std::size_t i = 1; i < shape.size(); ++i)
        answer_size_ *= static_cast<std::size_t>(shape[i]);
    if (shape.size() < 2 || answer_size_ == 0) {
        return Error{ErrorCode::kInvalidInput,
                     "model: a classifier gives [batch, classes], and this one has " +
                         std::to_string(shape.size()) + " axes"};
    }
    if (classes != 0 && classes != answer_size_) {
        log::warning("vision.labels", {{"classes", answer_size_}, {"labels", classes}});
    }
    return Done{};
}

/// The largest batch first: what it needs is the most that will be needed.
Result<Done> Engine::warm_up() {
    const Input grey{.numbers = std::vector<float>(vision::input_size(form_), 0.447F)};
    while (true) {
        const std::size_t batch = most();
        const std::vector<const Input*> pictures(batch, &grey);
        auto output = run_once(pictures);
        if (output) {
            if (auto read = read_output(output->shape); !read) return read;
            break;
        }
        if (output.error().code != ErrorCode::kConflict || batch == 1 || fixed_batch_ > 0) {
            return std::move(output).error().during("warm-up with a batch of " +
                                                    std::to_string(batch));
        }
        shrink();
    }
    // Each other size that will be met: some devices choose how to compute it when they first see it.
    for (std::size_t batch = most() / 2; batch > 0 && fixed_batch_ == 0; batch /= 2) {
        const std::vector<const Input*> pictures(batch, &grey);
        if (auto output = run_once(pictures); !output)
            return std::move(output).error().during("warm-up");
    }
    warm_ = true;
    return Done{};
}

Result<onnx::Output> Engine::run_once(std::span<const Input* const> pictures) {
    if (session_ == nullptr) {
        ++metrics_.session_rebuilds;
        if (auto loaded = load(); !loaded) return std::move(loaded).error();
    }
    const std::size_t size = vision::input_size(form_);
    const std::size_t batch =
        fixed_batch_ > 0 ? fixed_batch_ : vision::padded_batch(pictures.size(), most());
    staging_.resize(std::max(staging_.size(), batch * size));
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        std::copy(pictures[i]->numbers.begin(), pictures[i]->numbers.end(),
                  staging_.begin() + static_cast<std::ptrdiff_t>(i * size));
    }
    const std::array<std::int64_t, 4> shape{static_cast<std::int64_t>(batch), 3, form_.height,
                                            form_.width};
    // TensorRT builds an engine for each size that it has not met.
    const bool is_new =
        sizes_.insert(batch).second && session_provider_ == onnx::Provider::kTensorRt;
    const Asked asked(metrics_.runs, clock_.now(), is_new || !warm_);
    auto output = session_->run(std::span<const float>(staging_).first(batch * size), shape);
    if (!output && output.error().code != ErrorCode::kInvalidInput) {
        if (output.error().code == ErrorCode::kConflict) ++metrics_.out_of_memory;
        session_.reset();  // of no use any more, and holds memory
    }
    return output;
}

void Engine::shrink() {
    const std::size_t before = most();
    metrics_.batch_limit = std::max<std::size_t>(before / 2, 1);
    grow_at_ = clock_.now() + patience_;
    patience_ = std::min(patience_ * 2, kLongestPatience);
    staging_.clear();
    staging_.shrink_to_fit();
    log::warning("vision.out_of_memory", {{"batch", before}, {"batch_now", most()}});
}

void Engine::grow() {
    if (fixed_batch_ > 0 || most() >= choice_.batch || clock_.now() < grow_at_) return;
    metrics_.batch_limit = std::min(most() * 2, choice_.batch);
    grow_at_ = clock_.now() + patience_;
    log::info("vision.batch_grows", {{"batch", most()}});
}

Result<std::vector<RawAnswer>> Engine::run(std::span<const Input* const> pictures) {
    grow();
    std::vector<RawAnswer> answers;
    unsigned failures = 0;
    while (answers.size() < pictures.size()) {
        const auto rest = pictures.subspan(answers.size());
        const auto batch = rest.first(std::min(rest.size(), most()));
        auto output = run_once(batch);
        if (output && output->numbers.size() < batch.size() * answer_size_) {
            return Error{ErrorCode::kUnavailable, "model: its output is smaller than at the start"};
        }
        if (!output) {
            // At the smallest batch one more try: the model was loaded anew in between.
            const bool again =
                output.error().code == ErrorCode::kConflict && (most() > 1 || failures == 0);
            if (most() == 1 || fixed_batch_ > 0) ++failures;
            if (!again || failures > 1) return std::move(output).error();
            if (fixed_batch_ == 0) shrink();
            continue;
        }
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const auto first =
                output->numbers.begin() + static_cast<std::ptrdiff_t>(i * answer_size_);
            answers.emplace_back(first, first + static_cast<std::ptrdiff_t>(answer_size_));
        }
    }
    return answers;
}

std::vector<vision::Detection> Engine::detections(const RawAnswer& answer, const Input& input,
                                                  const vision::DetectionLimits& limits) const {
    return vision::read_detections(answer, output_, input.placement, input.file_width,
                                   input.file_height, limits);
}

std::string Engine::label(std::uint32_t index) const {
    return index < labels_.size() ? labels_[index] : std::string();
}

}  // namespace aliquot::vision_worker
