// SPDX-License-Identifier: Apache-2.0
#include "kube_client/event_recorder.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/json_text.h"
#include "base/log.h"
#include "base/time_text.h"
#include "kube_client/rate_limiter.h"

namespace aliquot::kube_client {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kMostNote = 1024;
constexpr std::size_t kMostDifferent = 10;
constexpr std::string_view kCombined = "(combined from similar events)";

/// At most `most` bytes, never half a UTF-8 character.
std::string cut(std::string text, std::size_t most) {
    if (text.size() <= most) return text;
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
    text.resize(most);
    return text;
}

std::string json_of(const ObjectReference& object) {
    std::string json = R"({"apiVersion":)" + json_quoted(object.api_version) + R"(,"kind":)" +
                       json_quoted(object.kind) + R"(,"name":)" + json_quoted(object.name);
    if (!object.namespace_name.empty()) {
        json += R"(,"namespace":)" + json_quoted(object.namespace_name);
    }
    if (!object.uid.empty()) json += R"(,"uid":)" + json_quoted(object.uid);
    return json + "}";
}

std::string subject_of(const EventNote& note) {
    const ObjectReference& object = note.regarding;
    return object.kind + "\n" + object.namespace_name + "\n" + object.name + "\n" + object.uid;
}

/// An Event's name: the object's, and the moment in hex.
std::string name_for(const ObjectReference& object) {
    constexpr std::size_t kMostName = 200;  // of 253, the rest for the moment
    constexpr std::string_view kHex = "0123456789abcdef";
    static std::atomic<std::uint64_t> last{0};
    auto moment =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                       std::chrono::system_clock::now().time_since_epoch())
                                       .count());
    std::uint64_t seen = last.load();
    do {
        moment = std::max(moment, seen + 1);
    } while (!last.compare_exchange_weak(seen, moment));
    std::string name = cut(object.name, kMostName) + ".";
    for (int shift = 60; shift >= 0; shift -= 4) name += kHex[(moment >> unsigned(shift)) & 15U];
    return name;
}

}  // namespace

class EventRecorder::Work {
public:
    Work(Api& api, EventRecorderOptions options)
        : api_(api),
          options_(std::move(options)),
          thread_([this](const std::stop_token& stop) { run(stop); }) {
        pthread_setname_np(thread_.native_handle(), "kube-events");
    }

    void record(EventNote note) {
        note.note = cut(std::move(note.note), kMostNote);
        {
            const std::scoped_lock lock(mutex_);
            if (waiting_.size() >= options_.most_waiting) {
                ++counts_.dropped;
                return;
            }
            waiting_.push_back(std::move(note));
        }
        changed_.notify_all();
    }

    bool flush(std::chrono::milliseconds timeout) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, timeout, [this] { return waiting_.empty() && !busy_; });
    }

    [[nodiscard]] EventCounts counts() const {
        const std::scoped_lock lock(mutex_);
        return counts_;
    }

private:
    struct Series {
        EventNote note;
        ObjectKey event;               // its name on the server; empty name: it was not written
        std::uint64_t count = 1;       // told and untold
        std::uint64_t told = 1;        // what the server knows
        SteadyClock::time_point last;  // repetition
        std::chrono::system_clock::time_point last_wall;
        SteadyClock::time_point written;
    };
    struct Similar {
        std::set<std::string> notes;
        SteadyClock::time_point since;
    };

    void run(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            std::optional<EventNote> note;
            {
                std::unique_lock lock(mutex_);
                changed_.wait_for(lock, stop, std::chrono::seconds(1),
                                  [this] { return !waiting_.empty(); });
                if (stop.stop_requested()) break;
                note = next_locked();
            }
            if (note) write(std::move(*note), {.stop = stop});
            tend(false, stop);
            idle();
        }
        finish();
    }

    std::optional<EventNote> next_locked() {
        if (waiting_.empty()) return {};
        std::optional<EventNote> note(std::move(waiting_.front()));
        waiting_.pop_front();
        busy_ = true;
        return note;
    }

    void idle() {
        const std::scoped_lock lock(mutex_);
        busy_ = false;
        changed_.notify_all();
    }

    /// At the end: what still waits, for a short while.
    void finish() {
        const auto until = SteadyClock::now() + std::chrono::seconds(2);
        while (SteadyClock::now() < until) {
            std::optional<EventNote> note;
            {
                const std::scoped_lock lock(mutex_);
                note = next_locked();
            }
            if (!note) break;
            write(std::move(*note), {.deadline = std::chrono::seconds(1)});
        }
    }

    /// The series a note belongs to, by all that makes it the same.
    std::string key_of(EventNote& note) {
        const std::string subject = subject_of(note) + "\n" + note.reason;
        const auto now = SteadyClock::now();
        Similar& similar =
            similar_.try_emplace(subject, Similar{.notes = {}, .since = now}).first->second;
        if (now - similar.since > options_.series_end) similar = {.notes = {}, .since = now};
        if (!similar.notes.contains(note.note)) {
            if (similar.notes.size() < kMostDifferent) {
                similar.notes.insert(note.note);
            } else {
                note.note = cut(std::string(kCombined) + ": " + note.note, kMostNote);
                return subject + "\n" + note.action + "\n" + std::string(kCombined);
            }
        }
        return subject + "\n" + note.action + "\n" + note.note;
    }

    void write(EventNote note, const Call& call) {
        const std::string key = key_of(note);
        const auto now = SteadyClock::now();
        const auto found = series_.find(key);
        if (found != series_.end() && now - found->second.last <= options_.series_end) {
            Series& series = found->second;
            ++series.count;
            series.last = now;
            series.last_wall = std::chrono::system_clock::now();
            if (now - series.written >= options_.series_pause) tell(series, call);
            return;
        }
        if (series_.size() >= options_.most_series) tend(true, {});
        const auto limiter = limiters_.try_emplace(
            subject_of(note), options_.burst, 1.0 / static_cast<double>(options_.refill.count()));
        if (limiter.first->second.take(now, RateLimiter::Wait(0)) > RateLimiter::Wait(0)) {
            count(&EventCounts::dropped);
            return;
        }
        Series series{.note = std::move(note),
                      .event = {},
                      .last = now,
                      .last_wall = std::chrono::system_clock::now(),
                      .written = now};
        create(series, call);
        series_.insert_or_assign(key, std::move(series));
    }

    void create(Series& series, const Call& call) {
        const EventNote& note = series.note;
        // An Event about something of the whole cluster lives in "default".
        const std::string& own = note.regarding.namespace_name;
        const ObjectKey key{own.empty() ? "default" : own, name_for(note.regarding)};
        const std::string json =
            R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":)" +
            json_quoted(key.name) + R"(,"namespace":)" + json_quoted(key.namespace_name) +
            R"(},"eventTime":)" + json_quoted(rfc3339_micro(series.last_wall)) +
            R"(,"reportingController":)" + json_quoted(options_.controller) +
            R"(,"reportingInstance":)" + json_quoted(cut(options_.instance, 128)) +
            R"(,"action":)" + json_quoted(cut(note.action, 128)) + R"(,"reason":)" +
            json_quoted(cut(note.reason, 128)) + R"(,"regarding":)" + json_of(note.regarding) +
            R"(,"note":)" + json_quoted(note.note) + R"(,"type":)" +
            (note.warning ? R"("Warning")" : R"("Normal")") + "}";
        auto made = api_.create(resources::events(), key.namespace_name, json, {.call = call});
        if (made) {
            series.event = key;
            count(&EventCounts::created);
            return;
        }
        log::warning("kube.event_lost",
                     {{"reason", note.reason}, {"failure", made.failure().message}});
        count(&EventCounts::dropped);
    }

    /// Tells the server how often it has happened by now.
    void tell(Series& series, const Call& call) {
        series.written = SteadyClock::now();
        if (series.event.name.empty()) {  // the first was lost: this one stands for all
            create(series, call);
            return;
        }
        const std::string body = R"({"series":{"count":)" + std::to_string(series.count) +
                                 R"(,"lastObservedTime":)" +
                                 json_quoted(rfc3339_micro(series.last_wall)) + "}}";
        auto done = api_.patch(resources::events(), series.event, body,
                               {.kind = PatchKind::kMerge, .write = {.call = call}});
        if (done) {
            series.told = series.count;
            count(&EventCounts::updated);
        } else if (done.failure().is(Reason::kNotFound)) {  // an hour has passed
            create(series, call);
            series.told = series.count;
        }
    }

    /// Writes counts that are due, closes series that have ended. crowded: also the oldest tenth.
    void tend(bool crowded, const std::stop_token& stop) {
        const auto now = SteadyClock::now();
        if (!crowded && now - tended_ < std::chrono::seconds(1)) return;
        tended_ = now;
        for (auto at = series_.begin(); at != series_.end();) {
            Series& series = at->second;
            const bool over = now - series.last > options_.series_end;
            if (series.told != series.count && !stop.stop_requested() &&
                (over || now - series.written >= options_.series_pause)) {
                tell(series, {.stop = stop});
            }
            at = over ? series_.erase(at) : std::next(at);
        }
        std::erase_if(similar_, [&](const auto& entry) {
            return now - entry.second.since > options_.series_end;
        });
        if (!crowded) return;
        while (series_.size() > options_.most_series * 9 / 10) {
            series_.erase(std::min_element(
                series_.begin(), series_.end(),
                [](const auto& a, const auto& b) { return a.second.last < b.second.last; }));
        }
        // A bucket that is forgotten is full again: no more than `burst` Events too many.
        if (limiters_.size() > options_.most_series) limiters_.clear();
    }

    void count(std::uint64_t EventCounts::*which) {
        const std::scoped_lock lock(mutex_);
        ++(counts_.*which);
    }

    Api& api_;
    const EventRecorderOptions options_;
    // Of the thread.
    std::map<std::string, Series> series_;
    std::map<std::string, Similar> similar_;
    std::map<std::string, RateLimiter> limiters_;
    SteadyClock::time_point tended_{};

    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<EventNote> waiting_;
    bool busy_ = false;
    EventCounts counts_;
    std::jthread thread_;
};

EventRecorder::EventRecorder(Api& api, EventRecorderOptions options)
    : work_(std::make_unique<Work>(api, std::move(options))) {}
EventRecorder::~EventRecorder() = default;
void EventRecorder::record(EventNote note) { work_->record(std::move(note)); }
bool EventRecorder::flush(std::chrono::milliseconds timeout) { return work_->flush(timeout); }
EventCounts EventRecorder::counts() const { return work_->counts(); }

}  // namespace aliquot::kube_client
