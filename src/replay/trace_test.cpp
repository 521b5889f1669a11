// SPDX-License-Identifier: Apache-2.0
#include "replay/trace.h"

#include <gtest/gtest.h>

namespace aliquot::replay {
namespace {

TEST(Trace, ReadsOurColumnsInAnyOrder) {
    const auto trace = read_csv("t.csv",
                                "name,gpus,duration,submit,user,queue,other\n"
                                "\"train, big\",8,60,120,ann,lab,x\r\n"
                                "\n"
                                "small,0.25,1.5,100,bob,,\n"
                                "nothing,0,5,130,bob,,\n");
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    ASSERT_EQ(trace->jobs.size(), 2U);
    EXPECT_EQ(trace->skipped, 1U);
    EXPECT_EQ(trace->jobs[0].name, "small");
    EXPECT_EQ(trace->jobs[0].submit, 0);
    EXPECT_EQ(trace->jobs[0].milli, 250);
    EXPECT_EQ(trace->jobs[0].duration, 1'500);
    EXPECT_EQ(trace->jobs[1].name, "train, big");
    EXPECT_EQ(trace->jobs[1].submit, 20'000);
    EXPECT_EQ(trace->jobs[1].gpus, 8U);
    EXPECT_EQ(trace->jobs[1].queue, "lab");
}

TEST(Trace, ReadsAlibabasTaskLists) {
    const auto trace =
        read_csv("pods.csv",
                 "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
                 "deletion_time,scheduled_time\n"
                 "a,12000,16384,1,460,,LS,Running,10,110,30\n"
                 "b,12000,16384,2,1000,,LS,Running,20,30,20\n"
                 "c,12000,16384,0,0,,LS,Running,20,30,20\n"
                 "d,12000,16384,1,1000,,LS,Pending,20,30,\n");
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    ASSERT_EQ(trace->jobs.size(), 2U);
    EXPECT_EQ(trace->jobs[0].milli, 460);
    EXPECT_EQ(trace->jobs[0].duration, 80'000);
    EXPECT_EQ(trace->jobs[1].gpus, 2U);
    EXPECT_EQ(trace->skipped, 2U);
}

TEST(Trace, SaysWhichLineIsWrongAndWhatIsExpected) {
    const auto message = [](const char* text) {
        const auto trace = read_csv("t.csv", text);
        return trace.ok() ? std::string() : trace.error().message;
    };
    EXPECT_EQ(message("a,b\n1,2\n"),
              "t.csv:1: no column submit, expected a heading such as "
              "submit,duration,gpus,user,queue,name");
    EXPECT_EQ(message("submit,duration\n1,-3\n"),
              "t.csv:2: duration is -3, expected a number of seconds, 0 or more");
    EXPECT_EQ(message("submit,duration,gpus\n1,3,1.5\n"),
              "t.csv:2: gpus is 1.5, expected a whole number, or a part of one GPU");
    EXPECT_EQ(message("submit,duration\nx,3\n"),
              "t.csv:2: submit is x, expected a number of seconds, 0 or more");
    EXPECT_EQ(message("submit,duration\n"),
              "t.csv: no job that wants GPUs and has a run time, 0 lines skipped");
    EXPECT_NE(message("submit,duration\n1,1e300\n"), "");
}

TEST(Trace, ReadsGavelsStepsBySpeed) {
    const char* const speeds =
        "{\"v100\": {\"('ResNet-18 (batch size 16)', 2)\": {\"null\": 10.0}, \"('LM', 1)\": "
        "{\"null\": 0}}}";
    const auto trace =
        read_gavel("g.trace",
                   "ResNet-18 (batch size 16)\tpython3\t--num_steps\t1\t500\t30.0\t2\n"
                   "LM\tpython3\t--steps\t1\t500\t40.0\t1\n",
                   "s.json", speeds);
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    ASSERT_EQ(trace->jobs.size(), 1U);
    EXPECT_EQ(trace->skipped, 1U);
    EXPECT_EQ(trace->jobs[0].duration, 50'000);
    EXPECT_EQ(trace->jobs[0].gpus, 2U);
    EXPECT_FALSE(read_gavel("g.trace", "a\tb\n", "s.json", speeds).ok());
    EXPECT_FALSE(read_gavel("g.trace", "", "s.json", "[]").ok());
}

TEST(Trace, ReadsPhillysAttemptsAsOneRun) {
    const auto trace = read_philly("log.json", R"([
        {"status": "Pass", "vc": "6214e9", "jobid": "a", "user": "u1", "submitted_time": "2017-10-09 07:01:55",
         "attempts": [
           {"start_time": "2017-10-09 07:02:05", "end_time": "2017-10-09 07:12:05",
            "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu0"]}]},
           {"start_time": "2017-10-09 08:00:00", "end_time": "2017-10-09 08:00:30",
            "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}]},
        {"status": "Killed", "vc": "6214e9", "jobid": "b", "user": "u1", "submitted_time": "None", "attempts": []}
    ])");
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    ASSERT_EQ(trace->jobs.size(), 1U);
    EXPECT_EQ(trace->jobs[0].gpus, 3U);
    EXPECT_EQ(trace->jobs[0].duration, 630'000);
    EXPECT_EQ(trace->jobs[0].queue, "6214e9");
    EXPECT_EQ(trace->skipped, 1U);
    EXPECT_FALSE(read_philly("log.json", "{").ok());
}

TEST(Trace, MakesTheSameJobsFromTheSameSeedAndTheLoadThatIsWanted) {
    const auto first = synthetic({.jobs = 20'000, .gpus = 64, .load = 0.8, .seed = 3});
    const auto again = synthetic({.jobs = 20'000, .gpus = 64, .load = 0.8, .seed = 3});
    ASSERT_TRUE(first.ok() && again.ok());
    ASSERT_EQ(first->jobs.size(), 20'000U);
    double work = 0;
    std::size_t ones = 0;
    for (std::size_t i = 0; i < first->jobs.size(); ++i) {
        const TraceJob& job = first->jobs[i];
        EXPECT_EQ(job.submit, again->jobs[i].submit);
        EXPECT_EQ(job.duration, again->jobs[i].duration);
        work += static_cast<double>(job.duration) * job.gpus;
        ones += job.gpus == 1 ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(ones) / 20'000, 0.7, 0.02);
    EXPECT_NEAR(work / (64.0 * static_cast<double>(first->jobs.back().submit)), 0.8, 0.08);
    EXPECT_FALSE(synthetic({.jobs = 0}).ok());
    EXPECT_FALSE(synthetic({.load = -1}).ok());
}

}  // namespace
}  // namespace aliquot::replay
