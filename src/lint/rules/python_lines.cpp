// SPDX-License-Identifier: Apache-2.0
// Lines of Python that use GPUs: PY001 (devices), PY002 (words and numbers), PY003 (too late).
#include <algorithm>
#include <array>
#include <optional>

#include "base/number.h"
#include "base/text.h"
#include "findings/finding.h"
#include "lint/families.h"
#include "lint/kept.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

/// The value behind `name=` or `name(` in a line, up to what ends it; empty: it is not there.
std::string_view argument(std::string_view line, std::string_view name, char behind) {
    for (auto at = line.find(name); at != std::string_view::npos; at = line.find(name, at + 1)) {
        const bool begins =
            at == 0 || (!is_digit(line[at - 1]) && line[at - 1] != '_' &&
                        lower(line.substr(at - 1, 1)) == std::string(line.substr(at - 1, 1)) &&
                        (line[at - 1] < 'a' || line[at - 1] > 'z'));
        std::string_view rest = line.substr(at + name.size());
        while (rest.starts_with(' ')) rest.remove_prefix(1);
        if (!begins || !rest.starts_with(behind) || rest.starts_with("==")) continue;
        rest.remove_prefix(1);
        return trim(rest.substr(0, std::min(rest.find_first_of(",)#"), rest.size())));
    }
    return {};
}

std::string_view unquoted(std::string_view text) {
    const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
                        text.back() == text.front();
    return quoted ? text.substr(1, text.size() - 2) : std::string_view();
}

bool is_comment(std::string_view line) { return trim(line).starts_with("#"); }

/// One program: what it says of visible GPUs holds for the lines behind.
class Lines {
public:
    Lines(const Block& block, Report& report) : block_(block), report_(report) {}

    void check() {
        std::size_t offset = 0;
        for (const std::string_view line : split(block_.text, '\n')) {
            constexpr std::size_t kLongest = 2'000;
            if (line.size() < kLongest && !is_comment(line)) check_line(line, offset);
            offset += line.size() + 1;
        }
    }

private:
    void check_line(std::string_view line, std::size_t offset) {
        check_visible(line, offset);
        check_devices(line, offset);
        check_fractions(line, offset);
        check_words(line, offset);
        check_parallel(line, offset);
        const bool top = !line.empty() && line.front() != ' ' && line.front() != '\t';
        const bool defines = line.starts_with("def ") || line.starts_with("class ") ||
                             line.starts_with("import ") || line.starts_with("from ") ||
                             line.starts_with("@");
        if (top && !defines && !begun_ &&
            (contains(line, "torch.cuda.") || contains(line, ".cuda()") ||
             contains(line, ".to(\"cuda") || contains(line, ".to('cuda"))) {
            begun_ = true;
        }
    }

    void check_visible(std::string_view line, std::size_t offset) {
        const auto at = line.find("CUDA_VISIBLE_DEVICES");
        if (at == std::string_view::npos || !contains(line, "environ")) return;
        const std::string_view rest = line.substr(at);
        const auto equals = rest.find('=');
        if (equals == std::string_view::npos || rest.substr(equals).starts_with("==")) return;
        const std::string_view value = unquoted(trim(rest.substr(equals + 1)));
        const bool top = line.front() != ' ' && line.front() != '\t';
        if (top && begun_) {
            report_
                .add("PY003", block_.place(offset + at),
                     "CUDA_VISIBLE_DEVICES is set after the first use of CUDA")
                .expected("the line before the import of torch");
        }
        if (value.empty() || value.find_first_not_of("0123456789, ") != std::string_view::npos) {
            visible_ = 0;
            return;
        }
        visible_ = split(value, ',').size();
    }

    /// "cuda:2" where two are visible.
    void check_devices(std::string_view line, std::size_t offset) {
        constexpr std::string_view kCuda = "cuda:";
        for (auto at = line.find(kCuda); at != std::string_view::npos;
             at = line.find(kCuda, at + 1)) {
            if (at == 0 || (line[at - 1] != '"' && line[at - 1] != '\'')) continue;
            const std::string_view rest = line.substr(at + kCuda.size());
            const auto number =
                parse_number<std::size_t>(rest.substr(0, rest.find_first_of("\"'")));
            if (number) say_device(*number, offset + at);
        }
        const auto number = parse_number<std::size_t>(argument(line, "set_device", '('));
        if (number) say_device(*number, offset + line.find("set_device"));
    }

    void say_device(std::size_t number, std::size_t offset) {
        if (visible_ == 0 || number < visible_) return;
        report_
            .add("PY001", block_.place(offset),
                 "device " + std::to_string(number) + ", and " + std::to_string(visible_) +
                     " GPUs are visible")
            .expected("0 to " + std::to_string(visible_ - 1));
    }

    void check_fractions(std::string_view line, std::size_t offset) {
        struct Fraction {
            std::string_view name;
            char behind;
        };
        constexpr std::array<Fraction, 6> kFractions{{{"set_per_process_memory_fraction", '('},
                                                      {"gpu_memory_utilization", '='},
                                                      {"mem_fraction_static", '='},
                                                      {"per_process_gpu_memory_fraction", '='},
                                                      {"cuda_memory_fraction", '='},
                                                      {"gpu_memory_fraction", '='}}};
        for (const Fraction& one : kFractions) {
            const std::string_view text = argument(line, one.name, one.behind);
            const auto number = parse_number<double>(text);
            if (!number || (*number >= 0 && *number <= 1)) continue;
            report_
                .add("PY002", block_.place(offset + line.find(one.name)),
                     std::string(one.name) + " is " + std::string(text))
                .expected("a part of one GPU: above 0, at most 1");
        }
    }

    void check_words(std::string_view line, std::size_t offset) {
        struct Words {
            std::string_view call;
            std::string_view name;
            std::vector<std::string_view> known;
        };
        static const std::vector<Words> kWords{
            {"init_process_group",
             "backend",
             {"nccl", "gloo", "mpi", "ucc", "xccl", "hccl", "cpu:gloo", "cuda:nccl", "fake"}},
            {"autocast", "device_type", {"cuda", "cpu", "xpu", "mps", "hpu", "xla", "npu"}},
            {"matmul_precision", "", {"highest", "high", "medium"}},
            {"from_pretrained",
             "device_map",
             {"auto", "balanced", "balanced_low_0", "sequential", "cuda", "cpu", "mps", "xpu",
              "meta", "disk"}},
        };
        for (const Words& one : kWords) {
            const auto call = line.find(one.call);
            if (call == std::string_view::npos) continue;
            std::string_view value =
                one.name.empty() ? std::string_view() : argument(line, one.name, '=');
            if (value.empty()) value = argument(line, one.call, '(');
            value = unquoted(value);
            if (value.empty() || contains(value, ":") ||
                std::find(one.known.begin(), one.known.end(), value) != one.known.end()) {
                continue;
            }
            const std::string_view meant = nearest(value, one.known);
            const bool vllm = contains(block_.text, "vllm") && contains(block_.text, "LLM(");
            if (one.call == "dtype" && !vllm) continue;
            if (meant.empty() && one.call == "from_pretrained") continue;
            std::string all;
            for (const std::string_view word : one.known)
                all += (all.empty() ? "" : ", ") + std::string(word);
            report_
                .add("PY002", block_.place(offset + call),
                     std::string(one.call) + " is told '" + std::string(value) + '\'')
                .expected(meant.empty() ? "one of " + all : std::string(meant));
        }
    }

    /// LLM(tensor_parallel_size=4) where two GPUs are visible.
    void check_parallel(std::string_view line, std::size_t offset) {
        const auto number = parse_number<std::size_t>(argument(line, "tensor_parallel_size", '='));
        if (!number || visible_ == 0 || *number <= visible_) return;
        report_
            .add("PY001", block_.place(offset + line.find("tensor_parallel_size")),
                 "tensor_parallel_size is " + std::to_string(*number) + ", and " +
                     std::to_string(visible_) + " GPUs are visible")
            .expected(std::to_string(visible_) + " at most");
    }

    const Block& block_;
    Report& report_;
    std::size_t visible_ = 0;  // 0: not known
    bool begun_ = false;       // a line of the program itself uses CUDA
};

}  // namespace

void check_python(const File& file, const Set&, const Facts*, Report& report) {
    if (is_kept(file)) return;
    const std::string_view name = std::string_view(file.name).substr(file.name.rfind('/') + 1);
    if (name.starts_with("test_") || name.ends_with("_test.py")) return;
    for (const Block& block : file.blocks) {
        const bool used = block.language == Language::kPython &&
                          (contains(block.text, "cuda") || contains(block.text, "gpu") ||
                           contains(block.text, "torch"));
        if (used) Lines(block, report).check();
    }
}

}  // namespace aliquot::lint
