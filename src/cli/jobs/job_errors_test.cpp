// SPDX-License-Identifier: Apache-2.0
// Wrong words are said before anybody is asked: exit code 2, with the option, or file, line and column.
#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "cli/commands.h"
#include "os/temporary_directory.h"

namespace aliquot::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

struct Said {
    int code = 0;
    std::string err;
};

/// Where nobody listens: no server, no cluster.
class JobErrors : public testing::Test {
protected:
    JobErrors() {
        for (const char* const name : {"KUBECONFIG", "KUBERNETES_SERVICE_HOST"}) ::unsetenv(name);
        ::setenv("HOME", directory_.path().c_str(), 1);
        ::setenv("ALIQUOT_JOBS", (directory_.path() / "none.sock").c_str(), 1);
    }
    ~JobErrors() override { ::unsetenv("ALIQUOT_JOBS"); }

    static Said say(Words words) {
        constexpr auto kCommands =
            std::to_array<Command>({{"job", add_job_command}, {"queue", add_queue_command}});
        words.insert(words.begin(), "aliquot");
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        std::ostringstream out;
        std::ostringstream err;
        auto* const real_out = std::cout.rdbuf(out.rdbuf());
        auto* const real_err = std::cerr.rdbuf(err.rdbuf());
        std::vector<char*> given = with_help_option(static_cast<int>(argv.size()), argv.data());
        const int code = run(static_cast<int>(given.size()) - 1, given.data(), kCommands);
        std::cout.rdbuf(real_out);
        std::cerr.rdbuf(real_err);
        return {code, err.str()};
    }
    std::string file(const std::string& text, const std::string& name = "job.yaml") {
        std::ofstream(directory_.path() / name, std::ios::binary) << text;
        return (directory_.path() / name).native();
    }
    void expect_usage(const Words& words, const std::vector<std::string>& parts) {
        const Said said = say(words);
        EXPECT_EQ(said.code, 2) << said.err;
        for (const std::string& part : parts) EXPECT_THAT(said.err, HasSubstr(part));
        EXPECT_THAT(said.err, Not(HasSubstr("listens")));
        EXPECT_THAT(said.err, Not(HasSubstr("aliquot serve")));
    }

    os::TemporaryDirectory directory_;
};

TEST_F(JobErrors, WrongOptionsOfAJobAreNamedWithTheirValues) {
    const std::vector<std::pair<Words, std::vector<std::string>>> wrong{
        {{"--gpu-memory", "8Gx"}, {"--gpu-memory: '8Gx'", "512Mi or 8Gi"}},
        {{"--gpu-memory", "0"}, {"--gpu-memory: '0'"}},
        {{"--gpu-memory", "8Gi", "--gpu", "2"}, {"--gpu: 2"}},
        {{"--gpu-compute", "101"}, {"--gpu-compute", "101"}},
        {{"--gpu", "3"}, {"--gpu: 3"}},
        {{"--gpu", "x"}, {"--gpu", "x"}},
        {{"--gpu", "-1"}, {"--gpu", "-1"}},
        {{"--gpu-type", "a1000"}, {"--gpu-type: 'a1000'"}},
        {{"--memory", "16Gib"}, {"--memory: '16Gib'"}},
        {{"--cpu", "many"}, {"--cpu: 'many'"}},
        {{"--time", "2 hours"}, {"--time: '2 hours'"}},
        {{"--time", "40d"}, {"--time"}},
        {{"--cpu-after", "soon"}, {"--cpu-after: 'soon'"}},
        {{"--idle-after", "5s"}, {"--idle-after"}},
        {{"--name", "Train_1"}, {"--name: 'Train_1'"}},
        {{"--queue", "a b"}, {"--queue: 'a b'"}},
        {{"--env", "=x"}, {"--env: '=x'"}},
        {{"--env", "NOT_SET_HERE_1"}, {"--env: 'NOT_SET_HERE_1'"}},
        {{"--after", "abc"}, {"--after", "'abc'"}},
        {{"--gang", "2", "--array", "2"}, {"--gang"}},
        {{"--gang", "2", "--gpu-compute", "50"}, {"--gang"}},
        {{"--retries", "1000"}, {"--retries", "1000"}},
        {{"--workdir", "here"}, {"--workdir: 'here'"}},
        {{"--priority", "high"}, {"--priority", "high"}},
        {{"--priority-class", "high"}, {"--priority-class"}},
        {{"--image", "-x"}, {"--image"}},
    };
    for (const auto& [options, parts] : wrong) {
        for (const char* const command : {"submit", "forecast"}) {
            if (options[0] == "--after" && std::string_view(command) != "submit") continue;
            Words words{"job", command};
            words.insert(words.end(), options.begin(), options.end());
            words.insert(words.end(), {"--", "true"});
            SCOPED_TRACE(testing::PrintToString(words));
            expect_usage(words, parts);
        }
    }
    expect_usage({"job", "submit"}, {"COMMAND: is empty"});
    expect_usage({"job", "template", "--gpu-memory", "8Gx", "--image", "i", "--", "true"},
                 {"--gpu-memory: '8Gx'"});
    // What is right gets as far as the server, which is not there.
    const Said right = say({"job", "submit", "--gpu-memory", "8Gi", "--", "true"});
    EXPECT_EQ(right.code, 3) << right.err;
    EXPECT_THAT(right.err, HasSubstr("aliquot serve"));
}

TEST_F(JobErrors, WrongFieldsOfAFileAreNamedWithTheirPlace) {
    const std::vector<std::pair<std::string, std::string>> wrong{
        {"task_id: t1\ncommand: [x]\ngpu_memory: 8Gx\n", "job.yaml:3:13: gpu_memory: '8Gx'"},
        {"task_id: t1\ngpus: 2\n", "job.yaml:2:1: gpus: no field"},
        {"task_id: t1\ncommand: [x]\ngpu_count: two\n", "job.yaml:3:12: gpu_count: "},
        {"task_id: t1\ncommand: x\n", "job.yaml:2:10: command: "},
        {"task_id: t1\ncommand:\n- x\nafter:\n- 3\n- b\n", "job.yaml:6:3: after[1]: 'b'"},
        {"task_id: t1\ncommand: [x]\nenv:\n  A: {}\n", "job.yaml:4:6: env.A: "},
        {"- a\n", "job.yaml:1:1: "},
        {"task_id: t1\n", "job.yaml: command: is empty"},
        {"task_id: [\n", "job.yaml"},
        {"{\"task_id\": \"t1\",\n \"command\": [\"x\"],\n \"gpu_count\": 3}", "job.yaml:3"},
    };
    for (const auto& [text, part] : wrong) {
        SCOPED_TRACE(text);
        expect_usage({"job", "submit", "-f", file(text)}, {part});
    }
    // An option wins over the file, and is named then.
    expect_usage({"job", "submit", "-f", file("task_id: t1\ncommand: [x]\ngpu_memory: 8Gi\n"),
                  "--gpu-memory", "8Gx"},
                 {"--gpu-memory: '8Gx'"});
    expect_usage({"job", "submit", "-f", "/no/such/job.yaml"}, {"/no/such/job.yaml"});
}

TEST_F(JobErrors, WrongJobsAndQueuesAreSaidBeforeAnybodyIsAsked) {
    for (const char* const command :
         {"show", "explain", "logs", "wait", "cancel", "suspend", "resume", "retry", "delete"}) {
        SCOPED_TRACE(command);
        expect_usage({"job", command, "train"}, {"'train' is not a job"});
        expect_usage({"job", command, "0"}, {"'0' is not a job"});
        expect_usage({"job", command}, {"JOB"});
    }
    // None is cancelled when one of them is wrong.
    expect_usage({"job", "cancel", "1", "x"}, {"'x' is not a job"});
    expect_usage({"job", "wait", "1", "x"}, {"'x' is not a job"});
    expect_usage({"job", "wait", "1", "--timeout", "5"}, {"--timeout: '5'"});
    expect_usage({"job", "list", "--queue", "a b"}, {"--queue: 'a b'"});
    expect_usage({"job", "list", "--limit", "0"}, {"--limit", "0"});
    expect_usage({"job", "list", "-o", "xml"}, {"xml"});
    expect_usage({"queue", "pending", "a&b=c"}, {"QUEUE: 'a&b=c'"});
    expect_usage({"queue", "show", "A B"}, {"QUEUE: 'A B'"});
    expect_usage({"queue", "apply", "-f", file("queues: 3\n", "queues.yaml")}, {"queues.yaml"});
    expect_usage({"queue", "simulate", "--gpus", "0"}, {"--gpus", "0"});
    expect_usage({"queue", "simulate", "--policy", "best"}, {"--policy", "best"});
    expect_usage({"queue", "simulate", "--trace", "/no/such.csv"}, {"/no/such.csv"});
    expect_usage({"queue", "simulate", "--load", "-1"}, {"--load", "-1"});
    EXPECT_EQ(say({"job", "list"}).code, 3);
}

}  // namespace
}  // namespace aliquot::cli
