// SPDX-License-Identifier: Apache-2.0
#include "scaling/recent_metrics.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace aliquot::scaling {
namespace {

using Sample = RecentMetrics::Sample;
using std::chrono::nanoseconds;

constexpr double kWhole = static_cast<double>(telemetry::kMillion);
constexpr double kPercent = 100;

void add_up(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& more) {
    if (more) sum = sum.value_or(0) + *more;
}

struct Found {
    Subject subject;
    Sample sample;
    std::vector<std::string> parts;
    bool memory_known = true;
};

std::string key_of(const Subject& subject) {
    return subject.uid.empty() ? subject.namespace_name + "/" + subject.name : subject.uid;
}

void note_tenant(Found& found, const telemetry::Tenant& tenant, const std::string& part) {
    Sample& sample = found.sample;
    if (std::find(found.parts.begin(), found.parts.end(), part) == found.parts.end()) {
        found.parts.push_back(part);
        ++sample.parts;
    }
    sample.entitlement_ppm += tenant.entitlement_ppm;
    const telemetry::Amounts& amounts = tenant.amounts;
    const bool holds = tenant.entitlement_ppm > 0;
    if (holds && !amounts.busy_ns && !amounts.utilization_ppm) sample.use_known = false;
    if (holds && !amounts.memory_bytes) found.memory_known = false;
    sample.uses[part + "/" + tenant.owner.container + "/" + tenant.resource] = {
        .busy_ns = amounts.busy_ns,
        .utilization_ppm = amounts.utilization_ppm,
        .throttled_ns = tenant.throttled_ns};
    add_up(sample.memory_bytes, amounts.memory_bytes);
    if (tenant.memory_limit_bytes && amounts.memory_bytes) {
        add_up(sample.limited_bytes, amounts.memory_bytes);
        add_up(sample.limit_bytes, tenant.memory_limit_bytes);
    }
    add_up(sample.power_milliwatts, amounts.power_milliwatts);
    if (tenant.idle_ns)
        sample.idle_ns = std::min(sample.idle_ns.value_or(*tenant.idle_ns), *tenant.idle_ns);
}

/// A GPU as its node's "tenant".
void note_device(Found& node, const telemetry::Device& device) {
    Sample& sample = node.sample;
    ++sample.parts;
    sample.entitlement_ppm += telemetry::kMillion;
    if (!device.total.busy_ns && !device.total.utilization_ppm) sample.use_known = false;
    sample.uses[device.gpu.uuid.text] = {.busy_ns = device.total.busy_ns,
                                         .utilization_ppm = device.total.utilization_ppm,
                                         .throttled_ns = std::nullopt};
    add_up(sample.memory_bytes, device.total.memory_bytes);
    add_up(sample.power_milliwatts, device.total.power_milliwatts);
    if (!device.total.memory_bytes) node.memory_known = false;
}

/// All pods of a snapshot, by key, and the node itself under the empty key.
std::map<std::string, Found> look_into(const telemetry::Snapshot& snapshot,
                                       std::chrono::seconds stale_after) {
    std::map<std::string, Found> found;
    Found& node = found[""];
    node.subject = {.name = snapshot.node, .node = snapshot.node};
    node.sample.at = snapshot.at;
    for (const telemetry::Device& device : snapshot.devices) {
        // A GPU that does not answer keeps its last metrics: they are as old as they are.
        if (!device.read_at || snapshot.at - *device.read_at > stale_after) continue;
        note_device(node, device);
        node.sample.at = std::min(node.sample.at, *device.read_at);
        for (const telemetry::Part& part : device.parts) {
            const std::string name =
                device.gpu.uuid.text +
                (part.gpu_instance ? "/" + std::to_string(*part.gpu_instance) : "");
            for (const telemetry::Tenant& tenant : part.tenants) {
                if (tenant.ended) continue;
                Subject subject{.namespace_name = tenant.owner.pod_namespace,
                                .name = tenant.owner.pod,
                                .uid = tenant.owner.pod_uid,
                                .node = snapshot.node};
                if (subject.uid.empty() && subject.name.empty()) continue;
                const auto [entry, added] = found.try_emplace(key_of(subject));
                if (added) {
                    entry->second.subject = std::move(subject);
                    entry->second.sample.at = snapshot.at;
                }
                entry->second.sample.at = std::min(entry->second.sample.at, *device.read_at);
                note_tenant(entry->second, tenant, name);
            }
        }
    }
    for (auto& [key, one] : found) {
        if (!one.memory_known) one.sample.memory_bytes.reset();
    }
    return found;
}

/// How much a counter has grown; what was not there before has not.
double growth(const std::optional<std::uint64_t>& before, const std::optional<std::uint64_t>& now) {
    if (!before || !now) return 0;
    // Less than before: it began anew at 0.
    return static_cast<double>(*now >= *before ? *now - *before : *now);
}

std::int64_t thousandths(double value) { return std::llround(value * 1000); }

}  // namespace

void RecentMetrics::note(History& history, Sample sample, Instant seen) const {
    const bool again = !history.points.empty();
    if (again && sample.at == history.last.at) return;  // the agent has not looked since
    // A clock that was set back: begin anew.
    if (again && sample.at < history.last.at) history.points.clear();
    Point point{.at = sample.at};
    if (!history.points.empty()) {
        const Point& before = history.points.back();
        const double elapsed =
            static_cast<double>(nanoseconds(sample.at - history.last.at).count());
        point.busy_ns = before.busy_ns;
        point.throttled_ns = before.throttled_ns;
        for (const auto& [name, use] : sample.uses) {
            const auto old = history.last.uses.find(name);
            const Sample::Use none;
            const Sample::Use& last = old == history.last.uses.end() ? none : old->second;
            if (use.busy_ns && last.busy_ns) {
                point.busy_ns += growth(last.busy_ns, use.busy_ns);
            } else if (use.utilization_ppm) {
                point.busy_ns += static_cast<double>(*use.utilization_ppm) / kWhole * elapsed;
            }
            point.throttled_ns += growth(last.throttled_ns, use.throttled_ns);
        }
    }
    history.points.push_back(point);
    // One that is older than the window stays, so that the window is always covered.
    while (history.points.size() > 2 &&
           history.points[1].at <= history.points.back().at - options_.window) {
        history.points.pop_front();
    }
    history.last = std::move(sample);
    history.seen = seen;
}

void RecentMetrics::add(const telemetry::Snapshot& snapshot, Instant received) {
    auto found = look_into(snapshot, options_.stale_after);
    const std::scoped_lock lock(mutex_);
    for (auto& [key, one] : found) {
        auto& histories = key.empty() ? nodes_ : pods_;
        if (key.empty() && one.sample.parts == 0) continue;
        const std::string& id = key.empty() ? snapshot.node : key;
        if (histories.size() >= options_.most_pods && !histories.contains(id)) continue;
        History& history = histories[id];
        const Instant seen =
            received - std::chrono::duration_cast<Instant::duration>(snapshot.at - one.sample.at);
        // Moved to another node: its counters there are others.
        if (history.subject.node != one.subject.node) history.points.clear();
        history.subject = std::move(one.subject);
        note(history, std::move(one.sample), seen);
    }
}

std::optional<Value> RecentMetrics::value(Metric metric, const History& history,
                                          Instant now) const {
    if (history.points.empty() || now - history.seen > options_.stale_after) return std::nullopt;
    const Sample& sample = history.last;
    Value made{.subject = history.subject, .at = history.seen};
    const auto told = [&](double value) {
        made.thousandths = thousandths(value);
        return made;
    };
    const Point& last = history.points.back();
    const Point* first = &history.points.front();
    // The window's edge lies between two points.
    double busy = last.busy_ns - first->busy_ns;
    double throttled = last.throttled_ns - first->throttled_ns;
    double elapsed = static_cast<double>(nanoseconds(last.at - first->at).count());
    const double window = static_cast<double>(nanoseconds(options_.window).count());
    if (elapsed > window && history.points.size() > 1) {
        const Point& second = history.points[1];
        const double step = static_cast<double>(nanoseconds(second.at - first->at).count());
        const double beyond = std::min(1.0, (elapsed - window) / step);
        busy -= (second.busy_ns - first->busy_ns) * beyond;
        throttled -= (second.throttled_ns - first->throttled_ns) * beyond;
        elapsed -= step * beyond;
    }
    double utilization_ppm = 0;
    for (const auto& [name, use] : sample.uses) {
        utilization_ppm += static_cast<double>(use.utilization_ppm.value_or(0));
    }
    // Parts of the time, summed over the parts: by the counters, else as the agent told it.
    const bool counted = elapsed > 0;
    const double used = counted ? busy / elapsed : utilization_ppm / kWhole;
    const auto smoothed = [&](double value) {
        made.window =
            counted ? std::max(std::chrono::seconds(1), std::chrono::round<std::chrono::seconds>(
                                                            nanoseconds(std::llround(elapsed))))
                    : std::chrono::seconds(1);
        return told(value);
    };
    switch (metric) {
        case Metric::kUtilization:
            if (!sample.use_known || sample.parts == 0) return std::nullopt;
            return smoothed(used / sample.parts * kPercent);
        case Metric::kShareUtilization:
            if (!sample.use_known || sample.entitlement_ppm == 0) return std::nullopt;
            return smoothed(used / (static_cast<double>(sample.entitlement_ppm) / kWhole) *
                            kPercent);
        case Metric::kThrottledRatio: {
            const auto metered =
                std::count_if(sample.uses.begin(), sample.uses.end(),
                              [](const auto& use) { return use.second.throttled_ns.has_value(); });
            if (metered == 0 || !counted) return std::nullopt;
            return smoothed(throttled / elapsed / static_cast<double>(metered));
        }
        case Metric::kMemoryUsed:
            if (!sample.memory_bytes) return std::nullopt;
            return told(static_cast<double>(*sample.memory_bytes));
        case Metric::kMemoryLimitRatio:
            if (!sample.limit_bytes || *sample.limit_bytes == 0) return std::nullopt;
            return told(static_cast<double>(sample.limited_bytes.value_or(0)) /
                        static_cast<double>(*sample.limit_bytes));
        case Metric::kIdleSeconds:
            if (!sample.idle_ns) return std::nullopt;
            return told(static_cast<double>(*sample.idle_ns) / 1e9);
        case Metric::kPower:
            if (!sample.power_milliwatts) return std::nullopt;
            made.thousandths = static_cast<std::int64_t>(*sample.power_milliwatts);
            return made;
    }
    return std::nullopt;
}

std::vector<Value> RecentMetrics::pods(Metric metric, std::string_view namespace_name,
                                       Instant now) const {
    const std::scoped_lock lock(mutex_);
    std::vector<Value> values;
    for (const auto& [key, history] : pods_) {
        const Subject& subject = history.subject;
        if (subject.namespace_name != namespace_name && !subject.namespace_name.empty()) continue;
        if (auto made = value(metric, history, now)) values.push_back(*std::move(made));
    }
    return values;
}

std::optional<Value> RecentMetrics::node(Metric metric, const std::string& name,
                                         Instant now) const {
    const std::scoped_lock lock(mutex_);
    const auto found = nodes_.find(name);
    return found == nodes_.end() ? std::nullopt : value(metric, found->second, now);
}

void RecentMetrics::sweep(Instant now) {
    const std::scoped_lock lock(mutex_);
    const auto stale = [&](const auto& entry) {
        return now - entry.second.seen > options_.stale_after;
    };
    std::erase_if(pods_, stale);
    std::erase_if(nodes_, stale);
}

RecentMetrics::Size RecentMetrics::size() const {
    const std::scoped_lock lock(mutex_);
    return {.nodes = nodes_.size(), .pods = pods_.size()};
}

}  // namespace aliquot::scaling
