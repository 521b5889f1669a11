// SPDX-License-Identifier: Apache-2.0
//
// Programs that never heard of CUDA do and print under the guard exactly what they do and print
// without it; and the library is built so that it can be preloaded into any of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/contract/guard/guard_world.h"

namespace aliquot::guardkit {
namespace {

struct Program {
    const char* name;
    std::vector<std::string> arguments;
};

void PrintTo(const Program& program, std::ostream* stream) { *stream << program.name; }

bool is_installed(const std::string& program) {
    if (program.find('/') != std::string::npos) return fs::exists(program);
    const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
    std::istringstream folders(path == nullptr ? "" : path);
    std::error_code closed;  // a folder that is another user's
    for (std::string folder; std::getline(folders, folder, ':');)
        if (fs::exists(fs::path(folder) / program, closed)) return true;
    return false;
}

/// Text that is made anew in a fresh directory each time.
const char* const kGit =
    "rm -rf r && git -c init.defaultBranch=main init -q r && cd r && echo text > a && git add a && "
    "GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z' "
    "git -c user.name=n -c user.email=e commit -q -m m && git log --stat && git fsck 2>&1; "
    "git status; git gc -q; git show HEAD:a; git cat-file -p nothing; echo $?";
const char* const kCompile =
    "printf '#define _GNU_SOURCE\\n#include <dlfcn.h>\\n#include <stdio.h>\\n#include <stdlib.h>\\n"
    "void *malloc(size_t n){static void*(*real)(size_t);if(!real)real=(void*(*)(size_t))"
    "dlsym(RTLD_NEXT,\"malloc\");return real(n);}\\n"
    "int main(void){void*h=dlopen(\"libm.so.6\",RTLD_LAZY);"
    "double(*c)(double)=(double(*)(double))dlsym(h,\"cos\");"
    "printf(\"%%.3f %%d %%d\\\\n\",c(0),dlsym(h,\"cuInit\")==0,dlsym(RTLD_DEFAULT,\"cuInit\")==0);"
    "puts(dlerror());return 3;}\\n' > t.c && gcc -O0 -o t t.c -ldl && ./t; echo $?; "
    "gcc -c -o bad.o /nonexistent.c; echo $?";
const char* const kPython =
    "import ctypes, multiprocessing, os, subprocess, sys, threading\n"
    "m = ctypes.CDLL('libm.so.6'); m.cos.restype = ctypes.c_double\n"
    "print(m.cos(ctypes.c_double(0)))\n"
    "try:\n    ctypes.CDLL('libcuda.so.77')\nexcept OSError as e:\n    print(e)\n"
    "try:\n    ctypes.CDLL(None).cuInit\nexcept AttributeError as e:\n    print(str(e).split(': "
    "')[-1])\n"
    "t = [threading.Thread(target=lambda: None) for _ in range(8)]\n"
    "[x.start() for x in t]; [x.join() for x in t]\n"
    "print(subprocess.run(['sh', '-c', 'echo child; exit 4'], capture_output=True))\n"
    "p = os.fork()\nif p == 0: os._exit(5)\nprint(os.waitpid(p, 0)[1])\n"
    "print(sorted(os.listdir('/proc/self/fd')))\n"
    "if __name__ == '__main__':\n"
    "    q = multiprocessing.get_context('fork').Pool(2)\n    print(q.map(abs, [-1, -2]))\n"
    "    q.close(); q.join()\n"
    "sys.stderr.write('to the other stream\\n'); sys.exit(6)\n";
const char* const kShell =
    "for i in 3 1 2; do (echo $i); done | sort; ls -la /proc/self/fd | wc -l; cat < /dev/null; "
    "x=$(printf abc | tr a-c d-f); echo $x; { (kill -KILL $BASHPID); } 2>/dev/null; echo $?; "
    "set | grep -c ALIQUOT_GUARD_MEM; trap 'echo bye' EXIT; ls /nonexistent; "
    "exec 9>&1; echo to nine >&9; env -i /bin/sh -c 'echo ${LD_PRELOAD:-empty}'; exit 7";
const char* const kNode =
    "const fs = require('fs'), c = require('child_process');"
    "console.log(fs.readFileSync('/proc/self/comm', 'utf8').trim(), process.arch);"
    "console.log(c.execFileSync('sh', ['-c', 'echo child']).toString());"
    "setTimeout(() => { console.error('late'); process.exit(5); }, 20);";

std::vector<Program> programs() {
    return {
        {"true", {"/bin/true"}},
        {"bash", {"bash", "-c", kShell}},
        {"ls", {"ls", "-l", "/usr/bin/env", "/nonexistent"}},
        {"python3", {"python3", "-c", kPython}},
        {"perl",
         {"perl", "-e",
          "print join(',', sort { $a <=> $b } 3, 1, 2), \"\\n\"; my $p = fork; if "
          "(!$p) { exit 3 } waitpid $p, 0; print $? >> 8, \"\\n\"; die 'bad'"}},
        {"git", {"sh", "-c", kGit}},
        {"gcc", {"sh", "-c", kCompile}},
        {"java", {"java", "-version"}},
        {"node", {"node", "-e", kNode}},
        {"tar",
         {"sh", "-c", "echo text > f && tar cf - f | tar tvf - | cut -c1-20; tar xf no.tar"}},
    };
}

void same(const Outcome& got, const Outcome& bare) {
    EXPECT_FALSE(got.late);
    EXPECT_EQ(got.code, bare.code);
    EXPECT_EQ(got.out, bare.out);
    EXPECT_EQ(got.error, bare.error);
}

class Transparency : public testing::TestWithParam<Program> {};

TEST_P(Transparency, OfThePreloadedGuard) {
    const Program& program = GetParam();
    if (!is_installed(program.name) || !is_installed(program.arguments[0]))
        GTEST_SKIP() << program.name << " is not installed";
    GuardWorld world(Settings{});
    const std::chrono::seconds limit(60);
    const Outcome bare = world.run_bare(program.arguments, limit);
    ASSERT_FALSE(bare.late);
    {
        SCOPED_TRACE("LD_PRELOAD");
        same(world.run(program.arguments, limit), bare);
    }
    if (const auto preloaded = world.run_preloaded(program.arguments, limit)) {
        SCOPED_TRACE("/etc/ld.so.preload");
        same(*preloaded, bare);
    }
    EXPECT_FALSE(fs::exists(world.directory() / "region"));  // nobody used a GPU
}

INSTANTIATE_TEST_SUITE_P(Program, Transparency, testing::ValuesIn(programs()),
                         [](const auto& one) { return std::string(one.param.name); });

/// For a driver's name that is weak: "program: cuInit null, ..." from both programs.
TEST(GuardTransparency, AWeakNameIsNullWhereThereIsNoDriverAndTheDriversWhereThereIs) {
    if (GuardWorld::library().empty()) GTEST_SKIP() << "no guard";
    const std::chrono::seconds limit(60);
    for (const char* program : {"/guard-weak-now", "/guard-weak-lazy"}) {
        const std::vector<std::string> arguments{std::string(ALIQUOT_TEST_DIR) + program};
        SCOPED_TRACE(program);
        GuardWorld none(parse_settings("driver=none"));
        const Outcome bare = none.run_bare(arguments, limit);
        ASSERT_EQ(bare.code, 0) << bare.error;
        ASSERT_EQ(bare.out.find("bound"), std::string::npos) << bare.out;
        same(none.run(arguments, limit), bare);
        if (const auto preloaded = none.run_preloaded(arguments, limit)) same(*preloaded, bare);
        // A driver that is there from the beginning: it, or the guard in front of it.
        GuardWorld world(parse_settings("driver=plain"));
        const std::string driver = world.directory() / "driver/libcuda.so.1";
        const Outcome with = world.run(arguments, limit, {{"LD_PRELOAD", driver}});
        ASSERT_NE(with.out.find("cuInit bound, cuMemAlloc_v2 bound, nvmlInit_v2 null"),
                  std::string::npos)
            << with.out << with.error;
        same(world.run(arguments, limit,
                       {{"LD_PRELOAD", GuardWorld::library().native() + " " + driver}}),
             with);
    }
}

TEST(GuardInSmi, ShowsTheSlice) {
    if (GuardWorld::real_driver()) GTEST_SKIP() << "about the simulated nvidia-smi";
    GuardWorld world(parse_settings("memory=2Gi stranger"));
    const Outcome outcome = world.run(
        {std::string(ALIQUOT_SIM_DIR) + "/nvidia-smi",
         "--query-gpu=memory.total,memory.used,memory.free", "--format=csv,noheader,nounits"},
        std::chrono::seconds(20));
    EXPECT_EQ(outcome.out, "2048, 0, 2048\n");
    const Outcome list =
        world.run({std::string(ALIQUOT_SIM_DIR) + "/nvidia-smi",
                   "--query-compute-apps=pid,used_memory", "--format=csv,noheader"},
                  std::chrono::seconds(20));
    EXPECT_EQ(list.out.find("1024"), std::string::npos) << list.out;
}

// ---- the object itself ------------------------------------------------------------------------

class GuardObject : public testing::Test {
protected:
    void SetUp() override {
        if (!is_installed("objdump") || !is_installed("readelf")) GTEST_SKIP() << "no binutils";
    }
    std::vector<std::string> lines_of(const std::vector<std::string>& arguments) {
        auto all = arguments;
        all.push_back(GuardWorld::library());
        const Outcome outcome = world_.run_bare(all, std::chrono::seconds(20));
        EXPECT_EQ(outcome.code, 0) << outcome.error;
        std::vector<std::string> lines;
        std::istringstream text(outcome.out);
        for (std::string line; std::getline(text, line);) lines.push_back(line);
        EXPECT_GT(lines.size(), 3U);
        return lines;
    }

private:
    GuardWorld world_{Settings{}};
};

/// "2.17" as 217, "2.2.5" as 202.
unsigned version_number(const std::string& text) {
    unsigned major = 0;
    unsigned minor = 0;
    (void)std::sscanf(text.c_str(), "%u.%u", &major, &minor);
    return major * 100 + minor;
}

TEST_F(GuardObject, RunsWithTheOldestSystemsWeServe) {
    for (const std::string& line : lines_of({"objdump", "-T"})) {
        EXPECT_EQ(line.find("GLIBCXX"), std::string::npos) << line;
        EXPECT_EQ(line.find("CXXABI"), std::string::npos) << line;
        EXPECT_EQ(line.find("GCC_"), std::string::npos) << line;
        const std::size_t at = line.find("GLIBC_");
        if (at != std::string::npos) {
            EXPECT_LE(version_number(line.substr(at + 6)), 217U) << line;
        }
    }
}

TEST_F(GuardObject, HasFewWordsThatTheLoaderWrites) {
    // Each costs every program that is started, and 512 of them a page.
    const auto lines = lines_of({"readelf", "-W", "-r"});
    const auto relative = std::ranges::count_if(
        lines, [](const std::string& line) { return line.contains("_RELATIV"); });
    EXPECT_GT(relative, 0);
    EXPECT_LE(relative, 64);
}

TEST_F(GuardObject, NeedsNoNameThatMuslDoesNotHave) {
    // A name of glibc alone would end a program with musl before its first line.
    // Compilers turn one of C's own calls into another (snprintf of "%s" into strcpy, memcmp into
    // bcmp), so all of those that either library has are here, not only the ones that we write.
    const std::set<std::string> both = {
        "__errno_location", "__tls_get_addr", "bcmp",     "clock_gettime", "dl_iterate_phdr",
        "getauxval",        "getenv",         "memchr",   "memcmp",        "memcpy",
        "memmove",          "memset",         "snprintf", "stpcpy",        "strcat",
        "strchr",           "strcmp",         "strcpy",   "strlen",        "strncmp",
        "strncpy",          "strnlen",        "strrchr",  "vsnprintf"};
    for (const std::string& line : lines_of({"readelf", "-W", "--dyn-syms"})) {
        std::istringstream words(line);
        std::vector<std::string> columns{std::istream_iterator<std::string>(words), {}};
        if (columns.size() < 8 || columns[6] != "UND" || columns[4] == "WEAK") continue;
        EXPECT_TRUE(both.contains(columns[7].substr(0, columns[7].find('@')))) << line;
    }
}

TEST_F(GuardObject, NeedsLibcAndNothingElse) {
    const std::set<std::string> allowed = {"libc.so.6", "libdl.so.2", "libpthread.so.0",
                                           "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"};
    for (const std::string& line : lines_of({"readelf", "-dW"})) {
        EXPECT_EQ(line.find("TEXTREL"), std::string::npos) << line;
        EXPECT_EQ(line.find("RUNPATH"), std::string::npos) << line;
        EXPECT_EQ(line.find("RPATH"), std::string::npos) << line;
        if (line.find("(NEEDED)") == std::string::npos) continue;
        const std::size_t from = line.find('[') + 1;
        EXPECT_TRUE(allowed.contains(line.substr(from, line.find(']') - from))) << line;
    }
}

TEST_F(GuardObject, ExportsOnlyWhatItStandsInFor) {
    unsigned exported = 0;
    for (const std::string& line : lines_of({"readelf", "--dyn-syms", "-W"})) {
        std::istringstream words(line);
        std::vector<std::string> word{std::istream_iterator<std::string>(words), {}};
        if (word.size() < 8 || word[6] == "UND" || word[6] == "ABS" || word[6] == "Ndx" ||
            word[4] == "LOCAL")
            continue;
        const std::string name = word[7].substr(0, word[7].find('@'));
        ++exported;
        EXPECT_TRUE(name == "dlsym" || name == "dlvsym" || name == "dlopen" || name == "dlmopen" ||
                    (name.starts_with("cu") && std::isupper(name[2]) != 0) ||
                    (name.starts_with("nvml") && std::isupper(name[4]) != 0))
            << name;
    }
    EXPECT_GE(exported, 100U);
}

TEST_F(GuardObject, LooksAtWeakNamesWhenLoadedNothingElseAndIsHardened) {
    bool relro = false;
    bool stack = false;
    for (const std::string& line : lines_of({"readelf", "-SlW"})) {
        std::istringstream words(line);
        std::vector<std::string> word{std::istream_iterator<std::string>(words), {}};
        // One pointer: not even the C runtime's own entry is beside it.
        const auto section = std::ranges::find(word, ".init_array");
        if (section != word.end() && word.end() - section > 4 && section[1] == "INIT_ARRAY") {
            EXPECT_LE(std::stoul(section[4], nullptr, 16), 8UL) << line;
        }
        const auto tls = std::ranges::find(word, "TLS");
        if (tls == word.begin() && word.size() > 5) {
            EXPECT_LE(std::stoul(word[5], nullptr, 16), 64UL) << line;
        }
        relro = relro || line.find("GNU_RELRO") != std::string::npos;
        if (line.find("GNU_STACK") != std::string::npos)
            stack = line.find("RWE") == std::string::npos;
        EXPECT_EQ(line.find(" RWE "), std::string::npos) << line;
    }
    EXPECT_TRUE(relro);
    EXPECT_TRUE(stack);
}

}  // namespace
}  // namespace aliquot::guardkit
