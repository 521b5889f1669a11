# SPDX-License-Identifier: Apache-2.0
"""Mappings that stand in several places of the forms become parts of their own."""
import collections
import hashlib
import json


def share(forms):
    seen = collections.Counter()
    sizes = {}

    def mark(node):
        size = 1
        for child in list(node.keys.values()) + [one for one in (node.any, node.items) if one]:
            size += mark(child)
        node.mark = hashlib.sha256(json.dumps(node.rows()).encode()).hexdigest()[:10]
        sizes[node.mark] = size
        if not node.part and node.keys:
            seen[node.mark] += 1
        return size

    for node in forms.values():
        mark(node)
    made = {}

    def replace(node, top):
        if not top and node.can_be_part() and seen[node.mark] > 1 and sizes[node.mark] >= 4:
            part = "s." + node.mark
            if part not in made:
                shared = made[part] = type(node)(node.kind, node.words)
                shared.full, shared.keys, shared.any, shared.items = node.full, node.keys, node.any, node.items
                for child in list(shared.keys.values()) + [one for one in (shared.any, shared.items) if one]:
                    replace(child, False)
            node.part = part
            return
        for child in list(node.keys.values()) + [one for one in (node.any, node.items) if one]:
            replace(child, False)

    for node in forms.values():
        replace(node, True)
    forms.update(made)
