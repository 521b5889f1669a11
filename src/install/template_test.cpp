// SPDX-License-Identifier: Apache-2.0
#include "install/template.h"

#include <gtest/gtest.h>

namespace aliquot::install {
namespace {

const std::string_view kText =
    "a: \"@word@\"\n"
    "#if on\n"
    "b: 1\n"
    "#if off\n"
    "c: 2\n"
    "#else\n"
    "d: 3\n"
    "#end\n"
    "#else\n"
    "e: 4\n"
    "#end\n"
    "f:\n"
    "  #list lines\n"
    "# mail: someone@example.org, @ and @Word@\n";

TEST(Template, FillsInWordsSwitchesAndLists) {
    const Meaning meaning{.switches = {{"on", true}, {"off", false}},
                          .words = {{"word", "w"}},
                          .lists = {{"lines", {"x: 1", "", "y: 2"}}}};
    EXPECT_EQ(expand(kText, meaning),
              "a: \"w\"\nb: 1\nd: 3\nf:\n  x: 1\n\n  y: 2\n"
              "# mail: someone@example.org, @ and @Word@\n");
    const Meaning other{.switches = {{"on", false}, {"off", true}},
                        .words = {{"word", "v"}},
                        .lists = {{"lines", {}}}};
    EXPECT_EQ(expand(kText, other),
              "a: \"v\"\ne: 4\nf:\n# mail: someone@example.org, @ and @Word@\n");
}

TEST(Template, SaysTheSameInHelmsLanguage) {
    const HelmWords helm{.switches = {{"on", ".Values.on"}, {"off", ""}},
                         .words = {{"word", ".Values.word"}},
                         .lists = {{"lines", "{{ toYaml .Values.lines | indent @indent@ }}"}}};
    EXPECT_EQ(to_helm(kText, helm),
              "a: \"{{ .Values.word }}\"\n"
              "{{- if .Values.on }}\n"
              "b: 1\n"
              "{{- if false }}\n"
              "c: 2\n"
              "{{- else }}\n"
              "d: 3\n"
              "{{- end }}\n"
              "{{- else }}\n"
              "e: 4\n"
              "{{- end }}\n"
              "f:\n"
              "{{ toYaml .Values.lines | indent 2 }}\n"
              "# mail: someone@example.org, @ and @Word@\n");
}

TEST(Template, AMarkWithoutAMeaningIsOurBug) {
    EXPECT_THROW((void)expand("@word@\n", {}), std::logic_error);
    EXPECT_THROW((void)expand("#if on\n#end\n", {}), std::logic_error);
    EXPECT_THROW((void)expand("#if on\n", {.switches = {{"on", true}}, .words = {}, .lists = {}}),
                 std::logic_error);
}

}  // namespace
}  // namespace aliquot::install
