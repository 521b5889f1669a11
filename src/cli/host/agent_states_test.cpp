// SPDX-License-Identifier: Apache-2.0
#include "cli/host/agent_states.h"

#include <gtest/gtest.h>

namespace aliquot::cli {
namespace {

TEST(AgentAddress, IsReadInAllItsForms) {
    const std::vector<std::pair<std::string, std::string>> good{
        {"10.0.0.1:9400", "http://10.0.0.1:9400/api/v1/state"},
        {"gpu-node-1", "http://gpu-node-1:9400/api/v1/state"},
        {"[::1]:8080", "http://[::1]:8080/api/v1/state"},
        {"[::1]", "http://[::1]:9400/api/v1/state"},
        {"http://localhost:1234/", "http://localhost:1234/api/v1/state"},
        {"https://proxy/nodes/a", "https://proxy/nodes/a/api/v1/state"},
        {"https://proxy/nodes/a/api/v1/state", "https://proxy/nodes/a/api/v1/state"},
    };
    for (const auto& [text, url] : good) {
        const auto place = parse_agent(text);
        ASSERT_TRUE(place) << text;
        EXPECT_EQ(place->url, url);
        EXPECT_EQ(place->name, text);
        EXPECT_TRUE(place->socket.empty());
    }
    const auto socket = parse_agent("unix:/run/a.sock");
    ASSERT_TRUE(socket);
    EXPECT_EQ(socket->socket, "/run/a.sock");
}

TEST(AgentAddress, RefusesWhatIsNone) {
    for (const auto* text : {"", ":9400", "host:", "host:0", "host:65536", "host:9400x", "::1",
                             "a b", "unix:", "unix:a", "ftp://host", "http://",
                             "http://user:secret@host", "host/path", "[::1", "http://h?q=1"}) {
        const auto place = parse_agent(text);
        ASSERT_FALSE(place) << text;
        EXPECT_EQ(place.error().code, ErrorCode::kInvalidInput) << text;
        EXPECT_EQ(place.error().message.find("secret"), std::string::npos);
    }
    EXPECT_FALSE(parse_agent(std::string(1000, 'a')));
}

TEST(AgentStates, SaysWhoDoesNotListen) {
    auto nobody = parse_agent("unix:/nonexistent/agent.sock");
    ASSERT_TRUE(nobody);
    AgentStates states({*nobody, *nobody}, {});
    for (int i = 0; i < 2; ++i) {
        const auto answers = states.ask();
        ASSERT_EQ(answers.size(), 2U);
        for (const auto& answer : answers) {
            ASSERT_FALSE(answer);
            EXPECT_EQ(answer.error().code, ErrorCode::kNotFound) << answer.error().message;
        }
    }
}

}  // namespace
}  // namespace aliquot::cli
