#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""share_test.py BIN SIMULATED_LIBRARY: of two vision workers on one simulated A2, none can push the other out of its memory
where the guard keeps their limits; without it, the first takes what the second needs."""
import pathlib
import sys
import tempfile
import unittest

from share_world import GUARDED, UNGUARDED, Shared
from worker import load

PROGRAMS, LIBRARY = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
GIB_A_PICTURE = {"weights_mib": 256, "sample_mib": 1024, "sample_us": 500, "batch_us": 500}


class Memory(unittest.TestCase):
    def world(self, config, greedy="--batch 13", modest="--batch 4", simulated=GIB_A_PICTURE):
        folder = tempfile.TemporaryDirectory(prefix="vision-share-")
        self.addCleanup(folder.cleanup)
        world = Shared(folder.name, PROGRAMS, LIBRARY, config, greedy, modest, simulated)
        self.addCleanup(world.end)
        return world

    def test_each_keeps_its_share_where_the_guard_is(self):
        world = self.world(GUARDED)
        world.wait_for("greedy", r"vision\.ready")
        world.let_modest()
        world.wait_for("modest", r"vision\.ready")
        self.assertEqual(world.metric("greedy", "vision_gpu_memory_limit_bytes"), 7 << 30)
        self.assertGreater(world.metric("greedy", "vision_out_of_memory_total"), 0)
        self.assertLessEqual(world.metric("greedy", "vision_batch_limit"), 6)
        for pod in ("greedy", "modest"):
            result = load.load(f"http://127.0.0.1:{world.port(pod)}/v1/infer", 4, 1, load.png())
            self.assertEqual(set(result["statuses"]), {200}, result)
        self.assertEqual(world.metric("modest", "vision_out_of_memory_total"), 0)
        self.assertEqual(world.metric("modest", "vision_batch_limit"), 4)

    def test_without_the_guard_the_first_takes_what_the_second_needs(self):
        world = self.world(UNGUARDED)
        world.wait_for("greedy", r"vision\.ready")
        self.assertEqual(world.metric("greedy", "vision_out_of_memory_total"), 0)
        self.assertEqual(world.metric("greedy", "vision_batch_limit"), 13)
        world.let_modest()
        world.wait_for("modest", r"vision\.out_of_memory|Failed to allocate|OUT_OF_MEMORY")

    def test_a_model_too_large_for_its_share_is_said(self):
        world = self.world(GUARDED, greedy="--batch 2", simulated={**GIB_A_PICTURE, "sample_mib": 8192})
        said = world.wait_for("greedy", r"vision\.failed .*")[0]
        self.assertRegex(said, r"warm-up with a batch of 1: run: Failed to allocate memory")


if __name__ == "__main__":
    unittest.main(verbosity=1)
