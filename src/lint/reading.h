// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lint/file.h"
#include "syntax/shell.h"

/// The steps of read_file(), each in the file of its noun. Inside src/lint only.
namespace aliquot::lint {

/// Adds a block and what is in it, and what is in that. `depth` counts blocks inside blocks.
/// Returns its index; -1: too many or too deep.
int add_block(File& file, Block block, const ReadLimits& limits, int depth);

/// Headings, blocks, statements and tables of a runbook.
void read_prose(File& file, const ReadLimits& limits);

/// Objects, pods, images, expressions and enclosed texts of a YAML or JSON block.
void read_documents(File& file, int block, const ReadLimits& limits, int depth);
/// The configuration that a block of TOML is; as far as it can be read.
void read_toml(File& file, int block, const ReadLimits& limits);
/// Objects that a program writes in its own form: their pods. Texts in them are read with the program.
void read_written(File& file, int block, const ReadLimits& limits);
/// Pods of one object.
void read_pods(File& file, int object);
/// Texts inside one object that are something themselves: scripts, manifests, configurations.
void read_enclosed_texts(File& file, int object, const ReadLimits& limits, int depth);
/// Images that stand in YAML outside of containers (values, compose files).
void read_value_images(File& file, int object);

void read_shell(File& file, int block, const ReadLimits& limits, int depth);
void read_dockerfile(File& file, int block);
/// Adds commands whose indices are those of their own list, until the file has `most`; returns what was
/// added to the indices.
int add_commands(File& file, std::vector<Command> commands, std::size_t most);
/// Queries of a PromQL block.
void read_queries(File& file, int block);
/// Rules, panels, triggers of one object.
void read_expressions(File& file, int object);
/// Images on command lines.
void read_command_images(File& file);

/// Texts between quotes of Python and HCL: commands, manifests, images.
void read_literals(File& file, int block, const ReadLimits& limits, int depth);
/// Commands among the words of a heredoc: the usage of a script, its next steps.
void read_told_lines(File& file, int block, const ReadLimits& limits);
/// The block of a part of another one's text, which stands there from `offset` on.
Block block_of_part(const Block& outer, int index, std::size_t offset, std::string text,
                    Setting setting);

Block block_of_enclosed(const Block& outer, int index, const syntax::Enclosed& enclosed);

/// Comments of a YAML, Dockerfile or PromQL block as statements.
void read_comments(File& file, int block);

/// Where a scalar's own text stands: a block whose text it is. Its language is not set.
Block block_of_scalar(const File& file, int parent, const Value& scalar);

}  // namespace aliquot::lint
