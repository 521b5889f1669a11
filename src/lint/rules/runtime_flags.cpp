// SPDX-License-Identifier: Apache-2.0
// How containers are told to have GPUs: RUN004 (variables), RUN005 (flags of docker, podman, nvidia-smi),
// CI001 (jobs of workflows).
#include <algorithm>
#include <array>

#include "base/number.h"
#include "findings/finding.h"
#include "lint/families.h"
#include "lint/forms.h"
#include "lint/kept.h"
#include "lint/rules/links.h"
#include "lint/rules/runtime_rules.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

using findings::Severity;

/// Whether the parts of one name are nearly those of the other, each with one letter wrong at most.
bool is_near_variable(std::string_view name, std::string_view meant) {
    const auto left = split(name, '_');
    const auto right = split(meant, '_');
    if (left.size() != right.size()) {  // "CUDA_VISIBLEDEVICES"
        std::string joined_left(name);
        std::string joined_right(meant);
        joined_left.erase(std::remove(joined_left.begin(), joined_left.end(), '_'),
                          joined_left.end());
        joined_right.erase(std::remove(joined_right.begin(), joined_right.end(), '_'),
                           joined_right.end());
        return joined_left == joined_right;
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
        constexpr std::size_t kShortest = 4;
        if (left[i] == right[i]) continue;
        if (left[i].size() < kShortest || nearest(left[i], {right[i]}).empty()) return false;
    }
    return true;
}

const std::vector<std::string_view>& driver_capabilities() {
    static const std::vector<std::string_view> kWords{"compute", "compat32", "display", "graphics",
                                                      "ngx",     "utility",  "video",   "all"};
    return kWords;
}

/// Variables of CUDA, NCCL and PyTorch: "variable NAME" of the forms has the words that one takes.
void check_other_variable(std::string_view name, std::string_view value, Mark mark,
                          Report& report) {
    static const std::vector<std::string_view> kKnown = words_of_form("gpu variables");
    // Further from the right name than a slip of the finger: another ending.
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kBegun{
        {{"NVIDIA_DRIVER_CAP", "NVIDIA_DRIVER_CAPABILITIES"},
         {"NVIDIA_VISIBLE_", "NVIDIA_VISIBLE_DEVICES"},
         {"CUDA_VISIBLE_", "CUDA_VISIBLE_DEVICES"},
         {"NVIDIA_CAPABILIT", "NVIDIA_DRIVER_CAPABILITIES"}}};
    if (std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end()) {
        std::string_view meant = nearest(name, kKnown);
        bool begun = false;
        for (const auto& [beginning, whole] : kBegun) {
            if (!name.starts_with(beginning)) continue;
            meant = whole;
            begun = true;
        }
        // "NCCL_IB_TC" and "NCCL_IB_SL" are two: of short parts only one letter may be wrong.
        if (meant.empty()) return;
        if (!begun && (is_sibling_name(name, meant) || !is_near_variable(name, meant))) return;
        report.add("RUN004", mark, "nothing reads the variable " + std::string(name))
            .expected(std::string(meant))
            .severity(Severity::kWarning);
        return;
    }
    const FormNode* form = find_form("variable " + std::string(name));
    if (form == nullptr || value.empty()) return;
    const bool pairs = form->type == FormType::kMap;  // "max_split_size_mb:512,..."
    for (std::string_view one : split(value, pairs ? ',' : '\n')) {
        one = trim(pairs ? one.substr(0, one.find(':')) : one);
        if (one.empty() || is_placeholder(one)) continue;
        if (std::any_of(form->values.begin(), form->values.end(),
                        [one](std::string_view word) { return lower(word) == lower(one); })) {
            continue;
        }
        const std::string_view meant = nearest(one, form->values);
        std::string all;
        for (const std::string_view word : form->values)
            all += (all.empty() ? "" : ", ") + std::string(word);
        report.add("RUN004", mark, std::string(name) + " has '" + std::string(one) + '\'')
            .expected(meant.empty() ? "one of " + all : std::string(meant));
    }
}

/// One variable that the NVIDIA Container Toolkit or CUDA reads, wherever it is set.
void check_variable(std::string_view name, std::string_view value, Mark mark, bool of_pod,
                    Report& report) {
    if (is_placeholder(value) || is_placeholder(name) || value.find('$') != std::string_view::npos)
        return;
    const std::string shown(name);
    if (name == "NVIDIA_DRIVER_CAPABILITIES") {
        for (std::string_view word : split(value, ',')) {
            word = trim(word);
            const auto& known = driver_capabilities();
            if (word.empty() || std::find(known.begin(), known.end(), word) != known.end())
                continue;
            const std::string meant(nearest(word, known));
            report.add("RUN004", mark, shown + " has '" + std::string(word) + '\'')
                .expected(meant.empty() ? "compute, utility, graphics, video, display, all"
                                        : meant);
        }
    } else if (name == "NVIDIA_VISIBLE_DEVICES") {
        if (of_pod || is_visible_devices(value)) return;  // of pods: POD006
        report.add("RUN004", mark, shown + " is '" + std::string(value) + '\'')
            .expected("all, none, void, indices, or UUIDs");
    } else {
        check_other_variable(name, value, mark, report);
    }
}

void check_assignment(std::string_view text, Mark mark, bool of_pod, Report& report) {
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) return;
    check_variable(text.substr(0, equals), trim(text.substr(equals + 1), "\"'"), mark, of_pod,
                   report);
}

void check_compose(const Object& object, Report& report) {
    const Value* services = object.node->find("services");
    if (services == nullptr) return;
    for (const Value::Entry& service : services->entries) {
        const Value* runtime = service.second.find("runtime");
        if (runtime != nullptr && runtime->scalar != "nvidia" &&
            runtime->scalar.starts_with("nvidia")) {
            report.add("RUN005", runtime->mark, "the runtime is '" + runtime->scalar + '\'')
                .expected("nvidia, the name that nvidia-ctk runtime configure registers")
                .fix("runtime: nvidia");
        }
        const Value* environment = service.second.find("environment");
        if (environment == nullptr) continue;
        for (const Value& item : environment->items) {
            check_assignment(item.scalar, item.mark, false, report);
        }
        for (const Value::Entry& entry : environment->entries) {
            check_variable(entry.first.scalar, entry.second.scalar, entry.second.mark, false,
                           report);
        }
    }
}

// --- flags ---

/// "all", a number, or a list of key=value that is quoted where it has a comma.
void check_gpus_value(const std::string& value, Mark mark, Report& report) {
    if (value.empty() || is_placeholder(value) || value == "all") return;
    if (parse_number<unsigned>(value)) return;
    if (value.front() == '"' || value.front() == '\'') return;
    if (!contains(value, "=")) {
        report.add("RUN005", mark, "--gpus is '" + value + '\'')
            .expected("all, a number, or '\"device=0,1\"'");
        return;
    }
    const auto fields = split(value, ',');
    for (const std::string_view field : fields) {
        const auto equals = field.find('=');
        const std::string_view key = field.substr(0, equals);
        if (equals == std::string_view::npos) {
            if (!value.starts_with("device=")) continue;
            report
                .add("RUN005", mark,
                     "--gpus " + value + ": docker reads '" + std::string(field) +
                         "' as a field of its own")
                .expected("quotes around the list as well: '\"" + value + "\"'")
                .fix("--gpus '\"" + value + "\"'");
            return;
        }
        const std::vector<std::string_view> known{"device", "capabilities", "count", "driver",
                                                  "options"};
        if (std::find(known.begin(), known.end(), key) != known.end()) continue;
        report.add("RUN005", mark, "--gpus has the field '" + std::string(key) + '\'')
            .expected("device, capabilities, count, driver or options");
    }
}

/// Whether a word of docker run takes the next one as its value.
bool takes_next(std::string_view flag) {
    constexpr std::array<std::string_view, 17> kAlone{"--rm",
                                                      "--privileged",
                                                      "--detach",
                                                      "--interactive",
                                                      "--tty",
                                                      "--init",
                                                      "--read-only",
                                                      "--publish-all",
                                                      "--no-healthcheck",
                                                      "--oom-kill-disable",
                                                      "--quiet",
                                                      "--sig-proxy",
                                                      "-P",
                                                      "--disable-content-trust",
                                                      "--replace",
                                                      "-q",
                                                      "--tls-verify"};
    if (!flag.starts_with("-") || flag.find('=') != std::string_view::npos) return false;
    if (std::find(kAlone.begin(), kAlone.end(), flag) != kAlone.end()) return false;
    const bool letters = !flag.starts_with("--");
    return !letters || flag.find_first_not_of("ditq", 1) != std::string_view::npos;
}

/// "8gig": docker takes b, k, m and g.
void check_docker_shm(const Command& command, Report& report) {
    const auto value = command.value("--shm-size");
    const Word* word = command.flag("--shm-size");
    if (!value || word == nullptr || value->empty() || is_placeholder(*value) ||
        contains(*value, "$"))
        return;
    const std::string unit =
        lower(value->substr(std::min(value->find_first_not_of("0123456789."), value->size())));
    for (const std::string_view one :
         {"", "b", "k", "m", "g", "kb", "mb", "gb", "kib", "mib", "gib"}) {
        if (unit == one) return;
    }
    report.add("RUN007", word->mark, "--shm-size is '" + *value + '\'')
        .expected("a number with b, k, m or g, as 8g");
}

/// One flag of docker run with the word behind it ("" at the end).
void check_docker_flag(const std::string& program, const Word& word, const std::string& next,
                       Report& report) {
    const auto equals = word.text.find('=');
    const std::string name = word.text.substr(0, equals);
    const std::string value = equals != std::string::npos ? word.text.substr(equals + 1) : next;
    if (name == "--gpus") {
        check_gpus_value(value, word.mark, report);
    } else if (name == "--gpu" || name == "-gpus" || name == "-gpu") {
        report.add("RUN005", word.mark, program + " has no flag '" + name + '\'')
            .expected("--gpus")
            .fix("--gpus " + value);
    } else if (name == "--runtime" || name == "-runtime" || name == "--runtimes") {
        const bool typo = name != "--runtime";
        const std::string_view meant = nearest(value, {"nvidia"});
        if (!typo && (meant.empty() || meant == value)) return;
        report
            .add(
                "RUN005", word.mark,
                typo ? program + " has no flag '" + name + '\'' : "the runtime is '" + value + '\'')
            .expected(typo ? "--runtime" : "nvidia")
            .fix("--runtime=nvidia");
    } else if (name == "-e" || name == "--env") {
        check_assignment(value, word.mark, false, report);
    }
}

void check_docker(const Command& command, Report& report) {
    const bool runs = command.words.size() > 1 &&
                      (command.is(command.program, "run") || command.is(command.program, "create"));
    if (!runs) return;
    check_docker_shm(command, report);
    for (std::size_t i = 1; i < command.words.size(); ++i) {
        const Word& word = command.words[i];
        if (!word.text.starts_with("-")) {
            if (takes_next(command.words[i - 1].text) || word.text == "run" ||
                word.text == "create" || word.text == "container") {
                continue;
            }
            return;  // the image and its own arguments
        }
        const bool last = i + 1 == command.words.size();
        check_docker_flag(command.program, word, last ? "" : command.words[i + 1].text, report);
    }
}

/// `options:` of a workflow's container or service: the flags of docker create.
void check_options(const Value& container, Report& report) {
    const Value* options = container.find("options");
    if (options == nullptr || is_placeholder(options->scalar)) return;
    const auto words = words_of(options->scalar);
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (!words[i].starts_with("-") || contains(words[i], "\"") || contains(words[i], "'")) {
            continue;
        }
        const Word word{std::string(words[i]), options->mark};
        const std::string next(i + 1 == words.size() ? std::string_view() : words[i + 1]);
        if (contains(next, "\"") || contains(next, "'")) continue;
        check_docker_flag("docker create", word, next, report);
    }
}

/// Long flags of nvidia-smi and its subcommands, those with a dash too.
void check_nvidia_smi(const Command& command, Report& report) {
    static const std::vector<std::string_view> kFlags = words_of_form("nvidia-smi");
    if (command.shown) return;
    for (std::size_t i = 1; i < command.words.size(); ++i) {
        const std::string& word = command.words[i].text;
        if (!word.starts_with("--") || word == "--" || is_placeholder(word)) continue;
        const std::string name = word.substr(0, word.find('='));
        if (std::find(kFlags.begin(), kFlags.end(), name) != kFlags.end()) continue;
        const std::string meant(nearest(name, kFlags));
        if (meant.empty() && name.starts_with("--help")) continue;
        auto entry =
            report.add("RUN005", command.words[i].mark, "nvidia-smi has no flag '" + name + '\'');
        entry.expected(meant.empty() ? "a flag of nvidia-smi --help" : meant);
        if (meant.empty()) entry.severity(Severity::kWarning);
    }
}

// --- workflows ---

bool runs_on_gpu(const Value& step) {
    const std::string text = text_at(step, {"run"});
    if (text.find("docker ") != std::string::npos) return false;
    return text.find("nvidia-smi") != std::string::npos ||
           text.find("torch.cuda.is_available()") != std::string::npos;
}

void check_job(const Value& job, Report& report) {
    const Value* container = job.find("container");
    if (container != nullptr) check_options(*container, report);
    if (const Value* services = job.find("services"); services != nullptr) {
        for (const Value::Entry& service : services->entries) check_options(service.second, report);
    }
    const Value* steps = job.find("steps");
    if (container == nullptr || steps == nullptr) return;
    const bool runs = std::any_of(steps->items.begin(), steps->items.end(), runs_on_gpu);
    if (!runs) return;
    const std::string options = text_at(*container, {"options"});
    if (is_placeholder(options) || contains(options, "--gpus") || contains(options, "--runtime") ||
        contains(options, "--device") || contains(options, "--privileged")) {
        return;
    }
    report
        .add("CI001", container->mark,
             "a step of the container asks for the GPU, and the container has none")
        .expected("options: --gpus all below container")
        .fix("options: --gpus all");
}

}  // namespace

void check_runtime_flags(const File& file, const Set&, const Facts*, Report& report) {
    if (is_kept(file)) return;
    for (const Object& object : file.objects) {
        if (object.role == Role::kCompose) check_compose(object, report);
        if (object.role != Role::kWorkflow) continue;
        const Value* jobs = object.node->find("jobs");
        if (jobs == nullptr) continue;
        for (const Value::Entry& job : jobs->entries) check_job(job.second, report);
    }
    for (const PodSpec& pod : file.pods) {
        for (const Container& container : pod.containers) {
            for (const EnvVar& one : container.env) {
                const Mark mark = one.value_node != nullptr ? one.value_node->mark : one.node->mark;
                check_variable(one.name, one.value, mark, true, report);
            }
        }
    }
    for (const Instruction& one : file.instructions) {
        if (one.keyword != "ENV") continue;
        if (one.words.size() == 2 && one.words[0].text.find('=') == std::string::npos) {
            check_variable(one.words[0].text, one.words[1].text, one.words[1].mark, false, report);
        }
        for (const Word& word : one.words) check_assignment(word.text, word.mark, false, report);
    }
    for (const Command& command : file.commands) {
        for (const Word& word : command.assignments)
            check_assignment(word.text, word.mark, false, report);
    }
    if (!file.mentions("docker") && !file.mentions("podman") && !file.mentions("nvidia-smi"))
        return;
    for (const Command& command : file.commands) {
        if (command.is("docker") || command.is("podman") || command.is("nerdctl")) {
            check_docker(command, report);
        } else if (command.is("nvidia-smi")) {
            check_nvidia_smi(command, report);
        }
    }
}

}  // namespace aliquot::lint
