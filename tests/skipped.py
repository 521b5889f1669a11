#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""skipped.py RESULTS.xml: says how many tests of ctest's JUnit file did not run, and what each group lacked."""
import collections
import re
import sys
import xml.etree.ElementTree as xml

lacking = collections.Counter()
total = 0
for case in xml.parse(sys.argv[1]).getroot().iter("testcase"):
    total += 1
    if case.find("skipped") is None:
        continue
    output = case.findtext("system-out") or ""
    reason = re.search(r": Skipped\n(.*)", output) or re.search(r"(?m)^(?:.*: )?skipped: (.*)", output)
    lacking[reason.group(1).strip() if reason else output.strip().split("\n")[-1][:120] or "no reason given"] += 1
print(f"{sum(lacking.values())} of {total} tests did not run here:")
for reason, count in lacking.most_common():
    print(f"{count:5}  {reason}")
