"""Public CI runs every test: the parts of its jobs cover the folder of the tests."""

from __future__ import annotations

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_the_parts_of_public_ci_cover_every_test() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    parts = " ".join(workflow["jobs"]["test"]["strategy"]["matrix"]["tests"]).split()
    covered = {file for part in parts for found in ROOT.glob(part) for file in (found, *found.rglob("test_*.py"))}
    # Tests that need a GPU are run by hand; docs/evidence/on-a-gpu.md says how.
    tests = {
        file for file in (ROOT / "tests").rglob("test_*.py") if not {"inside", "on_gpu", "project"} & {*file.parts}
    }
    assert sorted(tests - covered) == []
    assert all(any(ROOT.glob(part)) for part in parts)
