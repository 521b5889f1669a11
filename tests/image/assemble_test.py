#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/image/assemble.py on programs of a few lines: what is in the image, that it runs, that it is the same twice.

Called with a C compiler and a strip program.
"""
import gzip
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ASSEMBLE = ROOT / "deploy" / "image" / "assemble.py"
COMPILER, STRIP = (sys.argv[1:3] + ["cc", "strip"])[:2]
DEADLINE_SECONDS = 60
PLACES = "lib lib64 tmp usr/bin/demo usr/lib64 etc/passwd etc/group etc/nsswitch.conf etc/os-release var/run".split()

# Opens its library at run time and says so in a note.
LAZY = r"""
#include <dlfcn.h>
#include <stdio.h>
#define WORDS "[{\"soname\":[\"libgreet.so.1\",\"libgreet.so.0\"],\"priority\":\"required\"},{\"soname\":[\"libno.so\"],\"priority\":\"suggested\"}]"
__attribute__((section(".note.dlopen"), used, aligned(4))) static const struct {
    unsigned owner_size, text_size, kind;
    char owner[4], text[(sizeof WORDS + 3) / 4 * 4];
} note = {4, sizeof WORDS, 0x407c0c0a, "FDO", WORDS};
int main(void) {
    const char *(*greeting)(void) = (const char *(*)(void))dlsym(dlopen("libgreet.so.1", RTLD_NOW), "greeting");
    puts(greeting());
    return 0;
}
"""


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False,
                          **more)


def compiled(*words):
    done = run(COMPILER, *words)
    assert done.returncode == 0, done.stderr


def json_in(archive, name):
    return json.load(archive.extractfile(name))


class Assemble(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.place.name)
        source = cls.folder / "greet.c"
        source.write_text('const char *greeting(void) { return "hello from inside"; }\n')
        compiled("-shared", "-fPIC", "-g", "-Wl,-soname,libgreet.so.1", source, "-o", cls.folder / "libgreet.so.1")
        (cls.folder / "libgreet.so").symlink_to("libgreet.so.1")
        source = cls.folder / "demo.c"
        source.write_text('#include <stdio.h>\nconst char *greeting(void);\nint main(void) { puts(greeting()); return 0; }\n')
        cls.demo = cls.folder / "demo"
        compiled("-g", source, f"-L{cls.folder}", "-lgreet", "-o", cls.demo)
        source = cls.folder / "lazy.c"
        source.write_text(LAZY)
        cls.lazy = cls.folder / "lazy"
        compiled("-g", source, "-ldl", "-o", cls.lazy)
        (cls.folder / "certificates").write_text("certificates of the test\n")
        zones = cls.folder / "zones"
        for folder in ("Europe", "right/Europe"):
            (zones / folder).mkdir(parents=True)
            (zones / folder / "Berlin").write_bytes(b"TZif2 of the test")
        (zones / "Germany").symlink_to("Europe/Berlin")
        (zones / "zone.tab").write_text("DE Europe/Berlin\n")

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def assemble(self, *more, name="one", library_folder=None, environment=None, program=None):
        out = self.folder / name
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        folder = ["--library-folder", self.folder if library_folder is None else library_folder]
        done = run(sys.executable, ASSEMBLE, "--file", f"usr/bin/demo={program or self.demo}", "--version", "1.2.3",
                   "--reference", "registry.test/demo:1.2.3", "--output", out / "image.tar", "--folder", out / "parts",
                   "--licence", ROOT / "LICENSE", "--certificates", self.folder / "certificates",
                   "--zones", self.folder / "zones", *folder, *more,
                   env={**os.environ, "SOURCE_DATE_EPOCH": "0", **(environment or {})})
        return done, out

    def made(self, *more, **how):
        done, out = self.assemble(*more, **how)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def test_the_same_input_gives_the_same_bytes(self):
        one = self.made("--strip", STRIP, name="one")
        os.utime(self.demo)
        two = self.made("--strip", STRIP, name="two", environment={"TZ": "Asia/Tokyo", "LANG": "C", "HOME": "/nowhere"})
        self.assertEqual((one / "image.tar").read_bytes(), (two / "image.tar").read_bytes())
        later = self.made("--strip", STRIP, name="later", environment={"SOURCE_DATE_EPOCH": "86400"})
        with tarfile.open(later / "image.tar") as archive:
            self.assertEqual({entry.mtime for entry in archive}, {86400})

    def test_names_and_digests_are_those_that_runtimes_look_for(self):
        with tarfile.open(self.made() / "image.tar") as archive:
            names = archive.getnames()
            self.assertEqual(names, sorted(names))
            self.assertEqual(json_in(archive, "oci-layout"), {"imageLayoutVersion": "1.0.0"})
            entry, = json_in(archive, "index.json")["manifests"]
            self.assertEqual(entry["annotations"], {"io.containerd.image.name": "registry.test/demo:1.2.3",
                                                    "org.opencontainers.image.ref.name": "1.2.3"})
            blob = lambda descriptor: "blobs/sha256/" + descriptor["digest"][7:]
            manifest = json_in(archive, blob(entry))
            config = json_in(archive, blob(manifest["config"]))
            for descriptor in [entry, manifest["config"], *manifest["layers"]]:
                data = archive.extractfile(blob(descriptor)).read()
                self.assertEqual((hashlib.sha256(data).hexdigest(), len(data)), (descriptor["digest"][7:], descriptor["size"]))
            plain = [hashlib.sha256(gzip.decompress(archive.extractfile(blob(one)).read())).hexdigest() for one in manifest["layers"]]
            self.assertEqual(config["rootfs"]["diff_ids"], ["sha256:" + one for one in plain])
            self.assertEqual(config["config"]["User"], "0:0")
            self.assertNotIn("Entrypoint", config["config"])
            old, = json_in(archive, "manifest.json")
            self.assertEqual(old["RepoTags"], ["registry.test/demo:1.2.3"])
            self.assertLessEqual({old["Config"], *old["Layers"]}, set(names))

    def unpacked(self, out):
        root = out / "root"
        for layer in ("libraries", "programs"):
            with tarfile.open(out / "parts" / f"{layer}.tar.gz") as archive:
                for entry in archive:
                    self.assertEqual((entry.uid, entry.gid, entry.uname, entry.mtime), (0, 0, "", 0), entry.name)
                    self.assertFalse(entry.name.startswith("/"), entry.name)
                archive.extractall(root)
        return root

    def test_a_program_finds_all_of_its_libraries_inside(self):
        root = self.unpacked(self.made("--strip", STRIP))
        for path in PLACES:
            self.assertTrue(os.path.lexists(root / path), path)
        self.finds_its_libraries(root)

    def test_a_program_finds_the_libraries_that_it_opens_at_run_time(self):
        self.finds_its_libraries(self.unpacked(self.made("--strip", STRIP, program=self.lazy)))
        done, _ = self.assemble(library_folder="/nowhere", program=self.lazy, name="without")
        self.assertEqual(done.returncode, 1)
        self.assertIn("libgreet.so.1: not found", done.stderr)

    def finds_its_libraries(self, root):
        self.assertEqual((root / "etc/ssl/certs/ca-certificates.crt").read_text(), "certificates of the test\n")
        libraries = next((root / "usr/lib").glob("*-linux-gnu*"))
        names = {path.name for path in libraries.iterdir()}
        self.assertLessEqual({"libgreet.so.1", "libc.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}, names)
        loader = next((root / "usr/lib64").glob("ld-*"), None) or next(libraries.glob("ld-*"))
        done = run(loader, "--library-path", libraries, root / "usr/bin/demo", env={})
        self.assertEqual(done.stdout, "hello from inside\n", done.stderr)
        self.assertLess((libraries / "libgreet.so.1").stat().st_size, (self.folder / "libgreet.so.1").stat().st_size)

    def test_an_image_without_one_of_its_libraries_is_refused(self):
        done, out = self.assemble(library_folder="/nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertIn("libgreet.so.1: not found", done.stderr)
        self.assertIn(str(self.demo), done.stderr)
        self.assertEqual(list(out.iterdir()), [])

    def test_schedules_find_their_time_zones(self):
        zones = self.unpacked(self.made()) / "usr/share/zoneinfo"
        self.assertEqual(sorted(path.relative_to(zones).as_posix() for path in zones.rglob("*")), ["Europe", "Europe/Berlin", "Germany"])
        self.assertEqual((zones / "Germany").read_bytes(), b"TZif2 of the test")
        done, _ = self.assemble("--zones", self.folder / "parts", name="without")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no time zones; install tzdata", done.stderr)

    def test_an_image_over_its_size_is_refused(self):
        done, out = self.assemble("--most-megabytes", "0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("more than the 0 MB", done.stderr)
        self.assertFalse((out / "image.tar").exists())

    def test_what_is_no_program_is_refused(self):
        script = self.folder / "script"
        script.write_text("#!/bin/sh\n")
        cut = self.folder / "cut"
        cut.write_bytes(self.demo.read_bytes()[:100])
        for program, words in ((script, "does not begin as an ELF file"), (cut, "cut off"), (self.folder / "none", "no such file")):
            done, _ = self.assemble(program=program)
            self.assertEqual(done.returncode, 1, program)
            self.assertIn(words, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
        done, _ = self.assemble(environment={"SOURCE_DATE_EPOCH": "yesterday"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected seconds", done.stderr)

    @unittest.skipUnless(shutil.which("clang") and shutil.which("ld.lld"), "no compiler for another processor")
    def test_the_image_is_for_the_processor_of_its_programs(self):
        folder = self.folder / "arm64"
        folder.mkdir()
        other = ["clang", "--target=aarch64-linux-gnu", "-nostdlib", "-fuse-ld=lld", "-fPIC"]
        source = folder / "empty.c"
        source.write_text("int here(void) { return 1; }\nvoid _start(void) {}\n")
        for name in ("libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1", "ld-linux-aarch64.so.1"):
            done = run(*other, "-shared", f"-Wl,-soname,{name}", source, "-o", folder / name)
            self.assertEqual(done.returncode, 0, done.stderr)
        done = run(*other, "-pie", "-Wl,--dynamic-linker=/lib/ld-linux-aarch64.so.1", source, folder / "libc.so.6", "-Wl,--no-as-needed",
                   "-o", folder / "demo")
        self.assertEqual(done.returncode, 0, done.stderr)
        out = self.made(program=folder / "demo", library_folder=folder)
        with tarfile.open(out / "image.tar") as archive:
            entry, = json_in(archive, "index.json")["manifests"]
        self.assertEqual(entry["platform"], {"architecture": "arm64", "os": "linux"})
        root = self.unpacked(out)
        self.assertTrue((root / "lib/ld-linux-aarch64.so.1").is_file())
        done, _ = self.assemble("--file", f"usr/bin/other={self.demo}", program=folder / "demo")
        self.assertIn("an image is for one", done.stderr)

    def test_the_bill_of_materials_names_every_package(self):
        inputs = self.folder / "demo.link.d"
        archive = run(COMPILER, "-print-file-name=libgcc.a").stdout.strip()
        inputs.write_text(f"demo: \\\n  main.o \\\n  {archive} \\\n  local.a\n")
        out = self.made("--link-inputs", inputs)
        bill = json.loads((out / "parts" / "sbom.spdx.json").read_text())
        self.assertEqual(bill["spdxVersion"], "SPDX-2.3")
        ids = [one["SPDXID"] for one in [*bill["packages"], *bill["files"]]]
        self.assertEqual(len(ids), len(set(ids)))
        for relation in bill["relationships"]:
            self.assertIn(relation["relatedSpdxElement"], ids)
        names = {one["name"] for one in bill["packages"]}
        self.assertIn("libgreet.so.1", names)
        root = self.unpacked(out)
        self.assertEqual((root / "usr/share/doc/aliquot/sbom.spdx.json").read_bytes(), (out / "parts" / "sbom.spdx.json").read_bytes())
        if shutil.which("dpkg-query") and run("dpkg-query", "-W", "libc6").returncode == 0:
            self.assertIn("libc6", names)
            self.assertTrue((root / "usr/share/doc/libc6/copyright").is_file())
            self.assertIn("Version: ", (root / "var/lib/dpkg/status.d/libc6").read_text())
            linked = [one for one in bill["relationships"] if one["relationshipType"] == "STATIC_LINK"]
            self.assertEqual(len(linked), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
