// SPDX-License-Identifier: Apache-2.0
#include "top/actions.h"

#include <algorithm>
#include <array>

#include "base/number.h"
#include "top/history.h"
#include "top/text.h"

namespace aliquot::top {
namespace {

using std::chrono::milliseconds;

constexpr std::array<milliseconds, 7> kPaces{
    milliseconds{500},    milliseconds{1000},   milliseconds{2000},  milliseconds{5000},
    milliseconds{10'000}, milliseconds{30'000}, milliseconds{60'000}};

/// Of "g/UUID/.../pid 4711": 4711. 0: the row is no process.
std::uint32_t pid_of(const Row& row) {
    constexpr std::string_view kMark = "/pid ";
    const std::size_t at = row.key.rfind(kMark);
    if (at == std::string::npos) return 0;
    return parse_number<std::uint32_t>(std::string_view(row.key).substr(at + kMark.size()))
        .value_or(0);
}

/// Whether the process is one of this machine's: only its own agent's are known by name.
bool is_here(const ClusterSnapshot& cluster, const std::string& node, std::uint32_t pid) {
    return std::ranges::any_of(cluster.agents, [&](const Agent& agent) {
        return agent.snapshot && agent.snapshot->node == node && agent.processes.contains(pid);
    });
}

}  // namespace

std::string to_text(const Request& request) {
    const std::string pod = shown(request.subject.pod_namespace + "/" + request.subject.pod);
    switch (request.kind) {
        case Request::Kind::kEndProcess:
            return "end process " + std::to_string(request.pid) + " (" +
                   shown(request.subject.command) + ") with SIGTERM";
        case Request::Kind::kDeletePod:
            return "delete pod " + pod;
        case Request::Kind::kReadLog:
            break;
    }
    return "read the log of pod " + pod;
}

void ask_for(UiState& ui, const Table& table, const ClusterSnapshot& cluster, Wanted wanted) {
    if (table.rows.empty()) return;
    const Row& row = table.rows[cursor_of(table, ui)];
    const std::uint32_t pid = pid_of(row);
    if (wanted == Wanted::kEnd && pid != 0) {
        if (!is_here(cluster, row.subject.node, pid)) {
            ui.message =
                "only processes of this machine can be ended from here; K on the pod "
                "deletes it";
            return;
        }
        ui.asked = {.kind = Request::Kind::kEndProcess, .subject = row.subject, .pid = pid};
        return;
    }
    if (row.subject.pod.empty() || row.subject.pod_namespace.empty() ||
        row.subject.pod.find(' ') != std::string::npos) {
        ui.message = wanted == Wanted::kEnd ? "K ends a process or deletes a pod: choose one"
                                            : "L shows a pod's log: choose a pod";
        return;
    }
    if (wanted == Wanted::kEnd) {
        ui.asked = {.kind = Request::Kind::kDeletePod, .subject = row.subject};
    } else {
        ui.request = {.kind = Request::Kind::kReadLog, .subject = row.subject};
    }
}

void answer(UiState& ui, const Key& key) {
    const bool yes =
        key.name == Named::kCharacter && (key.character == 'y' || key.character == 'Y');
    if (yes) {
        ui.request = std::move(ui.asked);
    } else {
        ui.message = "not done";
    }
    ui.asked.reset();
}

void page_through(UiState& ui, const Key& key, std::size_t page) {
    Reading& text = *ui.reading;
    const std::size_t far = std::max<std::size_t>(page, 1);
    const std::size_t last = text.lines.size() > far ? text.lines.size() - far : 0;
    const auto up = [&](std::size_t by) { text.top = text.top > by ? text.top - by : 0; };
    const auto down = [&](std::size_t by) { text.top = std::min(text.top + by, last); };
    constexpr std::size_t kScrolled = 3;
    const char letter = key.name == Named::kCharacter ? key.character : '\0';
    if (key.name == Named::kEscape || key.name == Named::kLeft || letter == 'q') {
        ui.reading.reset();
    } else if (key.name == Named::kUp || letter == 'k') {
        up(1);
    } else if (key.name == Named::kDown || letter == 'j') {
        down(1);
    } else if (key.name == Named::kScrollUp) {
        up(kScrolled);
    } else if (key.name == Named::kScrollDown) {
        down(kScrolled);
    } else if (key.name == Named::kPageUp) {
        up(far);
    } else if (key.name == Named::kPageDown || letter == ' ') {
        down(far);
    } else if (key.name == Named::kHome || letter == 'g') {
        text.top = 0;
    } else if (key.name == Named::kEnd || letter == 'G') {
        text.top = last;
    }
}

void change_interval(UiState& ui, Pace pace) {
    if (pace == Pace::kFaster) {
        const auto found = std::find_if(kPaces.rbegin(), kPaces.rend(),
                                        [&](milliseconds each) { return each < ui.interval; });
        if (found != kPaces.rend()) ui.interval = *found;
    } else {
        const auto* const found =
            std::ranges::find_if(kPaces, [&](milliseconds each) { return each > ui.interval; });
        if (found != kPaces.end()) ui.interval = *found;
    }
    ui.message = "every " + number_text(static_cast<double>(ui.interval.count()) / 1000) + " s";
}

}  // namespace aliquot::top
