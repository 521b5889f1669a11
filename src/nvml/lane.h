// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "nvml/call_thread.h"
#include "nvml/session.h"

namespace aliquot::nvml {

/// A thread with a session of its own. What hangs in one lane keeps no other lane waiting.
/// Thread-safe.
class Lane {
public:
    /// index   of the only GPU that is asked here; empty: any
    Lane(const std::shared_ptr<Attachment>& attachment, const os::Root& root,
         const DriverOptions& options, std::optional<unsigned> index)
        : Lane(attachment, std::make_shared<CallPosition>(nullptr), root, options, index) {}

    template <class T>
    using Question = std::function<Result<T>(Session&)>;

    /// A question on its way; its answer's place belongs to the job as well, which may finish long
    /// after whoever asked has gone.
    template <class T>
    struct Asked {
        std::shared_ptr<std::optional<Result<T>>> place;
        Result<CallThread::Begun> begun;
    };

    /// allowed   how long it may take before that is a Hang
    template <class T>
    Asked<T> begin(const std::string& what, std::chrono::milliseconds allowed,
                   Question<T> question) {
        auto place = std::make_shared<std::optional<Result<T>>>();
        auto begun = thread_.begin(what, allowed,
                                   [place, session = session_, question = std::move(question)] {
                                       place->emplace(question(*session));
                                   });
        return {std::move(place), std::move(begun)};
    }
    /// errors   as CallThread::run, and those of the question
    template <class T>
    Result<T> wait(const Asked<T>& asked, std::chrono::steady_clock::time_point end) {
        if (!asked.begun) return asked.begun.error();
        const auto done = thread_.wait(*asked.begun, end);
        if (!done) return done.error();
        return **std::move(asked.place);
    }
    template <class T>
    Result<T> ask(const std::string& what, std::chrono::milliseconds deadline,
                  Question<T> question) {
        const auto end = std::chrono::steady_clock::now() + deadline;
        return wait(begin<T>(what, deadline, std::move(question)), end);
    }

    [[nodiscard]] std::optional<Hang> hang() const { return thread_.monitor().hang(); }

private:
    Lane(const std::shared_ptr<Attachment>& attachment,
         const std::shared_ptr<CallPosition>& position, const os::Root& root,
         const DriverOptions& options, std::optional<unsigned> index)
        : session_(std::make_shared<Session>(attachment, position, root, options, index)),
          thread_(position, [session = session_] { session->end(); }) {}

    std::shared_ptr<Session> session_;
    CallThread thread_;  // last: its end comes first
};

}  // namespace aliquot::nvml
