// SPDX-License-Identifier: Apache-2.0
#include "vision_worker/pipeline.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "vision/decode.h"

namespace aliquot::vision_worker {
namespace {

constexpr std::size_t kBatchesAhead = 2;   // decoded pictures that wait for the device
constexpr std::size_t kBatchesBehind = 4;  // answers that wait to be read

int status_of(const Error& error) {
    switch (error.code) {
        case ErrorCode::kInvalidInput:
            return 400;
        case ErrorCode::kUnsupported:
            return 415;
        default:
            return 503;
    }
}

}  // namespace

Pipeline::Pipeline(Engine& engine, Metrics& metrics, const os::Clock& clock,
                   const PipelineOptions& options)
    : engine_(engine), metrics_(metrics), clock_(clock), options_(options) {
    for (unsigned i = 0; i < std::max(options.threads, 1U); ++i) {
        threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
    }
    threads_.emplace_back([this](const std::stop_token& stop) { drive(stop); });
    threads_.emplace_back([this](const std::stop_token& stop) { watch(stop); });
}

Pipeline::~Pipeline() {
    {
        const std::scoped_lock lock(mutex_);
        ending_ = true;
    }
    for (std::jthread& thread : threads_) thread.request_stop();
    changed_.notify_all();
    threads_.clear();
    for (auto* queue : {&encoded_, &decoded_, &answered_}) {
        while (!queue->empty()) {
            auto item = std::move(queue->front());
            queue->pop_front();
            finish(std::move(item), 503, "the worker is ending");
        }
    }
}

bool Pipeline::submit(std::vector<Picture> pictures) {
    if (metrics_.stalled) {
        for (const Picture& picture : pictures) {
            picture.done({.status = 503, .error = stalled_words()});
        }
        return true;
    }
    const os::TimePoint now = clock_.now();
    {
        const std::scoped_lock lock(mutex_);
        const std::size_t waiting = encoded_.size() + decoded_.size() + decoding_;
        if (ending_ || waiting + pictures.size() > options_.most_waiting) return false;
        for (Picture& picture : pictures) {
            auto item = std::make_unique<Item>();
            item->picture = std::move(picture);
            item->arrived = now;
            item->moved = now;
            encoded_.push_back(std::move(item));
        }
        count_waiting();
    }
    changed_.notify_all();
    return true;
}

void Pipeline::count_waiting() { metrics_.waiting = encoded_.size() + decoded_.size() + decoding_; }

void Pipeline::note(Item& item, Stage stage, os::TimePoint until) {
    const std::chrono::duration<double> took = until - item.moved;
    metrics_.stage(stage, took);
    item.outcome.ms.at(static_cast<std::size_t>(stage)) = took.count() * 1000;
    item.moved = until;
}

void Pipeline::finish(std::unique_ptr<Item> item, int status, std::string error) {
    item->outcome.status = status;
    item->outcome.error = std::move(error);
    item->picture.done(std::move(item->outcome));
}

/// Answers are read before further pictures are decoded: who has waited longest goes first.
void Pipeline::work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (true) {
        const auto room = [this] {
            return decoded_.size() + decoding_ < engine_.most() * kBatchesAhead;
        };
        const bool there = changed_.wait(
            lock, stop, [&] { return !answered_.empty() || (!encoded_.empty() && room()); });
        if (!there || stop.stop_requested()) return;
        const bool answer = !answered_.empty();
        auto& queue = answer ? answered_ : encoded_;
        auto item = std::move(queue.front());
        queue.pop_front();
        if (!answer) ++decoding_;
        lock.unlock();
        if (answer) {
            read_answer(std::move(item));
        } else {
            decode(std::move(item));
        }
        lock.lock();
        changed_.notify_all();
    }
}

void Pipeline::decode(std::unique_ptr<Item> item) {
    note(*item, Stage::kQueue, clock_.now());
    std::optional<Error> failed;
    const bool late = is_late(*item);
    if (!late) failed = read_picture(*item);
    note(*item, Stage::kDecode, clock_.now());
    {
        const std::scoped_lock lock(mutex_);
        --decoding_;
        if (!late && !failed) {
            item->picture.owner.reset();  // the bytes have done their work
            decoded_.push_back(std::move(item));
        }
        count_waiting();
    }
    changed_.notify_all();
    if (item == nullptr) return;
    if (late) {
        finish(std::move(item), 504, "the picture has waited too long to be decoded");
    } else {
        finish(std::move(item), status_of(*failed), std::move(failed->message));
    }
}

std::optional<Error> Pipeline::read_picture(Item& item) {
    const auto header = vision::read_image_header(item.picture.bytes, options_.image_limits);
    if (!header) return header.error();
    const std::uint64_t bytes = std::min(vision::decode_bytes(*header), options_.decode_bytes);
    {
        std::unique_lock lock(mutex_);
        // One alone always has room.
        const auto fits = [&] {
            return ending_ || decode_bytes_ == 0 || decode_bytes_ + bytes <= options_.decode_bytes;
        };
        const auto left = item.arrived + options_.timeout - clock_.now();
        if (!changed_.wait_for(lock, left, fits) || ending_) {
            return Error{ErrorCode::kUnavailable, "no memory to decode the picture in time"};
        }
        decode_bytes_ += bytes;
    }
    const vision::InputForm& form = engine_.form();
    std::optional<Error> failed;
    auto image = vision::decode_image(
        item.picture.bytes,
        {.limits = options_.image_limits, .least_width = form.width, .least_height = form.height});
    if (image) {
        item.input.numbers.resize(vision::input_size(form));
        item.input.placement = vision::write_input(*image, form, item.input.numbers);
        item.input.file_width = image->file_width;
        item.input.file_height = image->file_height;
        item.outcome.width = image->file_width;
        item.outcome.height = image->file_height;
    } else {
        failed = std::move(image).error();
    }
    const std::scoped_lock lock(mutex_);
    decode_bytes_ -= bytes;
    return failed;
}

void Pipeline::read_answer(std::unique_ptr<Item> item) {
    const os::TimePoint from = clock_.now();
    item->moved = from;
    if (engine_.task() == Task::kDetect) {
        item->outcome.detections =
            engine_.detections(item->answer, item->input, item->picture.limits);
    } else {
        item->outcome.classes = vision::read_classes(item->answer, item->picture.top);
    }
    note(*item, Stage::kRead, clock_.now());
    finish(std::move(item), 200, {});
}

void Pipeline::drive(const std::stop_token& stop) {
    while (true) {
        Items batch = next_batch(stop);
        if (batch.empty()) return;
        run(std::move(batch));
    }
}

/// Empty: it ends.
Pipeline::Items Pipeline::next_batch(const std::stop_token& stop) {
    Items batch;
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        const std::size_t most = engine_.most();
        vision::BatchStep step;
        if (answered_.size() <= most * kBatchesBehind) {
            const auto waited = decoded_.empty() ? os::TimePoint::duration{0}
                                                 : clock_.now() - decoded_.front()->moved;
            step = vision::next_batch({.most = most, .most_wait = options_.batch_wait},
                                      decoded_.size(),
                                      std::chrono::duration_cast<std::chrono::microseconds>(waited),
                                      encoded_.size() + decoding_);
        }
        if (step.take > 0) {
            for (std::size_t i = 0; i < step.take; ++i) {
                batch.push_back(std::move(decoded_.front()));
                decoded_.pop_front();
            }
            count_waiting();
            metrics_.running = batch.size();
            break;
        }
        const auto seen = std::pair(decoded_.size(), answered_.size());
        const bool alone = encoded_.size() + decoding_ == 0;
        const auto news = [&] {
            return std::pair(decoded_.size(), answered_.size()) != seen ||
                   (encoded_.size() + decoding_ == 0) != alone;
        };
        if (step.wait.count() > 0) {
            changed_.wait_for(lock, stop, step.wait, news);
        } else {
            changed_.wait(lock, stop, news);
        }
    }
    lock.unlock();
    changed_.notify_all();  // there is room to decode more
    return batch;
}

void Pipeline::run(Items batch) {
    const os::TimePoint from = clock_.now();
    Items alive;
    for (auto& item : batch) {
        note(*item, Stage::kBatch, from);
        if (is_late(*item)) {
            finish(std::move(item), 504, "the picture has waited too long for the device");
        } else {
            alive.push_back(std::move(item));
        }
    }
    if (alive.empty()) return;
    std::vector<const Input*> inputs;
    for (const auto& item : alive) inputs.push_back(&item->input);
    {
        const std::scoped_lock lock(mutex_);
        running_ = std::move(alive);
    }
    auto answers = engine_.run(inputs);
    const os::TimePoint until = clock_.now();
    {
        const std::scoped_lock lock(mutex_);
        alive = std::exchange(running_, {});
    }
    metrics_.batch(alive.size());
    metrics_.running = 0;
    if (!answers) {
        ++failed_batches_;
        metrics_.ready = false;
        log::error("vision.batch_failed",
                   {{"pictures", alive.size()}, {"reason", answers.error().message}});
        for (auto& item : alive) {
            if (item->picture.done) finish(std::move(item), 503, answers.error().message);
        }
        return;
    }
    failed_batches_ = 0;
    metrics_.ready = true;
    {
        const std::scoped_lock lock(mutex_);
        for (std::size_t i = 0; i < alive.size(); ++i) {
            if (!alive[i]->picture.done) continue;  // was given up
            note(*alive[i], Stage::kRun, until);
            alive[i]->answer = std::move((*answers)[i]);
            alive[i]->input.numbers = {};
            alive[i]->outcome.batch = alive.size();
            answered_.push_back(std::move(alive[i]));
        }
    }
    changed_.notify_all();
}

std::string Pipeline::stalled_words() const {
    return "the device has not answered for " + std::to_string(options_.run_limit.count()) +
           "ms or longer";
}

void Pipeline::watch(const std::stop_token& stop) {
    using std::chrono::milliseconds;
    const auto pause = std::clamp(options_.run_limit / 10, milliseconds(10), milliseconds(1'000));
    while (!stop.stop_requested()) {
        {
            std::unique_lock lock(mutex_);
            tick_.wait_for(lock, stop, pause, [] { return false; });
        }
        const bool stalled = stall() != Stall::kNone;
        if (metrics_.stalled.exchange(stalled) != stalled) {
            if (stalled) {
                log::error("vision.device_stalled", {{"reason", stalled_words()}});
            } else {
                log::info("vision.device_answers", {});
            }
        }
        if (stalled) give_up();
    }
}

void Pipeline::give_up() {
    Items waiting;
    std::vector<std::function<void(Outcome)>> asked;
    {
        const std::scoped_lock lock(mutex_);
        for (auto* queue : {&encoded_, &decoded_}) {
            for (auto& item : *queue) waiting.push_back(std::move(item));
            queue->clear();
        }
        // The device may still read the pictures of its batch: they stay.
        for (const auto& item : running_) {
            if (item->picture.done) asked.push_back(std::exchange(item->picture.done, nullptr));
        }
        count_waiting();
    }
    changed_.notify_all();
    for (auto& item : waiting) finish(std::move(item), 503, stalled_words());
    for (const auto& done : asked) done({.status = 503, .error = stalled_words()});
}

}  // namespace aliquot::vision_worker
