// SPDX-License-Identifier: Apache-2.0
// nvidia-smi mig in runbooks and scripts: MIG003, MIG005, MIG006, MIG007.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "lint/rules/evidence.h"
#include "lint/rules/mig_fit.h"
#include "lint/rules/mig_rules.h"
#include "lint/rules/named_models.h"
#include "lint/words.h"

namespace aliquot::lint {
namespace {

bool has_word(const Command& command, std::string_view word) {
    return std::any_of(command.words.begin(), command.words.end(),
                       [word](const Word& one) { return one.text == word; });
}

bool is_mig(const Command& command) { return command.is("nvidia-smi") && has_word(command, "mig"); }

bool creates(const Command& command) {
    return is_mig(command) && !created_instances(command).empty();
}

bool destroys(const Command& command) {
    return is_mig(command) &&
           (has_word(command, "-dgi") || has_word(command, "--destroy-gpu-instance"));
}

bool makes_compute(const Command& command) {
    return has_word(command, "-C") || has_word(command, "--default-compute-instance") ||
           has_word(command, "-cci") || has_word(command, "--create-compute-instance");
}

bool switches_mode(const Command& command) {
    if (!command.is("nvidia-smi")) return false;
    return std::any_of(command.words.begin(), command.words.end(), [](const Word& word) {
        return word.text.starts_with("-mig") || word.text.starts_with("--multi-instance-gpu");
    });
}

/// No GPU holds more instances than this; of longer lists only so many are looked at.
constexpr std::size_t kMostInstances = 16;

/// The instances of each family that has all of them.
std::vector<Profiles> readings_of(const std::vector<std::string>& words) {
    std::vector<Profiles> readings;
    for (const std::string_view family : mig_families()) {
        Profiles profiles;
        for (const std::string& word : words) {
            if (const auto* profile = find_in_family(family, word)) profiles.push_back(profile);
        }
        if (profiles.size() == words.size()) readings.push_back(std::move(profiles));
    }
    return readings;
}

bool some_fit(const std::vector<std::string>& words) {
    if (words.size() > kMostInstances) return false;
    const auto readings = readings_of(words);
    return readings.empty() || std::any_of(readings.begin(), readings.end(), fit_together);
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        if (text.size() > 3 * kMostInstances) return text + ",...";
        text += (text.empty() ? "" : ",") + word;
    }
    return text;
}

/// The command as a message shows it.
std::string shown(const Command& command) {
    constexpr std::size_t kLongest = 160;
    if (command.text.size() <= kLongest) return command.text;
    return command.text.substr(0, kLongest) + "...";
}

/// "3g" of each name such as 3g.20gb in the words.
std::vector<std::string> slices_in(std::string_view words) {
    std::vector<std::string> slices;
    for (std::size_t at = words.find("g."); at != std::string_view::npos;
         at = words.find("g.", at + 2)) {
        std::size_t end = at + 2;
        while (end < words.size() && std::isdigit(static_cast<unsigned char>(words[end])) != 0) {
            ++end;
        }
        const bool name = at > 0 && words[at - 1] >= '1' && words[at - 1] <= '7' && end > at + 2 &&
                          words.substr(end, 2) == "gb";
        if (name) slices.emplace_back(words.substr(at - 1, 2));
    }
    return slices;
}

/// `-cgi 14  # 3g.20gb`: the number is that of other instances. MIG006.
void check_told_profiles(const Command& command, const std::vector<std::string>& ids,
                         Report& report) {
    const auto is_id = [](const std::string& one) {
        return one.find_first_not_of("0123456789") == std::string::npos;
    };
    if (ids.size() > kMostInstances || !std::all_of(ids.begin(), ids.end(), is_id)) return;
    for (const std::string_view word : {"old", "delete", "destroy", "remove", "instead", " not ",
                                        "no ", "was ", "from ", "than "}) {
        if (contains(command.comment, word)) return;  // of what was there, or will not be
    }
    const auto told = slices_in(lower(command.comment));
    const auto readings = readings_of(ids);
    if (told.empty() || readings.empty()) return;
    for (const Profiles& reading : readings) {
        for (const auto* profile : reading) {
            const std::string slices(profile->name.substr(0, 2));
            if (std::find(told.begin(), told.end(), slices) != told.end()) return;
        }
    }
    report.add("MIG006", command.mark,
               "profile " + ids.front() + " is " + std::string(readings.front().front()->name) +
                   ", not the " + told.front() + " that the comment tells of");
}

/// `nvidia-smi mig 1`: a word where only options may stand. SH003 says so.
bool is_broken(const Command& command) {
    const auto mig = std::find_if(command.words.begin(), command.words.end(),
                                  [](const Word& one) { return one.text == "mig"; });
    return mig != command.words.end() && mig + 1 != command.words.end() &&
           !(mig + 1)->text.starts_with("-");
}

bool mode_is_known(const File& file) {
    if (std::any_of(file.commands.begin(), file.commands.end(), switches_mode)) return true;
    for (const std::string_view word :
         {"-mig 1", "-mig=1", "-mig enabled", "multi-instance-gpu=", "mig-parted", "mig.config",
          "mig mode", "nvidia-smi mig 1"}) {
        if (file.mentions(word)) return true;
    }
    return false;
}

void check_profiles_exist(const Command& command, const std::vector<std::string>& instances,
                          Report& report) {
    // Between the ids of the models: no driver has given these to a profile.
    constexpr std::array<std::string_view, 13> kNoIds{"1",  "2",  "3",  "4",  "7",  "8", "10",
                                                      "11", "12", "13", "16", "17", "18"};
    for (const std::string& one : instances) {
        const bool no_id = std::find(kNoIds.begin(), kNoIds.end(), one) != kNoIds.end();
        if (!no_id && (one.find("g.") == std::string::npos || is_known_profile(one))) continue;
        report.add("MIG002", command.mark, "no GPU has the MIG profile '" + one + "'");
        return;
    }
}

/// MIG002, MIG004: against the model that the text says the command is for.
void check_told_model(NamedModels& models, const Command& command,
                      const std::vector<std::string>& instances, Report& report) {
    const auto told = models.at(command.mark, command.heading, command.comment);
    if (!told) return;
    if (!told->has_mig()) {
        report.add("MIG004", command.mark,
                   "'" + shown(command) + "' on " + told->name + ", which has no MIG");
        return;
    }
    for (const std::string& one : instances) {
        if (one.find("g.") == std::string::npos || !is_known_profile(one) || told->may_have(one)) {
            continue;
        }
        report.add("MIG002", command.mark, told->name + " has no MIG profile '" + one + "'");
        return;
    }
}

/// `kubectl label node x nvidia.com/mig.config=all-1g.10gb`: mig-manager does what the label says.
bool sets_mig_label(const File& file) {
    return file.mentions("nvidia.com/mig.config=") &&
           std::any_of(file.commands.begin(), file.commands.end(), [](const Command& command) {
               return command.is("kubectl", "label") &&
                      command.text.find("nvidia.com/mig.config=") != std::string::npos;
           });
}

/// The first command that tells mig-manager what to do; 0: none.
unsigned first_managed_line(const File& file) {
    for (const Command& command : file.commands) {
        const bool helm = command.is("helm") && contains(command.text, "gpu-operator");
        const bool label =
            command.is("kubectl", "label") && contains(command.text, "nvidia.com/mig.config=");
        if (helm || label) return command.mark.line;
    }
    return 0;
}

/// Made by hand and taken away again, before mig-manager is there.
bool is_gone_before(const File& file, const Command& made, unsigned line) {
    return std::any_of(file.commands.begin(), file.commands.end(), [&](const Command& command) {
        return is_mig(command) && destroys(command) && !command.shown &&
               command.mark.line > made.mark.line && command.mark.line < line;
    });
}

/// The GPUs that -i names, as written; "" for all of them.
std::string gpus_of(const Command& command) {
    for (std::size_t i = 0; i < command.words.size(); ++i) {
        const std::string& word = command.words[i].text;
        if ((word == "-i" || word == "--id") && i + 1 < command.words.size()) {
            return command.words[i + 1].text;
        }
        for (const std::string_view flag : {"-i=", "--id="}) {
            if (word.starts_with(flag)) return word.substr(flag.size());
        }
    }
    return {};
}

/// Whether a branch or a function of a script begins or ends in the lines between two commands.
bool other_branch(const File& file, unsigned from, unsigned to) {
    constexpr std::array<std::string_view, 7> kWords{"elif ", "else", "fi",   "esac",
                                                     ";;",    "}",    "case "};
    for (unsigned line = from; line <= to; ++line) {
        const std::string_view words = trim(file.line(line));
        if (words.ends_with(";;") || words.ends_with("() {")) return true;
        for (const std::string_view word : kWords) {
            if (words.starts_with(word)) return true;
        }
    }
    return false;
}

/// Instances that the commands of one block leave on a GPU together.
class Left {
public:
    /// True: it is another block than the one before.
    bool begin_block(int block) {
        if (block == block_) return false;
        block_ = block;
        words_.clear();
        return true;
    }
    void clear(const std::string& gpus) {
        if (gpus.empty()) {
            words_.clear();
        } else {
            words_.erase(gpus);
        }
    }
    /// Whether what is there and these fit; they are there from now on.
    bool add(const std::string& gpus, const std::vector<std::string>& words) {
        std::vector<std::string>& there = words_[gpus];
        const bool first = there.empty();
        const auto some = std::min(words.size(), kMostInstances + 1);
        there.insert(there.end(), words.begin(), words.begin() + static_cast<long>(some));
        return first || some_fit(there);
    }

private:
    int block_ = -2;
    std::map<std::string, std::vector<std::string>, std::less<>> words_;
};

}  // namespace

std::vector<std::string> created_instances(const Command& command) {
    std::vector<std::string> instances;
    for (const std::string_view flag : {"-cgi", "--create-gpu-instance"}) {
        for (std::size_t i = 0; i < command.words.size(); ++i) {
            const std::string& word = command.words[i].text;
            std::string value;
            if (word == flag && i + 1 < command.words.size()) value = command.words[i + 1].text;
            if (word.starts_with(flag) && word.size() > flag.size() && word[flag.size()] == '=') {
                value = word.substr(flag.size() + 1);
            }
            for (const std::string_view part : split(value, ',')) {
                const std::string_view one = trim(part.substr(0, part.find(':')));
                if (!one.empty() && std::isdigit(static_cast<unsigned char>(one[0])) != 0) {
                    instances.emplace_back(one);
                }
            }
        }
    }
    return instances;
}

void check_mig_commands(const File& file, Report& report) {
    if (!file.mentions("nvidia-smi")) return;
    const bool known = mode_is_known(file);
    const bool compute = file.mentions("-cci") || file.mentions("create-compute-instance");
    const bool managed = (installs_operator(file) || sets_mig_label(file)) &&
                         !file.mentions("migmanager.enabled=false");
    const unsigned managed_from = managed ? first_managed_line(file) : 0;
    Left left;
    NamedModels models(file);
    unsigned last_line = 0;
    for (const Command& command : file.commands) {
        if (!is_mig(command) || command.shown) continue;
        if (is_broken(command)) continue;
        if (left.begin_block(command.block)) last_line = command.mark.line;
        if (command.mark.line > last_line + 1 &&
            other_branch(file, last_line + 1, command.mark.line - 1)) {
            left.clear("");
        }
        last_line = command.mark.line;
        const std::string gpus = gpus_of(command);
        if (destroys(command)) left.clear(gpus);
        if (!creates(command)) continue;
        const auto instances = created_instances(command);
        if (!known && (file.is_prose() || file.kind == FileKind::kShell)) {
            report
                .add("MIG005", command.mark,
                     "'" + shown(command) + "' cuts the GPU, but nothing here switches MIG on")
                .expected("nvidia-smi -i 0 -mig 1 before it")
                .fix("sudo nvidia-smi -i 0 -mig 1\nsudo " + shown(command));
        } else if (!compute && !makes_compute(command)) {
            report
                .add("MIG005", command.mark,
                     "'" + shown(command) + "' makes GPU instances without compute instances")
                .expected("-C behind -cgi")
                .fix(shown(command) + " -C");
        }
        check_profiles_exist(command, instances, report);
        check_told_model(models, command, instances, report);
        if (!some_fit(instances)) {
            report.add("MIG003", command.mark,
                       "the instances " + joined(instances) + " do not fit on one GPU together");
        } else if (!left.add(gpus, instances)) {
            report
                .add("MIG005", command.mark,
                     "the instances " + joined(instances) +
                         " do not fit beside those made above, which nothing destroys")
                .expected("nvidia-smi mig -dci && nvidia-smi mig -dgi before it");
        }
        check_told_profiles(command, instances, report);
        if (managed && !is_gone_before(file, command, managed_from)) {
            report.add(
                "MIG007", command.mark,
                "'" + shown(command) + "' by hand, on a node that mig-manager keeps in order");
        }
    }
}

}  // namespace aliquot::lint
