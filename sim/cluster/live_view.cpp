// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/live_view.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "k8s/memory_amount.h"

namespace aliquot::sim::cluster {
namespace {

using Row = std::vector<std::string>;
using Paint = const char*;

constexpr Paint kPlain = "";
constexpr Paint kGreen = "\x1b[32m";
constexpr Paint kYellow = "\x1b[33m";
constexpr Paint kRed = "\x1b[31m";
constexpr Paint kBold = "\x1b[1m";
constexpr Paint kReset = "\x1b[0m";

/// Rows under a heading, columns fitted; one column of every row may have a colour.
class Table {
public:
    explicit Table(Row heading) : rows_{std::move(heading)}, paints_{kBold} {}

    void add(Row row, Paint paint) {
        rows_.push_back(std::move(row));
        paints_.push_back(paint);
    }

    /// painted   the column that takes the row's colour; the heading takes it as a whole
    [[nodiscard]] std::string text(std::size_t painted, Colour colour, unsigned width) const {
        std::vector<std::size_t> widths(rows_.front().size(), 0);
        for (const Row& row : rows_) {
            for (std::size_t i = 0; i < row.size(); ++i) {
                widths[i] = std::max(widths[i], row[i].size());
            }
        }
        std::string result;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            result += line(rows_[i], widths, i == 0 ? rows_[i].size() : painted,
                           colour == Colour::kAnsi ? paints_[i] : kPlain, width);
        }
        return result;
    }

private:
    /// Breaks the last column, which holds sentences, into lines; cuts what is before it.
    static std::string fit(std::string text, const std::vector<std::size_t>& widths,
                           unsigned width) {
        constexpr std::size_t kNarrowest = 20;
        std::size_t indent = 0;
        for (std::size_t i = 0; i + 1 < widths.size(); ++i) indent += widths[i] + 2;
        if (indent + kNarrowest > width) {
            return text.size() > width ? text.substr(0, width - 1) + ">" : text;
        }
        std::string result;
        while (text.size() > width) {
            std::size_t at = text.rfind(' ', width);
            if (at == std::string::npos || at <= indent) at = width;
            result += text.substr(0, at) + "\n";
            text.erase(0, text[at] == ' ' ? at + 1 : at);
            text.insert(0, indent, ' ');
        }
        return result + text;
    }

    static std::string line(const Row& row, const std::vector<std::size_t>& widths,
                            std::size_t painted, Paint paint, unsigned width) {
        std::string text;
        std::size_t begin = 0;  // of the painted part
        std::size_t end = 0;
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (i == painted) begin = text.size();
            text += row[i];
            if (i == painted) end = text.size();
            if (i + 1 < row.size()) text.append(widths[i] - row[i].size() + 2, ' ');
        }
        text.erase(text.find_last_not_of(' ') + 1);
        if (painted == row.size()) end = text.size();
        if (width > 1) text = fit(text, widths, width);
        end = std::min(end, text.size());
        if (*paint != '\0' && begin < end) {
            text.insert(end, kReset);
            text.insert(begin, paint);
        }
        return text + "\n";
    }

    std::vector<Row> rows_;
    std::vector<Paint> paints_;
};

std::string health_text(const GpuRow& gpu) {
    if (gpu.healthy) return "Healthy";
    return gpu.problem.empty() ? "Unhealthy" : "Unhealthy: " + gpu.problem;
}

std::string use_text(const GpuRow& gpu) {
    if (gpu.by_claims) {
        return std::to_string(gpu.shares_used) + (gpu.shares_used == 1 ? " claim" : " claims");
    }
    return std::to_string(gpu.shares_used) + " of " + std::to_string(gpu.shares_total);
}

Paint paint_of(const PodRow& pod) {
    if (pod.troubled) return kRed;
    return pod.phase == Phase::kPending ? kYellow : kGreen;
}

std::string full_name(const PodRow& pod) {
    return pod.pod_namespace == "default" ? pod.name : pod.pod_namespace + "/" + pod.name;
}

struct Size {
    unsigned columns = 80;
    unsigned rows = 24;
};

Size terminal_size() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
    return {.columns = size.ws_col, .rows = size.ws_row};
}

}  // namespace

std::string table_text(const Snapshot& snapshot, Colour colour, unsigned width) {
    Table gpus({"GPU", "MODEL", "MEMORY", "IN USE", "HEALTH"});
    for (const GpuRow& gpu : snapshot.gpus) {
        gpus.add({std::to_string(gpu.index), gpu.model, k8s::bytes_text(gpu.memory_bytes),
                  use_text(gpu), health_text(gpu)},
                 gpu.healthy ? kGreen : kRed);
    }
    Table pods({"POD", "GPU", "SHARE", "STATE", "WHY"});
    for (const PodRow& pod : snapshot.pods) {
        pods.add({full_name(pod), pod.gpu_text, pod.share_text, std::string(to_text(pod.phase)),
                  pod.reason},
                 paint_of(pod));
    }
    return gpus.text(4, colour, width) + "\n" + pods.text(3, colour, width);
}

void LiveView::show(const Snapshot& snapshot) {
    if (snapshot == last_) return;
    if (!is_terminal_ || !draw(snapshot)) tell_changes(snapshot);
    last_ = snapshot;
}

bool LiveView::draw(const Snapshot& snapshot) {
    const Size size = terminal_size();
    const std::string text = table_text(snapshot, colour_, size.columns);
    const auto lines = static_cast<unsigned>(std::ranges::count(text, '\n'));
    if (lines >= size.rows) return false;  // what has scrolled away cannot be redrawn
    clear();
    lines_ = lines;
    out_ << text << std::flush;
    return true;
}

void LiveView::clear() {
    if (lines_ > 0) out_ << "\x1b[" << lines_ << "A\x1b[J" << std::flush;
    lines_ = 0;
}

void LiveView::say(const std::string& line) {
    const bool drawn = lines_ > 0;
    clear();
    out_ << line << std::endl;
    if (drawn) draw(last_);
}

void LiveView::tell_changes(const Snapshot& snapshot) {
    const bool gpus_known = last_.gpus.size() == snapshot.gpus.size();
    for (std::size_t i = 0; gpus_known && i < snapshot.gpus.size(); ++i) {
        const GpuRow& gpu = snapshot.gpus[i];
        if (health_text(gpu) == health_text(last_.gpus[i])) continue;
        out_ << "gpu " << gpu.index << ": " << health_text(gpu) << "\n";
    }
    for (std::size_t i = 0; i < snapshot.pods.size(); ++i) {
        const PodRow& pod = snapshot.pods[i];
        if (i < last_.pods.size() && last_.pods[i].phase == pod.phase &&
            last_.pods[i].reason == pod.reason && last_.pods[i].gpu_text == pod.gpu_text) {
            continue;
        }
        out_ << full_name(pod) << ": " << to_text(pod.phase);
        if (pod.phase == Phase::kRunning && pod.gpu_text != "-") {
            out_ << " on GPU " << pod.gpu_text << " (" << pod.share_text << ")";
        }
        if (!pod.reason.empty()) out_ << ": " << pod.reason;
        out_ << "\n";
    }
    out_ << std::flush;
}

}  // namespace aliquot::sim::cluster
