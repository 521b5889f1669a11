// SPDX-License-Identifier: Apache-2.0
#include "plan/undo.h"

#include <gtest/gtest.h>

namespace aliquot::plan {
namespace {

Record sample() {
    Record record;
    record.files = {
        {.name = "sharing.yaml", .text = "new\n", .before = std::string("\xff\0old", 5)},
        {.name = "empty.yaml", .text = "x\n", .before = ""},
        {.name = "made.yaml", .text = "y\n", .before = std::nullopt}};
    record.workloads = {{.name = "kokoro",
                         .namespace_name = "speech",
                         .given = {"nvidia.com/gpu.shared", 1},
                         .before = {"nvidia.com/gpu", 1},
                         .environment = {"DEVICE=cuda"}},
                        {.name = "train", .job = true, .given = {"nvidia.com/gpu", 2}}};
    return record;
}

TEST(UndoRecord, IsReadAsItWasWritten) {
    const auto read = read_record(to_json(sample()));
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->files.size(), 3U);
    EXPECT_EQ(read->files[0].before, std::string("\xff\0old", 5));
    EXPECT_EQ(read->files[1].before, "");
    EXPECT_EQ(read->files[2].before, std::nullopt);
    EXPECT_EQ(read->files[0].text, "new\n");
    ASSERT_EQ(read->workloads.size(), 2U);
    EXPECT_EQ(read->workloads[0].namespace_name, "speech");
    EXPECT_EQ(read->workloads[0].before, (Asked{"nvidia.com/gpu", 1}));
    EXPECT_EQ(read->workloads[0].environment, std::vector<std::string>{"DEVICE=cuda"});
    EXPECT_FALSE(read->workloads[0].job);
    EXPECT_TRUE(read->workloads[1].job);
}

TEST(UndoRecord, ThatIsNotOursIsRefused) {
    for (
        const char* const text :
        {"", "{}", "[]", R"({"schemaVersion":2,"files":[]})",
         R"({"schemaVersion":1,"files":[{"name":"../passwd","text":"","before":null}]})",
         R"({"schemaVersion":1,"files":[{"name":"","text":"","before":null}]})",
         R"({"schemaVersion":1,"files":[{"name":"..","text":"","before":null}]})",
         R"({"schemaVersion":1,"files":[{"name":"a","text":""}]})",
         R"({"schemaVersion":1,"files":[{"name":"a","text":"","before":"!"}]})",
         R"({"schemaVersion":1,"workloads":[{"name":"a; rm","given":{"resource":"r","count":1}}]})",
         R"({"schemaVersion":1,"workloads":[{"name":"a","given":{"resource":"r","count":-1}}]})"}) {
        const auto read = read_record(text);
        EXPECT_FALSE(read) << text;
    }
}

TEST(UndoRecord, WayBackKnowsWhatWasThere) {
    const Record record = sample();
    EXPECT_EQ(way_back(record.files[0], "new\n"), WayBack::kRestore);
    EXPECT_EQ(way_back(record.files[0], record.files[0].before), WayBack::kNothing);
    EXPECT_EQ(way_back(record.files[0], "by hand"), WayBack::kChanged);
    EXPECT_EQ(way_back(record.files[0], std::nullopt), WayBack::kChanged);
    EXPECT_EQ(way_back(record.files[2], "y\n"), WayBack::kRemove);
    EXPECT_EQ(way_back(record.files[2], std::nullopt), WayBack::kNothing);
    EXPECT_EQ(way_back(record.files[2], "by hand"), WayBack::kChanged);
}

TEST(UndoRecord, OfASecondPlanLeadsBackBeforeTheFirst) {
    const Record first = sample();
    Record second;
    second.files = {{.name = "sharing.yaml", .text = "newer\n", .before = "new\n"},
                    {.name = "empty.yaml", .text = "z\n", .before = "by hand"}};
    continue_record(second, first, {"new\n", "by hand", "y\n"});
    EXPECT_EQ(second.files[0].before, first.files[0].before);
    EXPECT_EQ(second.files[1].before, "by hand");  // a person's text is not lost
    ASSERT_EQ(second.files.size(), 3U);            // a file that only the first plan has
    EXPECT_EQ(second.files[2].name, "made.yaml");
    EXPECT_EQ(second.workloads.size(), 2U);
}

TEST(UndoRecord, NamesWhatThePlanMovesToAGpu) {
    Request request;
    request.pools = {*parse_gpu("a2")};
    Workload service;
    service.name = "Kokoro_TTS";
    service.memory_gib = 2;
    service.asked_resource = "nvidia.com/gpu";
    service.asked_count = 1;
    service.namespace_name = "speech";
    Workload other = service;
    other.name = "whisper";
    other.asked_resource.clear();
    other.asked_count = 0;
    Workload cpu = other;
    cpu.name = "slow";
    cpu.cpu_seconds = 1;
    cpu.enough_seconds = 2;
    request.workloads = {service, other, cpu};
    const Record record = record_of(make_plan(request), request);
    ASSERT_EQ(record.workloads.size(), 2U);
    EXPECT_EQ(record.workloads[0].name, "kokoro-tts");
    EXPECT_EQ(record.workloads[0].before, (Asked{"nvidia.com/gpu", 1}));
    EXPECT_EQ(record.workloads[1].before, Asked{});
    EXPECT_EQ(record.workloads[1].given, (Asked{"nvidia.com/gpu", 1}));
    EXPECT_EQ(record.workloads[1].environment,
              std::vector<std::string>{"WHISPER__INFERENCE_DEVICE=cuda"});
    EXPECT_FALSE(record.files.empty());
}

}  // namespace
}  // namespace aliquot::plan
