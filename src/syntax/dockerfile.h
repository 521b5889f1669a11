// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "syntax/block.h"
#include "syntax/command.h"

namespace aliquot::syntax {

/// One instruction of a Dockerfile, continued lines joined, comments inside it left out.
struct Instruction {
    int block = -1;
    Mark mark;                    // of the keyword
    std::string keyword;          // upper case: "FROM"
    std::string written_keyword;  // as written: "from"
    std::vector<Word> words;      // behind the keyword, flags included, quotes off
    std::string text;             // behind the keyword, lines joined by one blank
    int stage = -1;               // 0 for what follows the first FROM; -1: before it (ARG)
    std::vector<std::pair<std::string, std::string>> flags;  // {"from", "builder"}
    std::vector<int> commands;  // of RUN: indices into Dockerfile::commands
};

/// A stage of a Dockerfile.
struct Stage {
    int block = -1;
    int from = -1;           // index into Dockerfile::instructions
    std::string name;        // lower case, "" when it has none
    std::string written_as;  // "as" or "AS"; "" when it has no name
    std::string image;       // as written, ARGs with a default put in
    Mark image_mark;
    bool last = false;    // of its Dockerfile
    int base_stage = -1;  // when it builds on a stage of the same file
};

struct Dockerfile {
    std::vector<Instruction> instructions;
    std::vector<Stage> stages;
    std::vector<Command> commands;  // of all its RUN
};

/// Any bytes. `index` is copied into what has a `block`; all other indices are those of the result's own lists.
Dockerfile read_dockerfile(const Block& block, int index);

}  // namespace aliquot::syntax
