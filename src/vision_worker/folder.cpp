// SPDX-License-Identifier: Apache-2.0
#include "vision_worker/folder.h"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "document/json.h"
#include "os/errno_error.h"
#include "os/root.h"
#include "vision_worker/service.h"

namespace aliquot::vision_worker {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostFiles = 1'000'000;

Result<std::vector<fs::path>> files_of(const std::string& folder) {
    std::error_code problem;
    fs::directory_iterator entries(folder, problem);
    if (problem) return os::error_from_errno(problem.value(), folder).during("--folder");
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : entries) {
        if (files.size() == kMostFiles) {
            return Error{ErrorCode::kInvalidInput,
                         folder + ": more than " + std::to_string(kMostFiles) + " files"};
        }
        if (entry.is_regular_file(problem)) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// Outcomes come in any order and leave in that of the files.
class Results {
public:
    Results(const Engine& engine, std::ostream& out) : engine_(engine), out_(out) {}

    void add(std::size_t index, std::string name, Outcome outcome) {
        {
            const std::scoped_lock lock(mutex_);
            done_.emplace(index, std::pair(std::move(name), std::move(outcome)));
            while (!done_.empty() && done_.begin()->first == next_) {
                const auto& [file, result] = done_.begin()->second;
                if (result.status != 200) ++failed_;
                out_ << to_json(engine_, file, result) << '\n';
                done_.erase(done_.begin());
                ++next_;
            }
        }
        changed_.notify_all();
    }
    /// Waits until no more than `most` are under way.
    void wait(std::size_t given, std::size_t most) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return given - next_ <= most; });
    }
    [[nodiscard]] std::size_t failed() const { return failed_; }

private:
    const Engine& engine_;
    std::ostream& out_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::size_t, std::pair<std::string, Outcome>> done_;
    std::size_t next_ = 0;
    std::size_t failed_ = 0;
};

}  // namespace

Result<std::size_t> look_through(const Settings& settings, const Engine& engine,
                                 Pipeline& pipeline) {
    const auto files = files_of(settings.folder);
    if (!files) return files.error();
    std::ofstream file;
    if (settings.results != "-") {
        file.open(settings.results);
        if (!file) return os::error_from_errno(errno, settings.results).during("--results");
    }
    std::ostream& out = settings.results == "-" ? std::cout : file;
    Results results(engine, out);
    const std::size_t ahead =
        std::min<std::size_t>(std::max<std::size_t>(engine.most() * 4, 8), settings.most_waiting);
    const os::Root root;
    for (std::size_t i = 0; i < files->size(); ++i) {
        const std::string name = (*files)[i].filename().native();
        results.wait(i, ahead - 1);
        auto bytes = root.read(fs::absolute((*files)[i]).native(), settings.most_body_bytes);
        if (!bytes) {
            results.add(i, name, {.status = 400, .error = bytes.error().message});
            continue;
        }
        const auto owner = std::make_shared<const std::string>(*std::move(bytes));
        std::vector<Picture> pictures;
        pictures.push_back({.owner = owner,
                            .bytes = *owner,
                            .limits = settings.limits,
                            .top = settings.top,
                            .done = [&results, i, name](Outcome outcome) {
                                results.add(i, name, std::move(outcome));
                            }});
        if (!pipeline.submit(std::move(pictures))) {
            results.add(i, name, {.status = 503, .error = "no room for the picture"});
        }
    }
    results.wait(files->size(), 0);
    out.flush();
    if (!out) return Error{ErrorCode::kUnavailable, settings.results + ": cannot be written"};
    return results.failed();
}

Result<Done> measure(const Settings& settings, Engine& engine) {
    using Clock = std::chrono::steady_clock;
    const Input grey{.numbers = std::vector<float>(vision::input_size(engine.form()), 0.447F)};
    const std::vector<const Input*> batch(engine.most(), &grey);
    std::vector<double> times;
    const auto from = Clock::now();
    const auto until = from + std::chrono::duration<double>(settings.bench_seconds);
    while (Clock::now() < until) {
        const auto began = Clock::now();
        if (auto answers = engine.run(batch); !answers) return std::move(answers).error();
        times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - began).count());
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - from).count();
    const std::size_t count = times.size();
    std::sort(times.begin(), times.end());
    const auto at = [&](double part) {
        return times[static_cast<std::size_t>(static_cast<double>(count - 1) * part)];
    };
    const document::Value value = document::make_mapping(
        {{"provider", engine.provider()},
         {"batch", batch.size()},
         {"batches", count},
         {"imagesPerSecond",
          document::make_number(static_cast<double>(count * batch.size()) / seconds, 2)},
         {"batchMilliseconds",
          document::make_mapping({{"p50", document::make_number(at(0.5), 3)},
                                  {"p99", document::make_number(at(0.99), 3)}})}});
    std::cout << document::to_json_line(value) << std::endl;
    return Done{};
}

}  // namespace aliquot::vision_worker
