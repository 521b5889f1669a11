// SPDX-License-Identifier: Apache-2.0
#include "registry/reference.h"

#include <gtest/gtest.h>

namespace aliquot::registry {
namespace {

const std::string kDigest = "sha256:" + std::string(64, 'a');

std::string parts(const std::string& text) {
    const auto found = parse_reference(text);
    return found ? found->registry + " " + found->repository + " " + found->version() : "refused";
}

TEST(Reference, IsSplitAsDockerSplitsIt) {
    EXPECT_EQ(parts("ubuntu"), "registry-1.docker.io library/ubuntu latest");
    EXPECT_EQ(parts("docker.io/ubuntu:22.04"), "registry-1.docker.io library/ubuntu 22.04");
    EXPECT_EQ(parts("pytorch/pytorch:2.1.0-cuda12.1-cudnn8-devel"),
              "registry-1.docker.io pytorch/pytorch 2.1.0-cuda12.1-cudnn8-devel");
    EXPECT_EQ(parts("docker://ghcr.io/actions/actions-runner:latest"),
              "ghcr.io actions/actions-runner latest");
    EXPECT_EQ(parts("localhost:5000/ci"), "localhost:5000 ci latest");
    EXPECT_EQ(parts("localhost/ci:a"), "localhost ci a");
    EXPECT_EQ(parts("[::1]:5000/ci:a"), "[::1]:5000 ci a");
    EXPECT_EQ(parts("ghcr.io/a/b:1@" + kDigest), "ghcr.io a/b " + kDigest);
    EXPECT_EQ(parts("a__b/c-d--e.f"), "registry-1.docker.io a__b/c-d--e.f latest");
}

TEST(Reference, IsShownAsPeopleWriteIt) {
    EXPECT_EQ(parse_reference("ubuntu")->text(), "docker.io/library/ubuntu:latest");
    EXPECT_EQ(parse_reference("ghcr.io/a/b@" + kDigest)->text(), "ghcr.io/a/b@" + kDigest);
}

TEST(Reference, OfNoImageIsRefused) {
    for (const char* const wrong : {"",
                                    "/",
                                    "a/",
                                    "/a",
                                    "a//b",
                                    "A",
                                    "a:",
                                    "a:-1",
                                    "a b",
                                    "a\nb",
                                    "a@sha256:1",
                                    "a@md5:00",
                                    "x.y/",
                                    "https://ghcr.io/a",
                                    "a..b",
                                    "a._b",
                                    ".a",
                                    "-a",
                                    "a-",
                                    "ghcr.io/a/../b",
                                    "user:pass@ghcr.io/a",
                                    "g%68cr.io/a"}) {
        EXPECT_EQ(parts(wrong), "refused") << wrong;
    }
    EXPECT_EQ(parts(std::string(300, 'a')), "refused");
    EXPECT_EQ(parts("a:" + std::string(129, 'a')), "refused");
    const auto why = parse_reference("Runner:1").error();
    EXPECT_EQ(why.code, ErrorCode::kInvalidInput);
    EXPECT_NE(why.message.find("'Runner:1'"), std::string::npos) << why.message;
}

TEST(Reference, OfThisHostIsKnown) {
    EXPECT_TRUE(parse_reference("localhost:5000/a")->is_local());
    EXPECT_TRUE(parse_reference("127.0.0.1:5000/a")->is_local());
    EXPECT_TRUE(parse_reference("[::1]:5000/a")->is_local());
    EXPECT_FALSE(parse_reference("localhost.example:5000/a")->is_local());
    EXPECT_FALSE(parse_reference("ghcr.io/a/b")->is_local());
}

}  // namespace
}  // namespace aliquot::registry
