// SPDX-License-Identifier: Apache-2.0
#include "http/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::http {
namespace {

using State = Reading::State;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

Reading read(const std::string& first_line, const std::string& fields = "Host: a\r\n") {
    return read_head(first_line + "\r\n" + fields + "\r\n");
}

TEST(Message, IsReadOnceItIsWhole) {
    const std::string text =
        "GET /metrics?name%5B%5D=a+b&x HTTP/1.1\r\nHost: n:1\r\nX-A:  b \r\n\r\n";
    for (std::size_t size = 0; size < text.size(); ++size) {
        EXPECT_EQ(read_head(text.substr(0, size)).state, State::kIncomplete) << size;
    }
    const Reading whole = read_head(text + "next");
    ASSERT_EQ(whole.state, State::kComplete);
    const Request& request = whole.head.request;
    EXPECT_EQ(whole.head.head_bytes, text.size());
    EXPECT_EQ(request.method, "GET");
    EXPECT_EQ(request.path, "/metrics");
    EXPECT_THAT(request.query, ElementsAre(Pair("name[]", "a b"), Pair("x", "")));
    EXPECT_EQ(request.parameter("name[]"), "a b");
    EXPECT_EQ(request.parameter("y"), "");
    EXPECT_EQ(request.header("x-a"), "b");
    EXPECT_TRUE(whole.head.keep_alive);
}

TEST(Message, KeepsTheConnectionAsVersionAndFieldSay) {
    EXPECT_TRUE(read("GET / HTTP/1.1").head.keep_alive);
    EXPECT_FALSE(read("GET / HTTP/1.1", "Host: a\r\nConnection: x, Close\r\n").head.keep_alive);
    EXPECT_FALSE(read("GET / HTTP/1.0", "").head.keep_alive);
    EXPECT_TRUE(read("GET / HTTP/1.0", "Connection: Keep-Alive\r\n").head.keep_alive);
}

TEST(Message, DecodesAPathAndLeavesWhatIsNoEscape) {
    EXPECT_EQ(read("GET /pods/%2A/a+b%zz%4 HTTP/1.1").head.request.path, "/pods/*/a+b%zz%4");
    EXPECT_EQ(read("GET http://host:9/x?y=1 HTTP/1.1").head.request.path, "/x");
    EXPECT_EQ(read("GET http://host HTTP/1.1").head.request.path, "/");
}

TEST(Message, JoinsFieldsThatStandThereTwice) {
    const Reading twice = read("GET / HTTP/1.1", "Host: a\r\nAccept: b\r\naccept: c\r\n");
    EXPECT_EQ(twice.head.request.header("accept"), "b, c");
}

TEST(Message, RefusesWhatCouldBeReadInTwoWays) {
    const std::string host = "Host: a\r\n";
    EXPECT_EQ(read("GET / HTTP/1.1", "").status, 400);
    EXPECT_EQ(read("GET  / HTTP/1.1").status, 400);
    EXPECT_EQ(read("GET / HTTP/2.0").status, 505);
    EXPECT_EQ(read("GET / x").status, 400);
    EXPECT_EQ(read("GET metrics HTTP/1.1").status, 400);
    EXPECT_EQ(read("GET / HTTP/1.1", host + " folded: x\r\n").status, 400);
    EXPECT_EQ(read("GET / HTTP/1.1", host + "Name : x\r\n").status, 400);
    EXPECT_EQ(read("GET / HTTP/1.1", host + "no colon\r\n").status, 400);
    EXPECT_EQ(read("GET / HTTP/1.1", host + "A: b\nC: d\r\n").status, 400);
    EXPECT_EQ(read("GET / HTTP/1.1", host + host).status, 400);
    EXPECT_EQ(read("GET / HTTP/1.1", host + "Content-Length: 1\r\nContent-Length: 1\r\n").status,
              400);
    EXPECT_EQ(read("GET / HTTP/1.1", host + "Content-Length: -1\r\n").status, 400);
    EXPECT_EQ(read("GET / HTTP/1.1", host + "Content-Length: 99999999999999999999\r\n").status,
              413);
    EXPECT_EQ(read("GET / HTTP/1.1", host + "Transfer-Encoding: chunked\r\n").status, 411);
    EXPECT_EQ(read_head("\x16\x03\x01").status, 400);
    EXPECT_EQ(read_head("\x16\x03\x01").state, State::kRefused);
}

TEST(Message, RefusesWhatIsTooLongBeforeItEnds) {
    EXPECT_EQ(read_head("GET /" + std::string(9000, 'x')).status, 414);
    EXPECT_EQ(read_head("GET / HTTP/1.1\r\nA: " + std::string(20000, 'x')).status, 431);
    std::string many;
    for (int i = 0; i < 101; ++i) many += "A" + std::to_string(i) + ": b\r\n";
    EXPECT_EQ(read("GET / HTTP/1.1", many).status, 431);
}

TEST(Message, WritesAnAnswersHead) {
    const std::string head =
        write_head({.status = 404, .content_type = "text/plain", .body_bytes = 12, .close = true},
                   {{"X-Own", "1"}, {"X-Evil", "a\r\nSet-Cookie: b"}, {"No Name", "x"}});
    EXPECT_TRUE(head.starts_with("HTTP/1.1 404 Not Found\r\nDate: "));
    EXPECT_THAT(head, HasSubstr("\r\nContent-Length: 12\r\nConnection: close\r\nX-Own: 1\r\n\r\n"));
    EXPECT_THAT(head, Not(HasSubstr("Evil")));
    EXPECT_THAT(head, Not(HasSubstr("Server:")));
    EXPECT_THAT(write_head({.status = 204}, {}), Not(HasSubstr("Content-Length")));
}

}  // namespace
}  // namespace aliquot::http
