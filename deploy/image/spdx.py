# SPDX-License-Identifier: Apache-2.0
"""The bill of materials of the image as SPDX 2.3 JSON."""
import hashlib
import json
import re
import time


def _id(*words):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(words))


def _package(identity, name, version, **more):
    return {"SPDXID": identity, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
            "copyrightText": "NOASSERTION", **more}


def _purl(package, distribution):
    return (f"pkg:deb/debian/{package.name}@{package.version.replace(':', '%3A').replace('+', '%2B')}"
            f"?arch={package.architecture}&distro={distribution}")


def document(version, programs, shipped, linked, unknown, distribution, when):
    """The text of the bill.

    programs  {path in the image: its bytes}
    shipped   packages whose files are in the image
    linked    packages that are inside the programs
    unknown   names of libraries that no package brought
    """
    root = _id("Package", "aliquot")
    packages = [_package(root, "aliquot", version, licenseDeclared="Apache-2.0", licenseConcluded="Apache-2.0",
                         supplier="Organization: Aliquot", primaryPackagePurpose="CONTAINER")]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", root)]
    for package in sorted({*shipped, *linked}):
        identity = _id("Package", package.name)
        about = [f"built from {package.source} {package.source_version}"]
        if package in linked:
            about.append("linked into the programs")
            relations.append((root, "STATIC_LINK", identity))
        if package in shipped:
            relations.append((root, "CONTAINS", identity))
        packages.append(_package(
            identity, package.name, package.version, supplier="Organization: Debian", sourceInfo="; ".join(about),
            **({"homepage": package.homepage} if package.homepage.startswith("http") else {}),
            externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                           "referenceLocator": _purl(package, distribution)}]))
    for name in sorted(unknown):
        packages.append(_package(_id("Package", name), name, "NOASSERTION", comment="no package of the build machine has it"))
        relations.append((root, "CONTAINS", _id("Package", name)))
    files = []
    for path, data in sorted(programs.items()):
        files.append({"SPDXID": _id("File", path), "fileName": "/" + path, "licenseConcluded": "Apache-2.0",
                      "copyrightText": "NOASSERTION", "fileTypes": ["BINARY"],
                      "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
                                    {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}]})
        relations.append((root, "CONTAINS", _id("File", path)))
    body = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"aliquot-image-{version}", "packages": packages, "files": files,
            "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                              for one, kind, other in relations]}
    mark = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    body["documentNamespace"] = f"https://aliquot.dev/spdx/aliquot-image-{version}-{mark[:32]}"
    body["creationInfo"] = {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when)),
                            "creators": ["Tool: aliquot-image"]}
    return json.dumps(body, indent=1, sort_keys=True).encode() + b"\n"
