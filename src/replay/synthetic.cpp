// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "replay/trace.h"

namespace aliquot::replay {
namespace {

constexpr double kDay = 86'400;
constexpr double kPi = 3.14159265358979323846;
constexpr double kMedian = 720;       // s, of the medians of all names
constexpr double kNameSpread = 1.8;   // sigma of the medians
constexpr double kRunSpread = 0.35;   // sigma of the runs of one name
constexpr double kBusierByDay = 0.5;  // from half to one and a half times the mean rate
constexpr unsigned kNamesPerUser = 5;
constexpr double kLongest = 14 * kDay;

struct Size {
    unsigned gpus;
    double part;
};
constexpr std::array kSizes =
    std::to_array<Size>({{1, 0.70}, {2, 0.78}, {4, 0.88}, {8, 0.98}, {16, 1}});

/// SplitMix64: the same numbers on every machine.
class Draw {
public:
    explicit Draw(std::uint64_t seed) : state_(seed) {}
    double uniform() {  // above 0, at most 1
        state_ += 0x9E3779B97F4A7C15ULL;
        std::uint64_t x = state_;
        x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
        x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
        return (static_cast<double>((x ^ (x >> 31U)) >> 11U) + 1) / 9007199254740992.0;
    }
    double normal() {
        const double radius = std::sqrt(-2 * std::log(uniform()));
        return radius * std::cos(2 * kPi * uniform());
    }

private:
    std::uint64_t state_;
};

/// What a user runs again and again.
struct Kind {
    unsigned gpus = 1;
    double median = kMedian;
};

Error out_of_range(const std::string& what, const std::string& value, const std::string& expected) {
    return {ErrorCode::kInvalidInput,
            "synthetic trace: " + what + " is " + value + ", expected " + expected};
}

}  // namespace

Result<Trace> synthetic(const Synthetic& wanted) {
    if (wanted.jobs == 0 || wanted.jobs > kMostJobs)
        return out_of_range("jobs", std::to_string(wanted.jobs), "1 to 5000000");
    if (!(wanted.load > 0) || wanted.load > 10)
        return out_of_range("load", std::to_string(wanted.load), "above 0, at most 10");
    if (wanted.users == 0 || wanted.users > 10'000)
        return out_of_range("users", std::to_string(wanted.users), "1 to 10000");
    if (wanted.gpus == 0 || wanted.gpus > kMostGpus)
        return out_of_range("gpus", std::to_string(wanted.gpus), "1 to 100000");
    Draw draw(wanted.seed);
    std::vector<Kind> kinds(std::size_t{wanted.users} * kNamesPerUser);
    for (Kind& kind : kinds) kind.median = kMedian * std::exp(kNameSpread * draw.normal());
    std::vector<double> users;  // sums of 1/rank
    double sum = 0;
    for (unsigned user = 1; user <= wanted.users; ++user) users.push_back(sum += 1.0 / user);
    Trace trace;
    double work = 0;
    for (std::size_t i = 0; i < wanted.jobs; ++i) {
        const double at = draw.uniform() * sum;
        const auto user = static_cast<std::size_t>(
            std::min(std::lower_bound(users.begin(), users.end(), at), users.end() - 1) -
            users.begin());
        const auto name =
            std::min(kNamesPerUser - 1, static_cast<unsigned>(draw.uniform() * kNamesPerUser));
        const double part = draw.uniform();
        unsigned gpus = kSizes.back().gpus;
        for (std::size_t s = kSizes.size(); s-- > 0;)
            if (part <= kSizes[s].part) gpus = kSizes[s].gpus;
        gpus = std::min(gpus, wanted.gpus);
        const double seconds = std::clamp(
            kinds[user * kNamesPerUser + name].median * std::exp(kRunSpread * draw.normal()), 1.0,
            kLongest);
        work += seconds * gpus;
        trace.jobs.push_back({.duration = std::llround(seconds * 1'000),
                              .gpus = gpus,
                              .user = "user-" + std::to_string(user + 1),
                              .name = "train-" + std::string(1, static_cast<char>('a' + name))});
    }
    // Arrivals over the time in which the cluster could do so much at this load, thinned by the hour.
    const double span = work / (wanted.load * wanted.gpus);
    for (TraceJob& job : trace.jobs) {
        double at = draw.uniform() * span;
        while (draw.uniform() * (1 + kBusierByDay) >
               1 + kBusierByDay * std::sin(2 * kPi * at / kDay))
            at = draw.uniform() * span;
        job.submit = std::llround(at * 1'000);
    }
    return in_order("synthetic trace", std::move(trace));
}

}  // namespace aliquot::replay
