// SPDX-License-Identifier: Apache-2.0
#include "placement/workload.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"

namespace aliquot::placement {
namespace {

/// What makes two tasks the same kind: memory and constraints by label are not looked at.
Request shape_of(const Request& request) {
    Request shape;
    shape.cpu_milli = request.cpu_milli;
    shape.gpus = request.gpus;
    shape.milli = request.milli;
    shape.mib = request.mib;
    shape.mig_profile = request.mig_profile;
    shape.models = request.models;
    return shape;
}

std::string model_list(const Request& request) {
    std::string text = join(request.models, "|");
    return text;
}

// The published order of equally popular shapes; the fields it does not know come last.
auto order_of(const Request& request) {
    return std::make_tuple(request.cpu_milli, request.milli, request.gpus, model_list(request),
                           request.mib, request.mig_profile);
}

using Counted = std::pair<Request, double>;

/// The first of a group, which is in the order of CPU, and those that ask for at most a quarter more.
std::span<const Counted* const> of_one_size(std::span<const Counted* const> group) {
    const std::int64_t smallest = group.front()->first.cpu_milli;
    const auto larger = std::ranges::find_if(group, [smallest](const Counted* one) {
        return std::int64_t{one->first.cpu_milli} * 4 > smallest * 5;
    });
    return group.first(static_cast<std::size_t>(larger - group.begin()));
}

TaskType seldom_type(std::span<const Counted* const> group, double unit) {
    double all = 0;
    for (const auto* one : group) all += one->second;
    double covered = 0;
    const Request* median = nullptr;
    for (const auto* one : group) {
        median = &one->first;
        covered += one->second;
        if (covered * 2 >= all) break;
    }
    return {.request = *median, .popularity = 0, .seldom = all * unit};
}

/// One type for all that ask for as many whole GPUs of the same models and about as much CPU: who asks
/// for more finds room on fewer nodes, which nothing would keep.
std::vector<TaskType> seldom_types(std::span<const Counted> rest, double unit) {
    using Key = std::pair<unsigned, std::string>;
    std::map<Key, std::vector<const Counted*>> groups;
    for (const auto& one : rest)
        if (one.first.gpus > 1) groups[{one.first.gpus, model_list(one.first)}].push_back(&one);
    std::vector<TaskType> types;
    for (auto& [key, group] : groups) {
        std::sort(group.begin(), group.end(), [](const auto* a, const auto* b) {
            return order_of(a->first) < order_of(b->first);
        });
        for (std::span<const Counted* const> left = group; !left.empty();) {
            const auto same = of_one_size(left);
            types.push_back(seldom_type(same, unit));
            left = left.subspan(same.size());
        }
    }
    return types;
}

std::vector<TaskType> most_popular(std::vector<Counted> shapes, double share) {
    std::sort(shapes.begin(), shapes.end(), [](const auto& a, const auto& b) {
        if (a.second != b.second) return a.second > b.second;
        return order_of(b.first) < order_of(a.first);
    });
    double total = 0;
    for (const auto& shape : shapes) total += shape.second;
    // As the published artefact computes it, so that sums agree to the last bit.
    const double wanted = share * 100.0 * total / 100.0;
    double covered = 0;
    std::vector<TaskType> types;
    for (const auto& [shape, weight] : shapes) {
        if (covered >= wanted) break;
        covered += weight;
        types.push_back({.request = shape, .popularity = weight / total});
    }
    if (types.size() == shapes.size()) return types;
    for (TaskType& type : types) type.popularity /= covered / total;
    const auto rest = std::span(shapes).subspan(types.size());
    for (TaskType& type : seldom_types(rest, 1 / covered)) types.push_back(std::move(type));
    return types;
}

}  // namespace

bool ArrivalHistory::Less::operator()(const Request& a, const Request& b) const {
    return order_of(a) < order_of(b);
}

std::vector<TaskType> typical_types(std::span<const std::pair<Request, double>> tasks,
                                    double share) {
    const auto less = [](const Request& a, const Request& b) { return order_of(a) < order_of(b); };
    std::map<Request, double, decltype(less)> counts(less);
    for (const auto& [request, weight] : tasks)
        if (weight > 0) counts[shape_of(request)] += weight;
    return most_popular({counts.begin(), counts.end()}, share);
}

void ArrivalHistory::arrived(const Request& request) {
    constexpr double kRescale = 1e12;
    ++arrivals_;
    // 2^(1/half_life) to first order: only products and sums, so that every machine agrees.
    if (half_life_ > 0) unit_ += unit_ * (0.6931471805599453 / half_life_);
    counts_[shape_of(request)] += unit_;
    if (unit_ < kRescale) return;
    // Newest arrivals count 1 again; what has become too old to matter is forgotten.
    for (auto entry = counts_.begin(); entry != counts_.end();) {
        entry->second /= unit_;
        entry = entry->second < 1e-6 ? counts_.erase(entry) : std::next(entry);
    }
    unit_ = 1;
}

std::vector<TaskType> ArrivalHistory::types(double share) const {
    return most_popular({counts_.begin(), counts_.end()}, share);
}

}  // namespace aliquot::placement
