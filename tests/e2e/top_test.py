#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""aliquot top as a user runs it: a simulated node, agents that answer, hang or refuse, a terminal.

top_test.py BIN    the folder of the programs
"""
import csv
import io
import json
import os
import pwd
import re
import signal
import subprocess
import termios
import time
import unittest

from top_world import ALIQUOT, PATIENCE_S, Scene, Terminal, run


class Once(Scene):
    def test_json_is_what_the_agent_says(self):
        for server in (self.agent(), self.agent(path=self.place / "a.sock")):
            answer = run("--once", "-o", "json", "--agent", server.address)
            self.assertEqual((answer.returncode, answer.stderr), (0, ""))
            self.assertEqual(answer.stdout, self.states[0] + "\n")

    def test_json_of_several_is_a_list_that_names_who_is_missing(self):
        silent = self.silent()
        answer = run("--once", "-o", "json", "--timeout", "1", "--agent", f"{self.agent(1).address},{silent}",
                     "--agent", self.agent(2).address)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        items = json.loads(answer.stdout)["items"]
        self.assertEqual([item.get("state", {}).get("node") for item in items], ["gpu-node-1", None, "gpu-node-2"])
        self.assertEqual(items[1], {"agent": silent, "problem": "no answer within 1 s"})
        self.assertIn(silent, answer.stderr)

    def test_yaml_says_the_same(self):
        answer = run("--once", "-o", "yaml", "--agent", self.agent().address)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("\nnode: gpu-node-1\n", answer.stdout)

    def test_one_that_is_silent_is_a_line(self):
        nobody = self.nobody()
        answer = run("--once", "--view", "nodes", "--agent", f"{self.agent().address},{nobody}")
        self.assertEqual(answer.returncode, 0)
        self.assertRegex(answer.stdout, rf"(?m)^{nobody} .*nobody listens there$")

    def test_exit_code_3_only_when_nobody_answers(self):
        answer = run("--once", "--agent", f"{self.nobody()},unix:{self.place}/none.sock")
        self.assertEqual((answer.returncode, answer.stdout), (3, ""))
        self.assertEqual(answer.stderr.count("nobody listens there"), 2)

    def test_nonsense_is_refused_with_a_word(self):
        for words, expected in ((["--agent", "::::"], "not an agent address"), (["--filter", "pood=x"], "did you mean 'pod'"),
                                (["-o", "json", "--filter", "x"], "--filter"), (["--sort", "beauty"], "beauty")):
            answer = run("--once", *words)
            self.assertEqual(answer.returncode, 2, words)
            self.assertIn(expected, answer.stderr)

    def test_a_body_that_is_no_state_is_a_problem(self):
        server = self.agent()
        for body in ("", "{}", "[1]", '{"node":', "<html>"):
            server.state = body
            answer = run("--once", "--agent", server.address)
            self.assertEqual(answer.returncode, 3, body)
            self.assertIn("not of this version", answer.stderr)

    def test_a_password_is_read_from_a_file(self):
        server = self.agent(password="anna:secret")
        answer = run("--once", "--agent", server.address)
        self.assertEqual(answer.returncode, 3)
        self.assertIn("--credentials", answer.stderr)
        secret = self.place / "secret"
        secret.write_text("anna:secret\n")
        self.assertEqual(run("--once", "--agent", server.address, "--credentials", str(secret)).returncode, 0)

    def test_csv_can_be_read_and_filtered(self):
        answer = run("--once", "-o", "csv", "--filter", "ns=team-a", "--agent",
                     f"{self.agent(1).address},{self.agent(2).address}")
        rows = list(csv.DictReader(io.StringIO(answer.stdout)))
        self.assertEqual([row["node"] for row in rows], ["gpu-node-1", "gpu-node-2"])
        self.assertEqual((rows[0]["pod"], rows[0]["share_utilization_percent"]), ("cat-watcher-0", "160"))

    def test_a_pipe_gets_it_once_without_escapes(self):
        for view in ("nodes", "gpus", "pods", "processes", "tree", "waste", "errors"):
            answer = run("--view", view, "--agent", self.agent().address)
            self.assertEqual(answer.returncode, 0, view)
            self.assertNotIn("\x1b", answer.stdout, view)

    def test_the_simulated_node_needs_no_agent(self):
        holder = subprocess.Popen([ALIQUOT, "sim", "use", "--memory", "2Gi", "--state", self.node], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
        try:
            holder.stdout.readline()
            end = time.monotonic() + PATIENCE_S
            while time.monotonic() < end:
                answer = run("--once", "--view", "processes", "--node-state", self.node)
                if re.search(rf"(?m)^ *{holder.pid} ", answer.stdout):
                    break
            self.assertRegex(answer.stdout, rf"(?m)^ *{holder.pid} ")
        finally:
            holder.terminate()
            holder.wait(PATIENCE_S)
            holder.stdout.close()

    def test_an_agent_of_up_is_found_by_its_folder(self):
        self.agent(path=self.place / "agent.sock")
        answer = run("--once", "-o", "json", "--node-state", self.node)
        (self.place / "agent.sock").unlink()
        self.assertEqual(json.loads(answer.stdout)["node"], "gpu-node-1")


class Cluster(Scene):
    def test_agents_are_found_by_the_kubeconfig(self):
        server = self.cluster({1: self.states[0], 2: self.states[1]})
        answer = run("--once", "-o", "csv", "--kubeconfig", str(server.kubeconfig), "--context", "lab")
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        rows = list(csv.DictReader(io.StringIO(answer.stdout)))
        self.assertEqual(sorted(row["node"] for row in rows), ["gpu-node-1"] * 2 + ["gpu-node-2"] * 2)
        self.assertTrue(any("component%3Dagent" in request for request in server.requests), server.requests)

    def test_a_missing_right_is_named_and_hides_nobody_else(self):
        server = self.cluster({1: self.states[0], 2: ""})
        answer = run("--once", "--view", "nodes", "--kubeconfig", str(server.kubeconfig))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("a role must allow: get pods/proxy in the namespace gpu", answer.stdout)
        self.assertRegex(answer.stdout, r"(?m)^gpu-node-1 ")

    def test_a_cluster_without_agents_says_what_brings_them(self):
        server = self.cluster({})
        answer = run("--once", "--kubeconfig", str(server.kubeconfig))
        self.assertEqual((answer.returncode, answer.stdout), (3, ""))
        self.assertIn("aliquot install", answer.stderr)

    def test_an_unknown_context_is_a_usage_error(self):
        server = self.cluster({})
        answer = run("--once", "--kubeconfig", str(server.kubeconfig), "--context", "prod")
        self.assertEqual(answer.returncode, 2, answer.stderr)
        self.assertIn("prod", answer.stderr)


class Live(Scene):
    def start(self, *words, **more):
        server = self.agent()
        terminal = Terminal("--agent", server.address, "--interval", "0.2", *words, **more)
        self.addCleanup(terminal.close)
        terminal.wait_for_text("cat-watcher-0")
        terminal.server = server
        return terminal

    def test_a_log_is_shown_and_a_pod_is_deleted_once_it_was_said_yes(self):
        server = self.cluster({1: self.states[0]})
        terminal = Terminal("--kubeconfig", str(server.kubeconfig))
        self.addCleanup(terminal.close)
        terminal.wait_for_text("cat-watcher-0")
        terminal.press("L")
        terminal.wait_for_text(r"log of team-a/cat-watcher-0\nfirst line\nsaw a cat \?\[2J")
        terminal.press("q")
        terminal.wait_for_text("notebook-1")
        terminal.press("Kn")
        terminal.wait_for_text("not done")
        terminal.press("K")
        terminal.wait_for_text(r"delete pod team-a/cat-watcher-0\? y/N")
        terminal.press("y")
        terminal.wait_for_text("pod cat-watcher-0 deleted")
        self.assertEqual([each.partition("?")[0] for each in server.requests if each.startswith("DELETE")],
                         ["DELETE /api/v1/namespaces/team-a/pods/cat-watcher-0"])
        terminal.press("q")
        self.assertEqual(terminal.wait(), 0)

    def test_a_process_of_this_machine_has_user_and_command_line_and_can_be_ended(self):
        holder = subprocess.Popen([ALIQUOT, "sim", "use", "--memory", "1Gi", "--state", self.node], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(holder.stdout.close)
        self.addCleanup(holder.kill)
        holder.stdout.readline()
        terminal = Terminal("--node-state", self.node, "--view", "processes", "--interval", "0.2", size=(24, 160))
        self.addCleanup(terminal.close)
        user = pwd.getpwuid(os.getuid()).pw_name
        terminal.wait_for_text(rf"{holder.pid} +{user} .* sim use --memory 1Gi")
        terminal.press("K")
        terminal.wait_for_text(rf"end process {holder.pid} \(aliquot\) with SIGTERM\? y/N")
        terminal.press("y")
        terminal.wait_for_text(f"SIGTERM sent to process {holder.pid}")
        holder.wait(PATIENCE_S)
        terminal.press("q")
        self.assertEqual(terminal.wait(), 0)

    def test_the_mouse_chooses_opens_and_sorts(self):
        terminal = self.start()
        lines = terminal.screen()
        title = next(i for i, line in enumerate(lines) if line.startswith(" POD"))
        memory = lines[title].index("MEM") + 1
        terminal.press(f"\x1b[<0;{memory};{title + 1}M\x1b[<0;{memory};{title + 1}m")
        terminal.wait_for_text("sort memory")
        row = next(i for i, line in enumerate(terminal.screen()) if "notebook-1" in line)
        click = f"\x1b[<0;3;{row + 1}M"
        terminal.press(click)
        terminal.wait_for_text("(?m)^>notebook-1")
        terminal.press(click)
        terminal.wait_for_text(r"processes of team-b/notebook-1")
        terminal.press("q")
        self.assertEqual(terminal.wait(), 0)
        self.assertIn(b"\x1b[?1000l", terminal.written)

    def test_keys_lead_through_the_views(self):
        terminal = self.start()
        terminal.wait_for_text("^gpu-node-1")
        terminal.press("g")
        terminal.wait_for_text(r"gpus \(2\)")
        terminal.press("\x1b[B\r")
        terminal.wait_for_text(r"pods of GPU 1 \(0\)")
        terminal.press("\x1b")  # alone: the key
        terminal.wait_for_text(r"gpus \(2\)")
        terminal.press("g/note\r")
        terminal.wait_for_text(r"pods \(1\).*filter note")
        terminal.press("/\x1b")
        terminal.wait_for_text(r"pods \(2\)")
        terminal.press("s")
        terminal.wait_for_text("sort share-util")
        terminal.press("\x1b[H\r")
        terminal.wait_for_text(r"evil\?\[2J")
        terminal.press("?")
        terminal.wait_for_text("any key: back")
        terminal.press("xw")
        terminal.wait_for_text(r"waste \(\d\).*GPU-h held idle")
        terminal.press("q")
        self.assertEqual(terminal.wait(), 0)
        self.assertTrue(terminal.is_restored())

    def test_the_last_column_is_shown(self):
        terminal = self.start()
        for rows, columns in ((24, 80), (30, 100), (24, 80)):
            terminal.resize(rows, columns)
            terminal.wait_for(lambda r=rows: len(terminal.screen()) == r, f"{rows} lines")
            terminal.wait_for_text(r"\A.*\d\d:\d\d:\d\d\n")
            self.assertEqual(len(terminal.screen()[0]), columns)

    def test_a_resize_is_followed(self):
        terminal = self.start()
        for rows, columns in ((40, 120), (15, 60), (24, 80)):
            terminal.resize(rows, columns)
            terminal.wait_for(lambda r=rows: len(terminal.screen()) == r, f"{rows} lines")
            self.assertLessEqual(max(map(len, terminal.screen())), columns)

    def test_what_changes_is_shown_and_held_by_space(self):
        terminal = self.start()
        terminal.server.state = self.states[1]
        terminal.wait_for_text("(?m)^gpu-node-2")
        terminal.press(" ")
        terminal.wait_for_text("PAUSED")
        terminal.server.state = self.states[0]
        terminal.server.asked.clear()
        self.assertTrue(terminal.server.asked.wait(PATIENCE_S))
        terminal.press("r")
        terminal.wait_for_text("sort util (↑|\\+)")
        self.assertRegex("\n".join(terminal.screen()), "(?m)^gpu-node-2")

    def test_an_agent_that_goes_away_keeps_its_figures_and_gets_a_line(self):
        terminal = self.start()
        terminal.server.state = "gone"
        terminal.wait_for_text("(?m)^! gpu-node-1: its state is not of this version")
        terminal.wait_for_text("cat-watcher-0")

    def test_whatever_ends_it_the_terminal_is_restored(self):
        for end, status in (("\x03", 0), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP),
                            (signal.SIGABRT, -signal.SIGABRT), (signal.SIGSEGV, -signal.SIGSEGV)):
            terminal = self.start()
            self.assertFalse(terminal.is_restored())
            if isinstance(end, str):
                terminal.press(end)
            else:
                terminal.process.send_signal(end)
            outcome = terminal.wait()
            # Sanitizers make exit codes of crashes.
            self.assertTrue(outcome == status or (outcome or 0) > 0 and end in (signal.SIGABRT, signal.SIGSEGV), (end, outcome))
            if end not in (signal.SIGABRT, signal.SIGSEGV):
                self.assertTrue(terminal.is_restored(), end)
            self.assertEqual(termios.tcgetattr(terminal.slave), terminal.before, end)
            self.assertIn(b"\x1b[?1049l", terminal.written)

    def test_ctrl_z_gives_the_terminal_back_until_it_goes_on(self):
        terminal = self.start()
        terminal.press("\x1a")
        stopped = os.waitid(os.P_PID, terminal.process.pid, os.WSTOPPED | os.WNOWAIT)
        self.assertEqual(stopped.si_code, os.CLD_STOPPED)
        terminal.wait_for(terminal.is_restored, "the restored terminal")
        terminal.process.send_signal(signal.SIGCONT)
        terminal.wait_for(lambda: terminal.written.count(b"\x1b[?1049h") == 2, "the second frame")
        terminal.press("g")
        terminal.wait_for_text(r"gpus \(2\)")
        terminal.press("q")
        self.assertEqual(terminal.wait(), 0)

    def test_no_colour_and_no_utf8_where_they_are_not_wanted(self):
        terminal = self.start(env={"NO_COLOR": "1", "LANG": "C"})
        terminal.press("gtwx")
        terminal.wait_for_text(r"errors \(")
        self.assertNotRegex(terminal.written, rb"\x1b\[[0-9;]*m")
        self.assertTrue(all(byte < 0x80 for byte in terminal.written))
        coloured = self.start()
        self.assertRegex(coloured.written, rb"\x1b\[7m")


if __name__ == "__main__":
    unittest.main()
