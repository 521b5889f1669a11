// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/cluster_flags.h"

#include <gtest/gtest.h>

#include <sstream>

namespace aliquot::cli {
namespace {

TEST(ClusterFlags, NameTheRightThatIsMissing) {
    EXPECT_EQ(missing_right("list nodes: nodes is forbidden: User \"ada\" cannot list resource "
                            "\"nodes\" in API group \"\" at the cluster scope"),
              "list nodes");
    EXPECT_EQ(missing_right("daemonsets.apps is forbidden: User \"ada\" cannot get resource "
                            "\"daemonsets\" in API group \"apps\" in the namespace \"gpu\""),
              "get daemonsets.apps in the namespace gpu");
    for (const auto* text : {"", "forbidden", "cannot list", " cannot x resource \"", "resource"}) {
        EXPECT_EQ(missing_right(text), "") << text;
    }
}

TEST(ClusterFlags, AKubeconfigThatIsNotThereIsAWrongWord) {
    std::ostringstream out;
    std::ostringstream err;
    Context context{.out = out, .err = err};
    EXPECT_FALSE(connect_cluster(context, {.kubeconfig = "/nowhere/config"}));
    EXPECT_EQ(context.exit_code, kUsage);
    EXPECT_NE(err.str().find("/nowhere/config"), std::string::npos) << err.str();
}

TEST(ClusterFlags, WhatTheClusterRefusesIsTheUsersWhatItCannotDoIsNot) {
    std::ostringstream out;
    std::ostringstream err;
    Context refused{.out = out, .err = err};
    fail(refused, kube_client::Failure{.reason = kube_client::Reason::kInvalid,
                                       .message = "a label is wrong"});
    EXPECT_EQ(refused.exit_code, kUsage);
    Context away{.out = out, .err = err};
    fail(away, kube_client::Failure{.reason = kube_client::Reason::kUnreachable,
                                    .message = "no connection"});
    EXPECT_EQ(away.exit_code, kCouldNotRun);
    EXPECT_NE(err.str().find("--context"), std::string::npos);
}

}  // namespace
}  // namespace aliquot::cli
