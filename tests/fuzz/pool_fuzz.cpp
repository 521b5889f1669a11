// SPDX-License-Identifier: Apache-2.0
// Any bytes as a pool file: nothing crashes, places lie inside the text, and what is read holds what the format
// promises. The first line is a cron expression besides: its next tick is later and its last one is not.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "document/yaml.h"
#include "pools/read.h"
#include "pools/reconcile.h"

namespace {

void expect(bool holds) {
    if (!holds) std::abort();
}

void check_cron(std::string_view text) {
    using aliquot::pools::Cron;
    using aliquot::pools::Instant;
    using aliquot::pools::TimeZone;
    const auto cron = Cron::parse(text);
    if (!cron) return;
    const Instant now{std::chrono::seconds(1'800'000'000)};
    const auto next = TimeZone::utc().next_tick(*cron, now);
    expect(next && *next > now);  // one that never comes is refused
    expect(TimeZone::utc().last_tick(*cron, *next) == next);
}

constexpr std::size_t kMostObjectBytes = 16 << 10;

/// The object as an API server may hold it, with any status: what is decided stays within the pool's limits, and what is
/// written down is no news a moment later.
void check_look(const aliquot::document::Value& object) {
    using namespace aliquot::pools;
    const Instant now{std::chrono::seconds(1'800'000'000)};
    const auto round = look_at_pool(object, {}, {}, {}, now);
    if (!round.is_valid) return;
    const auto& pool = round.pool;
    expect(round.desired.nodes <= std::max(pool.max, pool.min));
    expect(round.desired.placeholders <= round.desired.nodes);
    const auto status = status_of(round, {}, object, now);
    expect(!is_news(status, status, now + std::chrono::seconds(1)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto lines = aliquot::lines_of(text);
    const auto read = aliquot::pools::read_pools(text);
    for (const auto& problem : read.problems) {
        expect(problem.mark.line <= lines.size() + 1);
        expect(!problem.message.empty() && problem.message.find('\n') == std::string::npos);
    }
    for (const auto& pool : read.pools) {
        expect(pool.min <= pool.max && pool.most_nodes() <= pool.max && !pool.name.empty());
        for (const auto& schedule : pool.schedules) expect(schedule.replicas <= pool.max);
    }
    if (!lines.empty()) check_cron(lines.front());
    if (text.size() < kMostObjectBytes) {
        for (const auto& object : aliquot::document::parse_yaml(text).documents) check_look(object);
    }
    return 0;
}
