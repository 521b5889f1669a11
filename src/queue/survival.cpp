// SPDX-License-Identifier: Apache-2.0
#include "queue/survival.h"

#include <algorithm>

namespace aliquot::queue {
namespace {

constexpr double kNone = 1e-9;

}  // namespace

void Survival::add_running(RunTimes::Key key, Time elapsed) {
    auto groups = times_.groups_of(key);
    std::sort(groups.begin(), groups.end());
    const auto last = std::unique(groups.begin(), groups.end());
    for (auto group = groups.begin(); group != last; ++group) running_[*group].push_back(elapsed);
}

Survival::Curve& Survival::curve(RunTimes::Key key) {
    const auto [found, fresh] = curves_.try_emplace(key);
    Curve& made = found->second;
    if (!fresh) return made;
    const std::vector<Time>& ended = times_.of_group(key);
    std::vector<Time>& running = running_[key];
    std::sort(running.begin(), running.end());
    double left = 1;
    std::size_t runs = ended.size() + running.size();  // that last longer than those before
    auto censored = running.begin();
    for (const Time end : ended) {
        for (; censored != running.end() && *censored < end; ++censored) --runs;
        left *= static_cast<double>(runs - 1) / static_cast<double>(runs);
        --runs;
        made.ends.push_back(end);
        made.left.push_back(left);
    }
    if (!ended.empty()) made.longest = ended.back();
    if (!running.empty()) made.longest = std::max(made.longest, running.back());
    return made;
}

std::optional<Time> Survival::at(RunTimes::Key key, Time elapsed, double place) {
    const Curve& found = curve(times_.speaker(key, elapsed));
    const auto first = std::upper_bound(found.ends.begin(), found.ends.end(), elapsed);
    const auto from = found.left.begin() + (first - found.ends.begin());
    const double left = from == found.left.begin() ? 1 : *std::prev(from);
    if (found.ends.empty() || left < kNone) return std::nullopt;
    const auto at = std::lower_bound(from, found.left.end(), left * (1 - place), std::greater<>{});
    // What outlasts all that ended goes on as long as the longest, or as long again.
    if (at == found.left.end()) return std::max(found.longest, 2 * elapsed);
    return found.ends[static_cast<std::size_t>(at - found.left.begin())];
}

std::optional<Time> Survival::mean(RunTimes::Key key, Time elapsed) {
    constexpr int kPlaces = 64;
    Curve& found = curve(times_.speaker(key, elapsed));
    if (elapsed == 0 && found.mean) return found.mean;
    Time sum = 0;
    for (int i = 0; i < kPlaces; ++i) {
        const auto one = at(key, elapsed, (i + 0.5) / kPlaces);
        if (!one) return std::nullopt;
        sum += *one / kPlaces;
    }
    if (elapsed == 0) found.mean = sum;
    return sum;
}

}  // namespace aliquot::queue
