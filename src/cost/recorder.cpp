// SPDX-License-Identifier: Apache-2.0
#include "cost/recorder.h"

#include <algorithm>
#include <utility>

#include "cost/row.h"

namespace aliquot::cost {
namespace {

constexpr std::string_view kMarkKey = "\n";  // no holder's key begins so

TimeMs window_end(TimeMs time) {
    const TimeMs past = ((time % Recorder::kWindow) + Recorder::kWindow) % Recorder::kWindow;
    return time - past + Recorder::kWindow;
}

std::string mark_key(const std::string& device) { return std::string(kMarkKey) + device; }
bool is_mark(const std::string& key) { return key.starts_with(kMarkKey); }

Span span_of(const NodeSight& sight, TimeMs begin, TimeMs end, Names& names) {
    Span span{.begin = begin,
              .end = end,
              .node = names.add(sight.name),
              .model = names.add(sight.model),
              .price = names.add(sight.price.version),
              .rate = sight.price.rate,
              .cpu_milli = sight.cpu_milli,
              .memory_mib = sight.memory_mib};
    for (const std::string& device : sight.devices) span.devices.push_back(names.add(device));
    return span;
}

void name_into(Interval& interval, const std::string& node, const Holding& of, History& history) {
    Names& names = history.names;
    interval.node = names.add(node);
    interval.device = names.add(of.device);
    interval.part = names.add(of.part);
    interval.owner = history.add({.space = names.add(of.space),
                                  .queue = names.add(of.queue),
                                  .user = names.add(of.user),
                                  .job = names.add(of.job),
                                  .pod = names.add(of.pod),
                                  .container = names.add(of.container),
                                  .workflow = names.add(of.workflow),
                                  .attempt = of.attempt});
}

}  // namespace

void Recorder::Sums::add(const Sums& more) {
    busy_us += more.busy_us;
    measured_us += more.measured_us;
    energy_millijoules += more.energy_millijoules;
    peak_mib = std::max(peak_mib, more.peak_mib);
    out_of_memory |= more.out_of_memory;
}

/// The time that counts for a node: not before what was seen last.
TimeMs Recorder::at(Watched& node, TimeMs now) const { return std::max(now, node.end); }

Interval Recorder::interval_of(const Live& live, const Sums& sums, TimeMs end) {
    const Holding& of = *live.of;
    Interval interval{.begin = live.begin,
                      .end = end,
                      .share = of.share,
                      .cpu_milli = of.cpu_milli,
                      .memory_mib = of.memory_mib,
                      .gpu_memory_mib = of.gpu_memory_mib,
                      .gpu_memory_peak_mib = sums.peak_mib,
                      .energy_millijoules = sums.energy_millijoules,
                      .state = live.state,
                      .out_of_memory = sums.out_of_memory};
    if (sums.measured_us != 0) {
        constexpr std::uint64_t kAll = 1'000'000;
        interval.busy_ppm = static_cast<std::uint32_t>(std::min(sums.busy_us, sums.measured_us) *
                                                       kAll / sums.measured_us);
    }
    return interval;
}

void Recorder::close(const std::string& node, const Live& live, const Sums& sums, TimeMs end,
                     bool out_of_memory) {
    if (end <= live.begin) return;
    Interval interval = interval_of(live, sums, end);
    interval.out_of_memory |= out_of_memory;
    pieces_.push_back({node, live.of, interval});
}

void Recorder::begin(Live& live, std::shared_ptr<const Holding> of, State state, TimeMs now) const {
    live = Live{};
    live.of = std::move(of);
    live.begin = live.end = live.window = now;
    live.state = state;
}

/// Up to `now`: windows that are over are judged, full hours end an interval.
void Recorder::advance(const std::string& node, Live& live, TimeMs now) {
    while (true) {
        const TimeMs next = window_end(live.window);
        if (now < next) break;
        const bool nobodys = live.state != State::kBusy && live.state != State::kIdle;
        const Sums& window = live.window_sums;
        if (!nobodys && window.measured_us != 0) {
            constexpr std::uint64_t kAll = 1'000'000;
            const bool idle = window.busy_us * kAll < window.measured_us * kIdlePpm;
            const State found = idle ? State::kIdle : State::kBusy;
            if (live.judged && found != live.state) {
                close(node, live, live.sums, live.window, false);
                live.begin = live.window;
                live.sums = {};
            }
            live.state = found;
            live.judged = true;
        }
        live.sums.add(std::exchange(live.window_sums, {}));
        live.window = next;
        if (hour_of(next) != next) continue;
        close(node, live, live.sums, next, false);
        live.begin = next;
        live.sums = {};
    }
    live.end = std::max(live.end, now);
}

void Recorder::close_span(const std::string& name, Watched& node, TimeMs end) {
    while (node.open && node.begin < end) {
        const TimeMs next = std::min(hour_of(node.begin) + kHourMs, end);
        spans_.push_back({node.sight, node.begin, next});
        spans_.back().sight.name = name;
        node.begin = next;
    }
}

void Recorder::mark(Watched& node, TimeMs now) {
    for (auto one = node.live.begin(); one != node.live.end();) {
        Live& live = one->second;
        const auto wanted = node.sight.marks.find(live.of->device);
        const bool stays = wanted != node.sight.marks.end() && wanted->second == live.state;
        if (!is_mark(one->first) || stays) {
            ++one;
            continue;
        }
        advance(node.sight.name, live, now);
        close(node.sight.name, live, live.sums, now, false);
        one = node.live.erase(one);
    }
    for (const auto& [device, state] : node.sight.marks) {
        Live& live = node.live[mark_key(device)];
        if (live.of == nullptr) {
            begin(live, std::make_shared<const Holding>(Holding{.device = device}), state, now);
        }
    }
}

void Recorder::watch(const NodeSight& sight, TimeMs now) {
    Watched& node = nodes_[sight.name];
    now = at(node, now);
    if (node.open && now - node.end > kMostGap) {
        // Nobody looked: what is known ends where it was seen last, and goes on from here.
        close_span(sight.name, node, node.end);
        node.begin = now;
        for (auto& [key, live] : node.live) {
            Sums sums = live.sums;
            sums.add(live.window_sums);
            close(sight.name, live, sums, live.end, false);
            begin(live, live.of, live.state, now);
        }
    }
    const NodeSight& before = node.sight;
    const bool other = before.price != sight.price || before.devices != sight.devices ||
                       before.model != sight.model || before.cpu_milli != sight.cpu_milli ||
                       before.memory_mib != sight.memory_mib;
    if (!node.open) {
        node.open = true;
        node.begin = now;
    } else if (other) {
        close_span(sight.name, node, now);
    } else {
        const TimeMs hour = hour_of(now);
        if (hour > node.begin) close_span(sight.name, node, hour);
    }
    node.sight = sight;
    node.end = now;
    mark(node, now);
    for (auto& [key, live] : node.live) advance(sight.name, live, now);
}

void Recorder::leave(const std::string& name, TimeMs now) {
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) return;
    Watched& node = found->second;
    now = std::min(at(node, now), node.end + kMostGap);
    for (auto& [key, live] : node.live) {
        advance(name, live, now);
        Sums sums = live.sums;
        sums.add(live.window_sums);
        close(name, live, sums, now, false);
    }
    close_span(name, node, now);
    nodes_.erase(found);
}

void Recorder::hold(const std::string& name, const std::string& key, const Holding& holding,
                    TimeMs now) {
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) return;
    Watched& node = found->second;
    now = at(node, now);
    if (now - node.end > kMostGap) now = node.end;  // until the node is seen again
    Live& live = node.live[key];
    if (live.of != nullptr) {
        if (*live.of == holding) return advance(name, live, now);
        advance(name, live, now);
        Sums sums = live.sums;
        sums.add(live.window_sums);
        close(name, live, sums, now, false);
    }
    begin(live, std::make_shared<const Holding>(holding), State::kBusy, now);
}

void Recorder::use(const std::string& name, const std::string& key, const Use& use, TimeMs now) {
    const auto node = nodes_.find(name);
    if (node == nodes_.end()) return;
    const auto found = node->second.live.find(key);
    if (found == node->second.live.end()) return;
    now = at(node->second, now);
    if (now - node->second.end > kMostGap) return;
    // What was used since the last look belongs to the window that it began in.
    found->second.window_sums.add({use.busy_us, use.measured_us, use.energy_millijoules,
                                   use.gpu_memory_mib, use.out_of_memory});
    advance(name, found->second, now);
}

void Recorder::release(const std::string& name, const std::string& key, TimeMs now,
                       bool out_of_memory) {
    const auto node = nodes_.find(name);
    if (node == nodes_.end()) return;
    const auto found = node->second.live.find(key);
    if (found == node->second.live.end()) return;
    Live& live = found->second;
    now = std::clamp(now, live.end, std::max(live.end, node->second.end + kMostGap));
    advance(name, live, now);
    Sums sums = live.sums;
    sums.add(live.window_sums);
    // Shorter than a window: what was measured of it says.
    if (!live.judged && sums.measured_us != 0) {
        constexpr std::uint64_t kAll = 1'000'000;
        live.state =
            sums.busy_us * kAll < sums.measured_us * kIdlePpm ? State::kIdle : State::kBusy;
    }
    close(name, live, sums, now, out_of_memory);
    node->second.end = std::max(node->second.end, now);
    node->second.live.erase(found);
}

std::vector<std::string> Recorder::keys(const std::string& name) const {
    std::vector<std::string> keys;
    const auto node = nodes_.find(name);
    if (node == nodes_.end()) return keys;
    for (const auto& [key, live] : node->second.live) {
        if (!is_mark(key)) keys.push_back(key);
    }
    return keys;
}

History Recorder::take() {
    History history;
    for (auto& [name, node] : nodes_) {
        // Something was seen of it after the hour in which it was watched last.
        const TimeMs hour = hour_of(node.end);
        if (node.open && hour > node.begin) close_span(name, node, hour);
    }
    for (const EndedSpan& one : std::exchange(spans_, {})) {
        history.spans.push_back(span_of(one.sight, one.begin, one.end, history.names));
    }
    const auto add = [&](const std::string& node, const Holding& of, Interval interval) {
        name_into(interval, node, of, history);
        history.intervals.push_back(interval);
    };
    for (const Piece& one : std::exchange(pieces_, {})) add(one.node, *one.of, one.interval);
    for (auto& [name, node] : nodes_) {
        if (node.begin < node.end) {
            history.spans.push_back(span_of(node.sight, node.begin, node.end, history.names));
        }
        for (auto& [key, live] : node.live) {
            if (live.begin >= live.end) continue;
            Sums sums = live.sums;
            sums.add(live.window_sums);
            add(name, *live.of, interval_of(live, sums, live.end));
        }
    }
    return history;
}

}  // namespace aliquot::cost
