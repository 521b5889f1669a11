// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "lint/settings.h"

/// Which files `aliquot lint` looks at, and what is set for each.
namespace aliquot::lint {

/// A .aliquot.yaml with the directory it stands in.
struct FoundSettings {
    std::string file;       // its path; empty: there is none
    std::string directory;  // "" for the working directory
    Settings settings;
};

/// Looks for .aliquot.yaml from a directory upward. Asked once for each directory.
class SettingsFinder {
public:
    /// errors   kInvalidInput: the file is broken
    Result<std::shared_ptr<const FoundSettings>> find(const std::string& directory);

private:
    std::map<std::string, std::shared_ptr<const FoundSettings>> known_;
};

struct SourceFile {
    std::string path;  // as shown; "<stdin>"
    std::shared_ptr<const FoundSettings> settings;
    std::string bytes;
};

/// The files that PATHs name: files themselves, all that the linter knows in directories (not .git, vendor,
/// node_modules, nor what paths.ignore names), "-" the standard input. Sorted, each once; not read yet.
/// errors   kNotFound, kInvalidInput: a PATH that is not there, broken settings
Result<std::vector<SourceFile>> find_source_files(const std::vector<std::string>& paths);

/// Reads `file.path` into `file.bytes`.
/// errors   kPermission, kNotFound, kInvalidInput: above 10 MiB
Result<Done> read_source_file(SourceFile& file);

}  // namespace aliquot::lint
