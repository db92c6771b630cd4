#!/usr/bin/env python3
"""Checks examples/ci with the linters of GitHub and GitLab, and runs what they run: the gate has to open for a version that
answers alike, and to close for one that does not. Checks examples/gitops with what Argo CD and Flux know of their objects.

    gates.py PLUGIN TOOLS NODE      TOOLS is the folder that get-gates.sh filled
"""

import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import yaml

from crds import misfits
from shops import DEMO, ROOT, shops

CI = ROOT / "examples" / "ci"
GITOPS = ROOT / "examples" / "gitops"
TRAFFIC = f"#!/bin/sh\nexec '{sys.executable}' '{DEMO / 'traffic.py'}'\n"

failures = []


def check(what, holds, otherwise=""):
    print(f"{'ok' if holds else 'FAILED':6} {what}{'' if holds else f': {otherwise}'}")
    if not holds:
        failures.append(what)


def passes(what, command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **options)
    check(what, done.returncode == 0, done.stdout + done.stderr)


def gitlab_takes_it(tools, node, work):
    """gitlab-ci-local reads the file of a repository, against GitLab's own schema."""
    project = work / "gitlab"
    project.mkdir()
    shutil.copy(CI / "gitlab-ci.yaml", project / ".gitlab-ci.yml")
    for command in (["init", "--quiet"], ["remote", "add", "origin", "git@gitlab.test:shop/shop.git"]):
        subprocess.run(["git", *command], cwd=project, check=True)
    program = tools / "node_modules" / "gitlab-ci-local" / "dist" / "index.js"
    passes("GitLab's schema", [node, program, "--list-all"], cwd=project)


def gitops_is_known(tools):
    application = yaml.safe_load((GITOPS / "argo-cd" / "application.yaml").read_text())
    wrong = misfits(application, tools / "application-crd.yaml")
    check("Argo CD's Application", not wrong, wrong)
    passes("Flux's Kustomization", [tools / "reader", "flux-kustomization", GITOPS / "flux" / "kustomization.yaml"])


def steps():
    """What each of the two runs to compare, and the report that it leaves."""
    workflow = yaml.safe_load((CI / "github-actions.yaml").read_text())
    [compare] = [step for step in workflow["jobs"]["mirror"]["steps"] if step.get("name") == "Compare"]
    [script] = yaml.safe_load((CI / "gitlab-ci.yaml").read_text())["mirror"]["script"]
    return {"GitHub": (compare["run"], "mirror.md"), "GitLab": (script, "mirror.xml")}


def run(plugin, work, step, candidate):
    """Runs a step where a candidate of this version is compared; gives its exit status, and what it says."""
    (work / "ci").mkdir(parents=True)
    (work / "ci" / "traffic.sh").write_text(TRAFFIC)
    (work / "ci" / "traffic.sh").chmod(0o755)
    shutil.copy(DEMO / "rules.yaml", work / "ci" / "mirror-rules.yaml")
    program = work / ".kubectl-mirror" / "target" / "release" / "kubectl-mirror"
    program.parent.mkdir(parents=True)
    program.symlink_to(plugin)
    with shops({"primary": 1, "candidate": candidate, "secondary": 1}) as urls:
        addresses = {f"{side.upper()}_URL": url for side, url in urls.items()}
        command = ["bash", "-e", "-o", "pipefail", "-c", step]
        env = {**os.environ, **addresses}
        done = subprocess.run(command, cwd=work, env=env, capture_output=True, text=True, timeout=180)
    return done.returncode, done.stderr


def main():
    plugin, tools, node = (Path(argument).resolve() for argument in sys.argv[1:4])
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        passes("actionlint", [tools / "actionlint", CI / "github-actions.yaml"])
        gitlab_takes_it(tools, node, work)
        gitops_is_known(tools)
        for name, (step, report) in steps().items():
            status, said = run(plugin, work / f"{name}-same", step, 1)
            check(f"{name}: the gate opens for a version that answers alike", status == 0, said)
            status, said = run(plugin, work / f"{name}-other", step, 2)
            closed = status == 1 and "diverged>0.5%" in said and "status>0" in said
            check(f"{name}: the gate closes for one that does not, and says why", closed, f"{status}: {said}")
            text = (work / f"{name}-other" / report).read_text()
            check(f"{name}: the report is there", "/price" in text, text[:500])
            if report.endswith(".xml"):
                check(f"{name}: it is JUnit's XML", ElementTree.fromstring(text).tag == "testsuites")
    if failures:
        sys.exit(f"{len(failures)} checks failed")
    print("the gates open and close as they should")


if __name__ == "__main__":
    main()
