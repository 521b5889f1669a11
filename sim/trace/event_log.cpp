// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/event_log.h"

#include <ostream>

namespace aliquot::sim::trace {

std::string csv_field(std::string_view text) {
    const bool plain = text.find_first_of(",\"\r\n") == std::string_view::npos &&
                       (text.empty() || (text.front() != ' ' && text.front() != '#' &&
                                         text.back() != ' ' && text.back() != '\t'));
    if (plain) return std::string(text);
    std::string field = "\"";
    for (const char c : text) {
        if (c == '"') field += '"';
        field += c;
    }
    return field + '"';
}

EventLog::EventLog(std::ostream& out, const Scenario& scenario, const placement::Engine& engine)
    : out_(out), scenario_(scenario), engine_(engine) {
    out_ << "event,arrival,row,task,placement,node,devices,mig_start\n";
}

void EventLog::line(const char* event, std::size_t arrival, std::uint32_t row,
                    const placement::Placement* place) {
    const Task& task = scenario_.tasks.tasks[row];
    out_ << event << ',' << arrival + 1 << ',' << row << ',' << csv_field(task.name) << ',';
    if (place == nullptr) {
        out_ << ",,,\n";
        return;
    }
    out_ << place->id << ',' << csv_field(engine_.node(place->node).name) << ',';
    const char* separator = "";
    for (const std::uint8_t device : place->devices) {
        out_ << separator << unsigned{device};
        separator = " ";
    }
    out_ << ',';
    if (!task.request.mig_profile.empty()) out_ << unsigned{place->mig_start};
    out_ << '\n';
}

void EventLog::write(const Replay::Step& step) {
    for (const placement::PlacementId id : step.left) {
        const auto gone = live_.find(id);
        if (gone == live_.end()) continue;
        line("leave", step.arrival, gone->second.row, &gone->second.place);
        live_.erase(gone);
    }
    const auto placed_late = [&](const Replay::Step::Late& late) {
        line("place", step.arrival, late.row, &late.place);
        live_[late.place.id] = {late.row, late.place};
    };
    for (const Replay::Step::Late& late : step.patient) placed_late(late);
    if (step.places.empty()) line(step.waits ? "wait" : "drop", step.arrival, step.row, nullptr);
    for (const placement::Placement& place : step.places) {
        line("place", step.arrival, step.row, &place);
        live_[place.id] = {step.row, place};
    }
    if (step.moved) {
        for (auto& [id, live] : live_) {
            auto now = engine_.placement_of(id);
            if (!now || (now->node == live.place.node && now->devices == live.place.devices &&
                         now->mig_start == live.place.mig_start)) {
                continue;
            }
            live.place = *std::move(now);
            line("move", step.arrival, live.row, &live.place);
        }
    }
    for (const Replay::Step::Late& late : step.late) placed_late(late);
}

}  // namespace aliquot::sim::trace
