// SPDX-License-Identifier: Apache-2.0
#include "agent/claim_switch.h"

#include <gmock/gmock.h>

#include "node/names.h"

namespace aliquot::agent {
namespace {

using Mode = ClaimOptions::Mode;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ChooseClaims, TheLabelGoesBeforeTheFlag) {
    const auto mode = [](Mode flag, const std::optional<std::string>& label) {
        const ClaimChoice choice = choose_claims(flag, label, std::nullopt);
        EXPECT_THAT(choice.problem, IsEmpty());
        return choice.mode;
    };
    EXPECT_EQ(mode(Mode::kByLabel, std::nullopt), Mode::kOff);
    EXPECT_EQ(mode(Mode::kByLabel, "auto"), Mode::kAuto);
    EXPECT_EQ(mode(Mode::kAuto, std::nullopt), Mode::kAuto);
    EXPECT_EQ(mode(Mode::kAuto, ""), Mode::kAuto);
    EXPECT_EQ(mode(Mode::kAuto, "off"), Mode::kOff);
    EXPECT_EQ(mode(Mode::kWhole, "consumable"), Mode::kConsumable);
    EXPECT_EQ(mode(Mode::kOff, std::nullopt), Mode::kOff);
    EXPECT_EQ(mode(Mode::kOff, "off"), Mode::kOff);
    for (const std::string_view word : node::kDraModes) {
        EXPECT_EQ(to_text(mode(Mode::kByLabel, std::string(word))), word);
    }
}

TEST(ChooseClaims, AWrongLabelChangesNothingAndIsTold) {
    const auto fresh = choose_claims(Mode::kByLabel, "atuo", std::nullopt);
    EXPECT_EQ(fresh.mode, Mode::kOff);
    EXPECT_EQ(
        fresh.problem,
        "label aliquot.dev/dra=atuo: expected off, auto, whole, fixed, consumable, dynamic-mig; it "
        "stays "
        "'off'");
    EXPECT_EQ(choose_claims(Mode::kByLabel, "by-label", Mode::kWhole).mode, Mode::kWhole);
    EXPECT_EQ(choose_claims(Mode::kAuto, "x", std::nullopt).mode, Mode::kAuto);
    const auto without_rights = choose_claims(Mode::kOff, "auto", std::nullopt);
    EXPECT_EQ(without_rights.mode, Mode::kOff);
    EXPECT_THAT(without_rights.problem, HasSubstr("--dra=off; aliquot install --dra by-label"));
}

/// A Node whose label the test sets; nobody serves claims.
struct Labelled {
    k8s::Node node;
    bool seen = true;
    unsigned made = 0;
    ClaimSwitch::Sources sources() {
        return {.node = [this]() -> std::optional<k8s::Node> {
                    return seen ? std::optional(node) : std::nullopt;
                },
                .make =
                    [this] {
                        ++made;
                        return std::unique_ptr<ClaimService>();
                    }};
    }
};

TEST(ClaimSwitch, KnowsNothingBeforeTheNodeIsSeenWhereALabelDecides) {
    Labelled labelled;
    labelled.seen = false;
    ClaimSwitch by_label(Mode::kByLabel, false, labelled.sources());
    EXPECT_FALSE(by_label.look());
    EXPECT_FALSE(by_label.is_known());
    labelled.seen = true;
    EXPECT_TRUE(by_label.look());
    EXPECT_TRUE(by_label.is_known());
    EXPECT_FALSE(by_label.serves());
    EXPECT_FALSE(by_label.look()) << "nothing new";
    labelled.seen = false;
    EXPECT_FALSE(by_label.look());
    EXPECT_TRUE(by_label.is_known()) << "an API server that is away changes nothing";
    EXPECT_EQ(labelled.made, 0U);
    ClaimSwitch off(Mode::kOff, false, {});
    EXPECT_TRUE(off.is_known());
}

TEST(ClaimSwitch, FollowsTheLabelAndTellsAWrongOne) {
    Labelled labelled;
    ClaimSwitch by_label(Mode::kByLabel, false, labelled.sources());
    EXPECT_TRUE(by_label.look());
    labelled.node.labels[node::kDraLabel] = "whole";
    EXPECT_TRUE(by_label.look());
    EXPECT_EQ(labelled.made, 1U);
    labelled.node.labels[node::kDraLabel] = "hole";
    EXPECT_FALSE(by_label.look()) << "it stays";
    EXPECT_THAT(by_label.problem(), HasSubstr("it stays 'whole'"));
    labelled.node.labels.erase(node::kDraLabel);
    EXPECT_TRUE(by_label.look());
    EXPECT_THAT(by_label.problem(), IsEmpty());
}

}  // namespace
}  // namespace aliquot::agent
