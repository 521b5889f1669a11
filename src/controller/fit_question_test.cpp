// SPDX-License-Identifier: Apache-2.0
#include "controller/fit_question.h"

#include <gtest/gtest.h>

#include "controller/test_nodes.h"
#include "scheduling/test_books.h"

namespace aliquot::controller {
namespace {

using scheduling::Books;
using Kind = scheduling::Decision::Kind;

FitQuestion asks(const std::string& name, unsigned units, const std::string& owner = "") {
    auto pod = scheduling::pod(name + "/main/0", kShare, units);
    pod.owner = owner;
    return {.name = name, .pods = {pod}};
}

class FitInquiries : public testing::Test {
protected:
    FitInquiries() { books_.set_node(shared_node("a", 2, 4)); }

    Books books_;
};

TEST_F(FitInquiries, GivePlacesInTheirOrderAndLeaveTheBooksAsTheyWere) {
    const auto answers = answer(
        {.promised = {asks("before", 4)}, .questions = {asks("first", 3), asks("second", 2)}},
        books_);
    ASSERT_EQ(answers.size(), 2U);
    EXPECT_EQ(answers[0].kind, Kind::kPlaced);
    EXPECT_TRUE(answers[0].beside_promised);
    EXPECT_EQ(answers[0].nodes, std::vector<std::string>{"a"});
    EXPECT_EQ(answers[1].kind, Kind::kPlaced) << "alone it has room";
    EXPECT_FALSE(answers[1].beside_promised);
    EXPECT_EQ(scheduling::free_on(books_, "a-0") + scheduling::free_on(books_, "a-1"), 8U);
    EXPECT_EQ(books_.self_check(), "");
}

TEST_F(FitInquiries, ALaterOneIsNotHeldUpByOneThatHasNoPlace) {
    const auto answers =
        answer({.promised = {}, .questions = {asks("large", 5), asks("small", 4)}}, books_);
    ASSERT_EQ(answers.size(), 2U);
    EXPECT_EQ(answers[0].kind, Kind::kNever) << answers[0].why;
    EXPECT_TRUE(answers[1].beside_promised);
}

TEST_F(FitInquiries, APromiseWhosePodsAreThereCountsOnce) {
    auto made = scheduling::bound(scheduling::pod("made", kShare, 4), "a");
    made.owner = "job";
    books_.set_pod(made);
    const FitInquiry inquiry{.promised = {asks("before", 4, "job")},
                             .questions = {asks("next", 4)}};
    EXPECT_TRUE(answer(inquiry, books_).at(0).beside_promised);
    books_.remove_pod("made");
    EXPECT_TRUE(answer(inquiry, books_).at(0).beside_promised);
    books_.set_pod(scheduling::bound(scheduling::pod("else", kShare, 4), "a"));
    EXPECT_FALSE(answer(inquiry, books_).at(0).beside_promised);
}

TEST_F(FitInquiries, NobodyHasRoomWhereAPromiseHasNone) {
    books_.set_pod(scheduling::bound(scheduling::pod("else", kShare, 4), "a"));
    books_.set_pod(scheduling::bound(scheduling::pod("more", kShare, 2), "a"));
    const auto answers =
        answer({.promised = {asks("before", 4)}, .questions = {asks("small", 1)}}, books_);
    EXPECT_EQ(answers.at(0).kind, Kind::kPlaced);
    EXPECT_FALSE(answers.at(0).beside_promised);
}

}  // namespace
}  // namespace aliquot::controller
