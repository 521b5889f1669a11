// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "os/clock.h"
#include "vision/classes.h"
#include "vision/detections.h"
#include "vision/image.h"
#include "vision_worker/engine.h"
#include "vision_worker/metrics.h"

namespace aliquot::vision_worker {

/// What became of a picture.
struct Outcome {
    int status =
        200;  // as of HTTP: 400 the picture, 415 its format, 503 no room or no device, 504 too late
    std::string error;  // empty with 200
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::vector<vision::Detection> detections;
    std::vector<vision::ClassScore> classes;
    std::size_t batch = 0;             // pictures that ran together
    std::array<double, kStages> ms{};  // by Stage
};

/// A picture to look at.
struct Picture {
    std::shared_ptr<const std::string> owner;  // keeps the bytes
    std::string_view bytes;
    vision::DetectionLimits limits;
    std::size_t top = 5;
    std::function<void(Outcome)>
        done;  // called once, by any thread, at the latest at the pipeline's end
};

struct PipelineOptions {
    unsigned threads = 1;  // that decode and read answers
    std::size_t most_waiting = 1024;
    std::chrono::microseconds batch_wait{2000};
    std::chrono::milliseconds timeout{10'000};
    std::chrono::milliseconds run_limit{10'000};  // of the device for a batch
    vision::ImageLimits image_limits;
    std::uint64_t decode_bytes = std::uint64_t{512}
                                 << 20U;  // of all pictures that are decoded at once
};

/// Pictures on their way: they wait as they came, are decoded when a batch has room for them, leave in batches, and what
/// the model says is read beside the next batch. While the device does not answer within the limit, whoever waits is
/// answered 503 at once. Thread-safe.
class Pipeline {
public:
    Pipeline(Engine& engine, Metrics& metrics, const os::Clock& clock,
             const PipelineOptions& options);
    ~Pipeline();  // what still waits is answered 503; waits for the device
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;

    /// Takes all of them or, when they do not all have room, none.
    bool submit(std::vector<Picture> pictures);

    /// Several batches in a row have failed: a new process may do better.
    [[nodiscard]] bool is_stuck() const { return failed_batches_.load() >= 5; }
    /// Whether the device answers.
    [[nodiscard]] Stall stall() const {
        return metrics_.runs.stall(clock_.now(), options_.run_limit);
    }

private:
    struct Item {
        Picture picture;
        os::TimePoint arrived;
        os::TimePoint moved;  // into the queue that it is in
        Input input;
        RawAnswer answer;
        Outcome outcome;
    };
    using Items = std::vector<std::unique_ptr<Item>>;

    void work(const std::stop_token& stop);
    void decode(std::unique_ptr<Item> item);
    /// Nothing: the picture is ready for a batch.
    std::optional<Error> read_picture(Item& item);
    void read_answer(std::unique_ptr<Item> item);
    void drive(const std::stop_token& stop);
    Items next_batch(const std::stop_token& stop);
    void run(Items batch);
    void watch(const std::stop_token& stop);
    /// Answers whoever waits while the device does not.
    void give_up();
    [[nodiscard]] std::string stalled_words() const;
    void finish(std::unique_ptr<Item> item, int status, std::string error);
    void note(Item& item, Stage stage, os::TimePoint until);
    [[nodiscard]] bool is_late(const Item& item) const {
        return clock_.now() > item.arrived + options_.timeout;
    }
    void count_waiting();

    Engine& engine_;
    Metrics& metrics_;
    const os::Clock& clock_;
    const PipelineOptions options_;
    std::atomic<unsigned> failed_batches_{0};

    std::mutex mutex_;  // guards what follows
    std::condition_variable_any changed_;
    std::deque<std::unique_ptr<Item>> encoded_;
    std::deque<std::unique_ptr<Item>> decoded_;
    std::deque<std::unique_ptr<Item>> answered_;
    Items running_;  // those that were given up have no `done` any more
    std::condition_variable_any tick_;
    std::size_t decoding_ = 0;
    std::uint64_t decode_bytes_ = 0;
    bool ending_ = false;
    std::vector<std::jthread> threads_;  // last: they use all the others
};

}  // namespace aliquot::vision_worker
