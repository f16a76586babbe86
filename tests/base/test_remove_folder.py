"""Folders that are removed whatever somebody made in them."""

from __future__ import annotations

import os
from pathlib import Path

from opbridge.base.remove_folder import temporary_folder


def test_folders_of_any_depth_go_and_links_lead_nowhere(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("kept")
    here = os.getcwd()
    with temporary_folder(tmp_path) as folder:
        (folder / "link").symlink_to(kept)
        os.chdir(folder)
        for _ in range(1500):  # more than a stack or a path may hold
            os.mkdir("0")
            os.chdir("0")
            os.mkdir("1")
            Path("file").write_text("")
            os.chmod("1", 0)
        os.chdir(here)
    assert [*tmp_path.iterdir()] == [kept]
    assert (kept / "file").read_text() == "kept"
