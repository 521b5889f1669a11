// SPDX-License-Identifier: Apache-2.0
// docs/internals/border.md says what is so.
#include <filesystem>
#include <set>

#include "base/take_text.h"
#include "os/exchange.h"
#include "tests/attack/attack_node.h"
#include "tests/case_files.h"

namespace aliquot::attack {
namespace {

using namespace std::chrono_literals;

/// The first words in `backquotes` of a table's rows behind a mark; with `word`, only of rows that say it in
/// the second column.
std::set<std::string> rows(const std::string& mark, const std::string& word = "") {
    const std::string text =
        cases::read(std::filesystem::path(ALIQUOT_SOURCE_DIR) / "docs/internals/border.md");
    const auto begin = text.find("<!-- " + mark);
    const auto end = text.find("<!-- end of " + mark);
    std::set<std::string> found;
    if (begin == std::string::npos || end == std::string::npos) return found;
    std::string_view rest = std::string_view(text).substr(begin, end - begin);
    while (!rest.empty()) {
        std::string_view line = take_line(rest);
        if (!line.starts_with("| `")) continue;
        take_until(line, '`');
        const std::string name(take_until(line, '`'));
        take_until(line, '|');
        const std::string_view second = take_until(line, '|');
        if (second.find(word) != std::string_view::npos) found.insert(name);
    }
    return found;
}

std::set<std::string> lines(std::string_view text) {
    std::set<std::string> found;
    while (!text.empty()) found.emplace(take_line(text));
    return found;
}

TEST(Border, EveryAttackIsToldWithWhatComesOfIt) {
    const auto list = os::exchange(
        {.argv = {ALIQUOT_TEST_DIR "/attacker", "list"}, .environment = os::current_environment()},
        "", {.deadline = 60s});
    ASSERT_TRUE(list) << list.error().message;
    EXPECT_EQ(lines(list->output), rows("attacks"));
}

/// Lists what there is, then what can be written or, of a directory, what takes a new file.
constexpr std::string_view kTryAll = R"sh(
find /run/aliquot ! -type d
echo
find /run/aliquot | while read -r place; do
    if [ -d "$place" ]; then true >"$place/new"
    elif [ -f "$place" ]; then true >>"$place"
    else false
    fi 2>/dev/null && echo "$place"
done
true
)sh";

using BorderTest = AttackNode;

TEST_F(BorderTest, AContainerWritesAndConnectsToWhatIsSaidAndNothingElse) {
    start_agent("{}");
    if (HasFatalFailure() || IsSkipped()) return;
    const auto container = admit("train");
    ASSERT_TRUE(container) << container.error().message;
    for (const unsigned user : {65'534U, 0U}) {
        const std::string name = "user" + std::to_string(user);
        auto process =
            run_in(*container, user, name, {"/bin/sh", "-c", std::string(kTryAll)}, false);
        const auto exit = process.wait(60s);
        ASSERT_TRUE(exit && exit->code == 0) << log(name);
        const std::string told = log(name);
        const auto middle = told.find("\n\n");
        ASSERT_NE(middle, std::string::npos) << told;
        EXPECT_EQ(lines(told.substr(0, middle)), rows("who may write"));
        std::set<std::string> written = lines(told.substr(middle + 2));
        // Of the test's own container, not of the agent's making.
        if (user == 0)
            std::erase_if(written, [](const auto& one) { return one == "/run/aliquot"; });
        EXPECT_EQ(written, rows("who may write", "writes")) << "as user " << user;
    }
}

}  // namespace
}  // namespace aliquot::attack
