// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "os/temporary_directory.h"

namespace aliquot::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Outcome {
    int code = 0;
    std::string out;
    std::string err;
};

/// Runs the program in this process, with its streams caught.
Outcome run_words(const std::vector<std::string>& words, const std::string& input = "") {
    constexpr auto kCommands = std::to_array<Command>({{"config", add_config_command},
                                                       {"version", add_version_command},
                                                       {"completion", add_completion_command, true},
                                                       {"man", add_man_command, true},
                                                       {"complete", add_complete_command},
                                                       {"size", add_size_command}});
    std::vector<std::string> all{"aliquot"};
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> argv;
    for (std::string& word : all) argv.push_back(word.data());
    std::istringstream in(input);
    std::ostringstream out;
    std::ostringstream err;
    auto* const real_in = std::cin.rdbuf(in.rdbuf());
    auto* const real_out = std::cout.rdbuf(out.rdbuf());
    auto* const real_err = std::cerr.rdbuf(err.rdbuf());
    std::cin.clear();
    std::vector<char*> given = with_help_option(static_cast<int>(argv.size()), argv.data());
    const int code = run(static_cast<int>(given.size()) - 1, given.data(), kCommands);
    std::cin.rdbuf(real_in);
    std::cout.rdbuf(real_out);
    std::cerr.rdbuf(real_err);
    return {code, out.str(), err.str()};
}

class Cli : public testing::Test {
protected:
    std::string file(const std::string& name, const std::string& text) {
        const std::string path = (directory_.path() / name).string();
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }
    os::TemporaryDirectory directory_;
};

const char* const kGood =
    "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - name: nvidia.com/gpu\n"
    "      replicas: 2\n";
const char* const kWrong = "sharing:\n  timeSlicing:\n    replicas: 2\n";

TEST_F(Cli, AGoodFileIsOneLine) {
    const std::string path = file("a.yaml", kGood);
    const auto outcome = run_words({"config", "check", path});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out, path + ": ok: time-slicing: nvidia.com/gpu in 2 shares\n");
    EXPECT_EQ(outcome.err, "");
}

TEST_F(Cli, ErrorsGiveExitCodeOneAndTheMendedForm) {
    const auto outcome = run_words({"config", "check", file("a.yaml", kWrong)});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.out, HasSubstr("a.yaml:3:5: error DPC003 "));
    EXPECT_THAT(outcome.out, HasSubstr("             replicas: 2\n"));
}

TEST_F(Cli, WarningsAloneAreNoFailure) {
    const auto outcome =
        run_words({"config", "check", "--compat", "nvidia", file("a.yaml", "x: 1\n")});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("warning DPC012"));
}

TEST_F(Cli, JsonHoldsTheFindingsOfAllFiles) {
    const auto outcome = run_words({"config", "check", "-o", "json", file("a.yaml", kWrong),
                                    file("b.yaml", kGood), file("c.yaml", "version: 2\n")});
    EXPECT_EQ(outcome.code, 1);
    const auto json = nlohmann::json::parse(outcome.out);
    ASSERT_EQ(json.at("findings").size(), 2U);
    EXPECT_EQ(json["findings"][1]["rule"], "DPC001");
}

TEST_F(Cli, TheStandardInputIsAFileToo) {
    const auto outcome = run_words({"config", "check", "-"}, kWrong);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.out, HasSubstr("<stdin>:3:5: error"));
}

TEST_F(Cli, OtherFormatsHoldTheSame) {
    const std::string path = file("a.yaml", kWrong);
    EXPECT_THAT(run_words({"config", "check", "-o", "yaml", path}).out,
                HasSubstr("\n  rule: DPC003\n"));
    EXPECT_THAT(run_words({"config", "check", "-o", "table", path}).out,
                HasSubstr("SEVERITY  RULE    MESSAGE\n"));
}

TEST_F(Cli, FilesThatCannotBeReadAreUsageErrors) {
    const auto missing = run_words({"config", "check", "/nowhere/at/all.yaml"});
    EXPECT_EQ(missing.code, 2);
    EXPECT_THAT(missing.err, HasSubstr("aliquot: /nowhere/at/all.yaml: cannot read it"));
    EXPECT_EQ(run_words({"config", "check", directory_.path().string()}).code, 2);
    const auto large = run_words({"config", "check", file("l", std::string((4U << 20U) + 1, '#'))});
    EXPECT_EQ(large.code, 2);
    EXPECT_THAT(large.err, HasSubstr("larger than 4 MiB"));
    // The others are checked all the same.
    const auto both = run_words({"config", "check", "/nowhere", file("a.yaml", kWrong)});
    EXPECT_EQ(both.code, 2);
    EXPECT_THAT(both.out, HasSubstr("DPC003"));
}

TEST_F(Cli, WrongWordsAreToldInOneLineWithTheNearestRightOne) {
    const std::pair<std::vector<std::string>, const char*> cases[] = {
        {{"confgi"}, "unknown command 'confgi', did you mean 'config'?"},
        {{"banana"}, "unknown command 'banana'; see 'aliquot --help'"},
        {{"config", "chekc", "f"},
         "unknown command 'chekc', did you mean 'check'? see 'aliquot config --help'"},
        {{"config", "check", "--outptu", "json", "f"}, "did you mean '--output'?"},
        {{"version", "extra"}, "unexpected argument 'extra'"},
        {{"config", "check"}, "FILE is required"},
        {{"config", "check", "-o", "xml", "f"}, "'xml' is not one of text, table, json, yaml"},
        {{"--color", "blue", "version"}, "'blue' is not one of auto, always, never"},
        {{"config", "explain", "f", "--node-state", "a", "--driver-root", "b"},
         "cannot be used with"}};
    for (const auto& [words, message] : cases) {
        const auto outcome = run_words(words);
        EXPECT_EQ(outcome.code, 2) << message;
        EXPECT_THAT(outcome.err, testing::StartsWith("aliquot: ")) << message;
        EXPECT_THAT(outcome.err, HasSubstr(message));
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        EXPECT_EQ(outcome.out, "") << message;
    }
}

TEST_F(Cli, AFileMayBeNamedLikeACommand) {
    const auto outcome = run_words({"config", "check", "version"});
    EXPECT_THAT(outcome.err, HasSubstr("version: cannot read it"));
}

TEST_F(Cli, ACommandThatHoldsOthersSaysWhich) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{}, std::vector<std::string>{"config"}}) {
        const auto outcome = run_words(words);
        EXPECT_EQ(outcome.code, 2);
        EXPECT_THAT(outcome.err, HasSubstr("\nCommands:\n"));
    }
}

TEST_F(Cli, HelpHasExamplesBeforeOptionsOnEveryCommand) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"-h"},
                                                  {"config", "--help"},
                                                  {"config", "check", "-h"},
                                                  {"config", "explain", "-h"},
                                                  {"version", "-h"},
                                                  {"completion", "-h"}}) {
        const auto outcome = run_words(words);
        EXPECT_EQ(outcome.code, 0);
        const auto examples = outcome.out.find("\nExamples:\n  ");
        const auto usage = outcome.out.find("\nUsage: aliquot");
        const auto options = outcome.out.find("\nOptions:\n");
        EXPECT_NE(examples, std::string::npos) << outcome.out;
        EXPECT_LT(examples, usage) << outcome.out;
        EXPECT_LT(usage, options) << outcome.out;
        EXPECT_NE(options, std::string::npos) << outcome.out;
    }
}

TEST_F(Cli, HelpBeforeACommandIsItsHelp) {
    EXPECT_EQ(run_words({"help"}).out, run_words({"--help"}).out);
    EXPECT_EQ(run_words({"help", "config", "check"}).out,
              run_words({"config", "check", "--help"}).out);
    const auto wrong = run_words({"help", "confg"});
    EXPECT_EQ(wrong.code, kUsage);
    EXPECT_THAT(wrong.err, HasSubstr("unknown command 'confg', did you mean 'config'?"));
}

TEST_F(Cli, EveryCommandHasAManualPage) {
    const std::string pages = directory_.path().string();
    EXPECT_EQ(run_words({"man", pages}).code, kOk);
    for (const char* page : {"aliquot", "aliquot-config", "aliquot-config-check", "aliquot-version",
                             "aliquot-completion"}) {
        std::ifstream file(directory_.path() / (std::string(page) + ".1"));
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        EXPECT_THAT(text, HasSubstr(".SH NAME\n")) << page;
        EXPECT_THAT(text, HasSubstr(".SH EXIT STATUS\n")) << page;
    }
    EXPECT_FALSE(std::filesystem::exists(directory_.path() / "aliquot-man.1"));
    EXPECT_THAT(run_words({"--help"}).out, Not(HasSubstr("\n  man ")));
    EXPECT_EQ(run_words({"man", pages + "/nowhere"}).code, kCouldNotRun);
}

TEST_F(Cli, OptionsOfACommandGoBeforeItsNameToo) {
    const std::string path = file("a.yaml", kWrong);
    const std::string behind = run_words({"config", "check", path, "-o", "json"}).out;
    EXPECT_THAT(behind, HasSubstr("findings"));
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"-o", "json", "config", "check", path},
          {"--output=json", "config", "check", path},
          {"-ojson", "config", "check", path},
          {"config", "--output", "json", "check", path}}) {
        EXPECT_EQ(run_words(words).out, behind) << words.front();
    }
    const auto wrong = run_words({"--context", "lab", "version"});
    EXPECT_EQ(wrong.code, kUsage);
    EXPECT_THAT(wrong.err, HasSubstr("unknown option '--context'; see 'aliquot version --help'"));
    EXPECT_EQ(run_words({"-o"}).code, kUsage);
    EXPECT_EQ(run_words({"-o", "json"}).code, kUsage);
}

TEST_F(Cli, VersionComesInThreeForms) {
    EXPECT_EQ(run_words({"--version"}).out, "aliquot " ALIQUOT_VERSION "\n");
    EXPECT_EQ(run_words({"version"}).out, "aliquot " ALIQUOT_VERSION "\n");
    const auto json = nlohmann::json::parse(run_words({"version", "-o", "json"}).out);
    EXPECT_EQ(json["version"], ALIQUOT_VERSION);
}

TEST_F(Cli, ColourIsThereOnlyWhenItHelps) {
    const std::string path = file("a.yaml", kWrong);
    EXPECT_THAT(run_words({"config", "check", path}).out, Not(HasSubstr("\x1b")));
    EXPECT_THAT(run_words({"config", "check", "--color", "always", path}).out, HasSubstr("\x1b"));
    EXPECT_THAT(run_words({"--color", "always", "config", "check", path}).out, HasSubstr("\x1b"));
    EXPECT_THAT(run_words({"config", "check", "--color", "never", path}).out,
                Not(HasSubstr("\x1b")));
}

TEST_F(Cli, CompletionKnowsEveryCommandAndItsChoices) {
    for (const auto* shell : {"bash", "zsh", "fish"}) {
        const auto outcome = run_words({"completion", shell});
        EXPECT_EQ(outcome.code, 0);
        EXPECT_THAT(outcome.out, HasSubstr("aliquot config check"));
        EXPECT_THAT(outcome.out, HasSubstr("text table json yaml"));
        EXPECT_THAT(outcome.out, HasSubstr("bash zsh fish"));
    }
}

/// Runs the script in a real bash and asks what it would offer.
std::string complete_in_bash(const std::string& script, const std::string& words, int index) {
    const std::string command = "bash --norc -c 'source " + script + "; COMP_WORDS=(" + words +
                                "); COMP_CWORD=" + std::to_string(index) +
                                "; _aliquot; echo \"${COMPREPLY[*]}\"' 2>&1";
    std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
    std::string text;
    for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
        text += static_cast<char>(c);
    }
    return text;
}

TEST_F(Cli, BashReallyCompletesWithTheScript) {
    const std::string script = file("completion.bash", run_words({"completion", "bash"}).out);
    EXPECT_EQ(complete_in_bash(script, "aliquot con", 1), "config\n");
    EXPECT_EQ(complete_in_bash(script, "aliquot config c", 2), "check\n");
    EXPECT_EQ(complete_in_bash(script, "aliquot config check -o j", 4), "json\n");
    EXPECT_EQ(complete_in_bash(script, "aliquot config check --com", 3), "--compat\n");
    EXPECT_EQ(complete_in_bash(script, "aliquot completion z", 2), "zsh\n");
    EXPECT_EQ(complete_in_bash(script, "aliquot config check --color a", 4), "auto always\n");
}

TEST_F(Cli, CompletionAsksTheProgramAndTakesItsAnswerForNoWordsOfTheShell) {
    const std::string script = file("completion.bash", run_words({"completion", "bash"}).out);
    const std::string told = (directory_.path() / "told").string();
    const std::string program =
        file("aliquot", "#!/bin/sh\necho \"$@\" >" + told + "\necho a2\necho a100-40\necho t4\n" +
                            "echo 'a$(touch " + told + ".ran)'\n");
    std::filesystem::permissions(program, std::filesystem::perms(0755));
    EXPECT_EQ(complete_in_bash(script, program + " size batch --gpu a1", 4), "a100-40\n");
    std::ifstream words(told);
    std::string line;
    std::getline(words, line);
    EXPECT_EQ(line, "complete gpu-models -- size batch --gpu");
    EXPECT_THAT(complete_in_bash(script, program + " size batch --gpu a", 4),
                HasSubstr("a2 a100-40 a\\$\\(touch"));
    EXPECT_FALSE(std::filesystem::exists(told + ".ran"));
}

TEST_F(Cli, CompleteTellsWhatAValueCanBe) {
    EXPECT_THAT(run_words({"complete", "gpu-models"}).out, HasSubstr("\na2\n"));
    EXPECT_THAT(run_words({"complete", "models"}).out, HasSubstr("llama-3-8b\n"));
    EXPECT_THAT(run_words({"complete", "machine-types"}).out, HasSubstr("g4dn.xlarge\n"));
    EXPECT_THAT(run_words({"complete", "checks"}).out, HasSubstr("DRV003\n"));
    const std::string config = file("config",
                                    "apiVersion: v1\nkind: Config\ncontexts:\n"
                                    "- {name: prod, context: {cluster: c, user: u}}\n"
                                    "- {name: lab, context: {cluster: c, user: u}}\n");
    EXPECT_EQ(run_words({"complete", "contexts", "--", "node", "list", "--kubeconfig", config}).out,
              "lab\nprod\n");
    EXPECT_EQ(run_words({"complete", "contexts", "--", "--kubeconfig=" + config}).out,
              "lab\nprod\n");
    // What cannot be asked is nothing, without a word.
    const auto none = run_words({"complete", "nodes", "--", "--kubeconfig", config});
    EXPECT_EQ(none.out + none.err, "");
    EXPECT_EQ(none.code, kOk);
    EXPECT_EQ(run_words({"complete", "colours"}).code, kUsage);
}

TEST_F(Cli, ExplainSaysWhyItCannotLookAtANode) {
    const auto outcome = run_words(
        {"config", "explain", file("a.yaml", kGood), "--node-state", directory_.path().string()});
    EXPECT_EQ(outcome.code, 3);
    EXPECT_THAT(outcome.err, HasSubstr("look at this node"));
    EXPECT_EQ(run_words({"config", "explain", file("b.yaml", kWrong)}).code, 1);
}

TEST_F(Cli, ExplainWantsAKeyWhenAConfigMapHasSeveral) {
    const std::string path = file("map.yaml",
                                  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n"
                                  "  a: 'version: v1'\n  b: 'version: v1'\n");
    const auto outcome = run_words({"config", "explain", path});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("--key: a, b"));
    EXPECT_THAT(run_words({"config", "explain", path, "--key", "x"}).err, HasSubstr("under 'x'"));
}

}  // namespace
}  // namespace aliquot::cli
