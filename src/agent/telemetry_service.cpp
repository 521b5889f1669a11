// SPDX-License-Identifier: Apache-2.0
#include "agent/telemetry_service.h"

#include <unistd.h>

#include <algorithm>

#include "agent/paths.h"
#include "base/log.h"
#include "exposition/render.h"
#include "os/host_name.h"
#include "telemetry/json.h"

namespace aliquot::agent {
namespace {

constexpr std::chrono::seconds kSilence{30};  // of the sampler, before /health says so
constexpr std::chrono::seconds kBetweenCounterLooks{1};

constexpr std::size_t kMostCounters = 16U << 20U;
constexpr std::uint32_t kCountersMode = 0600;

telemetry::SamplerOptions sampler_options(const TelemetryOptions& options) {
    return {.interval = options.interval,
            .deadline = std::max(options.interval * 4 / 5, std::chrono::milliseconds(50)),
            .node = options.node.empty() ? os::host_name("localhost") : options.node,
            .price_per_gpu_hour = options.price_per_gpu_hour};
}

}  // namespace

telemetry::Offered offered_devices(const sharing::Offer& offer) {
    telemetry::Offered offered;
    for (const sharing::Resource& resource : offer.resources) {
        for (const sharing::OfferedGpu& one : resource.gpus) {
            telemetry::OfferedDevice device{.resource = resource.name,
                                            .mechanism = one.mechanism(),
                                            .replicas = one.replicas,
                                            .limits = one.limits,
                                            .shares = one.shares};
            offered.insert_or_assign(one.uuid().text, std::move(device));
        }
    }
    return offered;
}

TelemetryService::TelemetryService(const os::Root& root, os::Clock& clock, Sources sources,
                                   TelemetryOptions options)
    : root_(root),
      clock_(clock),
      sources_(std::move(sources)),
      options_(std::move(options)),
      census_(root, clock, {}, sources_.holders),
      sampler_(clock,
               {.meters = sources_.meters,
                .census = census_,
                .observed = [this] { return observed(); },
                .keep = [this](const telemetry::Snapshot& snapshot) { keep(snapshot); }},
               sampler_options(options_)) {}

void TelemetryService::keep(const telemetry::Snapshot& snapshot) {
    const auto kept =
        root_.write_atomically(kCounters, telemetry::to_json(snapshot), kCountersMode);
    const std::string problem = kept ? "" : kept.error().message;
    if (!kept && problem != keep_problem_) {
        log::warning("metrics.counters_not_kept",
                     {{"why", problem}, {"effect", "they begin anew when the agent restarts"}});
    }
    keep_problem_ = problem;
}

void TelemetryService::resume() {
    const auto text = root_.read(kCounters, kMostCounters);
    if (!text) return;  // the first agent since the node started
    auto kept = telemetry::parse_state(*text);
    if (kept) return sampler_.resume(*std::move(kept));
    log::warning("metrics.counters_refused", {{"file", kCounters},
                                              {"why", kept.error().message},
                                              {"effect", "the counters of pods begin anew"}});
}

void TelemetryService::start() {
    resume();
    sampler_.start();
    read_counters();
}

void TelemetryService::apply(const sharing::Offer& offer) {
    auto offered = std::make_shared<const telemetry::Offered>(offered_devices(offer));
    const std::scoped_lock lock(mutex_);
    offered_ = std::move(offered);
}

void TelemetryService::set_guard(std::shared_ptr<const GuardSnapshot> snapshot) {
    const std::scoped_lock lock(mutex_);
    guard_ = std::move(snapshot);
}

std::optional<pods::Owner> TelemetryService::owner_of(pid_t pid) {
    pods::Belonging belonging = census_.belonging_of(static_cast<std::uint32_t>(pid));
    if (belonging.kind != pods::Belonging::Kind::kPod) return std::nullopt;
    return std::move(belonging.owner);
}

telemetry::Observed TelemetryService::observed() const {
    telemetry::Observed observed;
    if (const auto seen = sources_.observations.get().value) {
        observed.inventory = seen->inventory;
        observed.driver_problem = seen->driver_problem;
        observed.last_xids = seen->xids;
        observed.xids = seen->xid_counts;
    }
    const std::scoped_lock lock(mutex_);
    observed.offered = offered_;
    if (guard_) {
        observed.regions = std::shared_ptr<const std::vector<guard_region::RegionStatus>>(
            guard_, &guard_->regions);
    }
    return observed;
}

void TelemetryService::read_counters() {
    if (options_.counters.empty()) return;
    {
        const std::scoped_lock lock(mutex_);
        if (clock_.now() - counters_looked_ < kBetweenCounterLooks && counters_) return;
        counters_looked_ = clock_.now();
    }
    const auto status = root_.status(options_.counters);
    const auto identity = status ? std::optional(status->identity) : std::nullopt;
    {
        const std::scoped_lock lock(mutex_);
        if (identity && identity == counters_identity_) return;
        counters_identity_ = identity;
    }
    const auto text = root_.read(options_.counters);
    auto list = text ? exposition::parse_counters(options_.counters, *text) : text.error();
    if (!list) {
        log::error("metrics.counters_refused",
                   {{"why", list.error().message}, {"serving", "what was served before"}});
        return;
    }
    for (const std::string& warning : list->warnings) {
        log::warning("metrics.counters", {{"what", warning}});
    }
    const std::scoped_lock lock(mutex_);
    counters_ = std::make_shared<const exposition::CounterList>(*std::move(list));
    for (Page& page : pages_) page.version = 0;
}

std::string TelemetryService::make(Kind kind, const telemetry::Snapshot& snapshot) const {
    if (kind == kState) return telemetry::to_json(snapshot) + "\n";
    exposition::Style style = options_.style;
    style.format = kind == kText ? exposition::Format::kText : exposition::Format::kOpenMetrics;
    {
        const std::scoped_lock lock(mutex_);
        style.counters = counters_;
    }
    exposition::Own own = exposition::read_own();
    own.scrapes = scrapes_.load();
    own.scrape_bytes = last_.scrape_bytes;
    own.scrape_ns = last_.scrape_ns;
    const auto begun = std::chrono::steady_clock::now();
    std::string text = exposition::render(snapshot, style, own);
    const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - begun;
    last_.scrape_ns = static_cast<std::uint64_t>(taken.count());
    last_.scrape_bytes = text.size();
    return text;
}

std::shared_ptr<const std::string> TelemetryService::page(Kind kind) const {
    const auto seen = sampler_.snapshots().get();
    if (!seen.value) return nullptr;
    const std::scoped_lock making(making_);
    {
        const std::scoped_lock lock(mutex_);
        const Page& known = pages_.at(kind);
        if (known.version >= seen.version) return known.text;
    }
    auto text = std::make_shared<const std::string>(make(kind, *seen.value));
    const std::scoped_lock lock(mutex_);
    pages_.at(kind) = {.version = seen.version, .text = text};
    return text;
}

http::Response TelemetryService::answer(Kind kind, std::string_view content_type) const {
    auto text = page(kind);
    if (!text) return {.status = 503, .body = "the GPUs have not been measured yet\n"};
    return {.content_type = std::string(content_type), .shared_body = std::move(text)};
}

http::Response TelemetryService::state() const { return answer(kState, "application/json"); }

http::Response TelemetryService::metrics() const {
    return answer(kText, exposition::content_type(exposition::Format::kText));
}

http::Response TelemetryService::scrape(const http::Request& request) {
    ++scrapes_;
    read_counters();
    const auto format = exposition::choose_format(request.header("accept"));
    return answer(format == exposition::Format::kText ? kText : kOpenMetrics,
                  exposition::content_type(format));
}

http::Response TelemetryService::health() const {
    const auto seen = sampler_.snapshots().get().value;
    if (!seen) return {.status = 503, .body = "the GPUs have not been measured yet\n"};
    const auto age = std::chrono::system_clock::now() - seen->at;
    if (age < kSilence) return {.body = "ok\n"};
    return {.status = 503, .body = "nothing was measured for over half a minute\n"};
}

}  // namespace aliquot::agent
