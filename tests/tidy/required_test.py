#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every requirement of the pages of NUMBERS has tests that carry its number, and they are those that stand in its row."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NUMBERS = {"docs/internals/jobs-required.md": [*range(1, 32), 66, *range(69, 77)], "docs/internals/pools.md": [*range(77, 99)]}
# "// R79, R80." before a test; "# ... R87." in the first line of a case.
TEST = re.compile(r"^ *(?://|#) ((?:R\d+(?:, )?)+)\.\n *(?:TEST(?:_F|_P)?\(\w+, (\w+)\)|def (test_\w+)\()", re.M)
CASE = re.compile(r"\A#.*?((?:R\d+(?:, )?)+)\.\n")


def tests_by_number():
    found = {}
    for folder, pattern in (("src", "*_test.cpp"), ("tests", "*_test.cpp"), ("tests", "*_test.py"), ("clients", "*_test.py")):
        for file in (ROOT / folder).rglob(pattern):
            stem = re.sub(r"_test$", "", file.stem)
            for numbers, test, method in TEST.findall(file.read_text()):
                for number in numbers.split(", "):
                    found.setdefault(number, set()).add(f"{stem}: {test or method}")
    for file in (ROOT / "src").rglob("*.case"):
        numbers = CASE.match(file.read_text())
        for number in numbers.group(1).split(", ") if numbers else []:
            found.setdefault(number, set()).add(str(file.relative_to(ROOT)))
    return found


class Required(unittest.TestCase):
    def test_every_number_stands_at_its_tests_and_in_the_table(self):
        tests = tests_by_number()
        for page, numbers in NUMBERS.items():
            rows = dict(re.findall(r"^\| (R\d+) \|.*\| (.*) \|$", (ROOT / page).read_text(), re.M))
            self.assertEqual(list(rows), [f"R{number}" for number in numbers], page)
            for number in rows:
                self.assertEqual(set(re.findall(r"`([^`]+)`", rows[number])), tests.get(number, set()), number)


if __name__ == "__main__":
    unittest.main()
