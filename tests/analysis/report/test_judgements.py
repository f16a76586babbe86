"""The page of a set of verdicts: shares, reasons, sources with the places marked; an answer's text is a stranger's."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import Browser
from html_tree import Tree

from opbridge.analysis.judge import Judgement, Reason, Verdict
from opbridge.analysis.judge.verdict.costs import Prediction
from opbridge.analysis.report import MOST_BYTES
from opbridge.analysis.report.judged_answer import ShownAnswer
from opbridge.analysis.report.judgements import ShownAnswers, judgements_page

HOSTILE = '</code></pre><script>document.title = "taken"</script><img src=x onerror="alert(1)">\u202e'
NAME = HOSTILE.replace("/", "")
SOURCE = f'''import torch
# {HOSTILE}
extension = load_inline(
    name="relu",
    cuda_sources="""
__global__ void kernel(const float* x) {{
  x[1];
}}
""",
)
'''
OUTSIDE = Reason("out-of-bounds", f"read out of bounds {HOSTILE}", "compare the index", "cuda.cu:6", "float32[16]", 1)


def answer(name: str, verdict: Verdict, *reasons: Reason, source: str = SOURCE) -> ShownAnswer:
    judgement = Judgement(verdict, reasons, shapes=("float32[16]", "float32[2048]"), seconds=9.1)
    cost = Prediction("a100", 1e-3, 2e-3) if verdict is Verdict.RIGHT else None
    return ShownAnswer("relu", f"relu/{name}", source, judgement, cost)


ANSWERS = (
    answer("right.py", Verdict.RIGHT),
    answer("wrong.py", Verdict.WRONG, OUTSIDE),
    answer("other.py", Verdict.WRONG, OUTSIDE),
    answer(f"{NAME}.py", Verdict.CHEATING, Reason("call stack", HOSTILE, "compute", f"{NAME}.py:2")),
    answer("slow.py", Verdict.UNDECIDED),
)


def page(answers: tuple[ShownAnswer, ...] = ANSWERS) -> str:
    return judgements_page(ShownAnswers("mine", "2026-11-20T10:00:00+00:00", "0.1.0", answers))


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree(page())


def test_it_says_what_share_is_right_and_why_the_others_are_not(tree: Tree) -> None:
    assert "1 of 5 answers are right." in tree.texts["p"]
    assert "20 % right, 40 % wrong, 20 % cheating, 20 % undecided" in tree.texts["title"]
    text = "".join(tree.texts["span"])
    assert "2, 50 %" in text, "of those that are not right"
    assert "1 ms, 2×" in text


def test_the_place_is_marked_in_the_answers_own_source(tree: Tree) -> None:
    assert tree.texts["mark"] == ["  x[1];"] * 2 + [f"# {HOSTILE[:-1]}"]


def test_a_strangers_text_stays_text(tree: Tree) -> None:
    assert len(tree.all("script")) == 1
    assert not tree.all("img")
    assert not [name for _, attributes in tree.elements for name in attributes if name.startswith("on")]
    assert "\u202e" not in page()


def test_links_lead_to_answers(tree: Tree) -> None:
    links = [str(attributes["href"])[1:] for attributes in tree.all("a")]
    assert set(links) <= set(tree.ids)
    assert len(set(tree.ids)) == len(tree.ids)


def test_of_too_many_only_what_is_around_the_places_is_shown() -> None:
    long = SOURCE + "# a line\n" * 6_000
    made = page(tuple(answer(f"{n}.py", Verdict.WRONG, OUTSIDE, source=long) for n in range(8)))
    assert len(made) < MOST_BYTES
    assert "left out" in made
    assert Tree(made).texts["mark"] == ["  x[1];"] * 8


def test_of_far_too_many_there_are_tables() -> None:
    made = page(tuple(answer(f"{n}.py", Verdict.RIGHT) for n in range(4_000)))
    assert "4000 of 4000 answers are right" in made
    assert not Tree(made).all("pre")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_read_on_a_phone_and_in_the_dark(browser: Browser, tmp_path: Path, scheme: str) -> None:
    file = tmp_path / "verdicts.html"
    file.write_text(page(), encoding="utf-8")
    browser.said.clear()
    browser.prefer(scheme)
    browser.resize(360, 740)
    browser.open(file)
    browser.click("button.all")
    assert browser.value("document.title") == "opbridge judge: mine"
    assert browser.value("document.documentElement.scrollWidth") <= 360
    assert browser.worst_contrast() >= 4.5
    assert browser.said == []
