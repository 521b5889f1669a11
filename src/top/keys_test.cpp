// SPDX-License-Identifier: Apache-2.0
#include "top/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aliquot::top {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Key letter(char c) { return {Named::kCharacter, c}; }

TEST(KeyReader, KnowsBothKindsOfArrows) {
    KeyReader reader;
    EXPECT_THAT(reader.feed("\x1b[A\x1bOBq"),
                ElementsAre(Key{Named::kUp}, Key{Named::kDown}, letter('q')));
    EXPECT_THAT(reader.feed("\x1b[5~\x1b[6~\x1b[H\x1b[4~"),
                ElementsAre(Key{Named::kPageUp}, Key{Named::kPageDown}, Key{Named::kHome},
                            Key{Named::kEnd}));
}

TEST(KeyReader, PutsTogetherWhatCameInPieces) {
    KeyReader reader;
    EXPECT_THAT(reader.feed("\x1b"), IsEmpty());
    EXPECT_TRUE(reader.waiting());
    EXPECT_THAT(reader.feed("["), IsEmpty());
    EXPECT_THAT(reader.feed("A"), ElementsAre(Key{Named::kUp}));
    EXPECT_FALSE(reader.waiting());
}

TEST(KeyReader, TakesALoneEscForTheKeyWhenNothingFollows) {
    KeyReader reader;
    EXPECT_THAT(reader.feed("\x1b"), IsEmpty());
    EXPECT_THAT(reader.settle(), ElementsAre(Key{Named::kEscape}));
    EXPECT_THAT(reader.settle(), IsEmpty());
    EXPECT_THAT(reader.feed("\x1bq"), ElementsAre(Key{Named::kEscape}, letter('q')));
}

TEST(KeyReader, SkipsSequencesThatMeanNothing) {
    KeyReader reader;
    EXPECT_THAT(reader.feed("\x1b[200~x\x1b[1;5P\x1bOM"),
                ElementsAre(letter('x'), Key{Named::kEnter}));
    EXPECT_THAT(reader.feed("\xc3\xa9\t"), IsEmpty());
}

TEST(KeyReader, TellsTheMouse) {
    KeyReader reader;
    EXPECT_THAT(reader.feed("\x1b[<0;3;4M\x1b[<0;3;4m\x1b[<64;1;1M\x1b[<81;9;9M"),
                ElementsAre(Key{.name = Named::kClick, .column = 2, .line = 3},
                            Key{.name = Named::kScrollUp}, Key{.name = Named::kScrollDown}));
    EXPECT_THAT(reader.feed("\x1b[<2;3;4M\x1b[<0;0;4M\x1b[<0;3M\x1b[<0;99999999999;1M\x1b[<M"),
                IsEmpty());
}

TEST(KeyReader, DoesNotKeepASequenceWithoutEnd) {
    KeyReader reader;
    EXPECT_THAT(reader.feed("\x1b[" + std::string(1000, '1')), IsEmpty());
    EXPECT_FALSE(reader.waiting());
    EXPECT_THAT(reader.feed("q"), ElementsAre(letter('q')));
}

}  // namespace
}  // namespace aliquot::top
