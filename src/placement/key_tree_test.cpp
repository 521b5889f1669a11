// SPDX-License-Identifier: Apache-2.0
#include "placement/key_tree.h"

#include <gtest/gtest.h>

#include "placement/random_cluster.h"

namespace aliquot::placement {
namespace {

TEST(KeyTree, OfNothingHasNoBest) {
    KeyTree tree;
    EXPECT_EQ(tree.best().key, KeyTree::kNone);
    tree.resize(0);
    EXPECT_EQ(tree.best().key, KeyTree::kNone);
    tree.resize(100);
    EXPECT_EQ(tree.best().key, KeyTree::kNone);
}

TEST(KeyTree, AmongEqualKeysTheLowestPositionWins) {
    KeyTree tree;
    tree.resize(5'000);
    tree.set(4'999, 7);
    tree.set(64, 7);
    tree.set(63, 6);
    EXPECT_EQ(tree.best().position, 64U);
    tree.set(64, KeyTree::kNone);
    EXPECT_EQ(tree.best().position, 4'999U);
}

TEST(KeyTree, AgreesWithAPlainArrayAtEverySize) {
    Dice dice(1);
    for (const std::size_t size : {1U, 63U, 64U, 65U, 4'096U, 4'097U}) {
        KeyTree tree;
        tree.resize(size / 2);
        tree.resize(size);
        std::vector<KeyTree::Key> plain(size, KeyTree::kNone);
        for (unsigned i = 0; i < 300; ++i) {
            const std::size_t position = dice.below(static_cast<unsigned>(size));
            const KeyTree::Key key =
                dice.one_in(3) ? KeyTree::kNone : static_cast<KeyTree::Key>(dice.below(20)) - 10;
            tree.set(position, key);
            plain[position] = key;
            const auto most = std::max_element(plain.begin(), plain.end());
            ASSERT_EQ(tree.best().key, *most);
            ASSERT_EQ(tree.at(position), key);
            if (*most == KeyTree::kNone) continue;
            ASSERT_EQ(tree.best().position, static_cast<std::size_t>(most - plain.begin()));
        }
    }
}

TEST(KeyTree, KeepsItsKeysWhenItGrows) {
    KeyTree tree;
    tree.resize(10);
    tree.set(3, 5);
    tree.resize(300'000);
    EXPECT_EQ(tree.best().position, 3U);
    tree.set(299'999, 6);
    EXPECT_EQ(tree.best().position, 299'999U);
}

}  // namespace
}  // namespace aliquot::placement
