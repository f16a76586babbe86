"""The report as a parser reads it: whole, closed in itself, fit for a screen reader; and no data of it is run."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from html_tree import Tree
from hypothesis import given, settings
from hypothesis import strategies as st

from opbridge.analysis.report import MOST_BYTES, Contents, ReportedKernel, ReportedOperator, page
from opbridge.analysis.report.markup import Markup, element
from opbridge.analysis.report.tables import without_empty_columns
from opbridge.verify.check import Row, Status


@pytest.fixture(scope="module")
def tree(html: str) -> Tree:
    return Tree(html)


def test_links_lead_to_a_place_on_the_page(tree: Tree) -> None:
    links = [attributes["href"] for attributes in tree.all("a")]
    assert len(links) > 5
    assert len(set(tree.ids)) == len(tree.ids)
    for link in links:
        assert link is not None
        assert link[0] == "#"
        assert link[1:] in tree.ids


def test_nothing_comes_from_elsewhere_and_no_other_script_runs(tree: Tree, html: str) -> None:
    assert not [attributes for _, attributes in tree.elements if "src" in attributes or "style" in attributes]
    assert not [name for _, attributes in tree.elements for name in attributes if name.startswith("on")]
    policy = next(item["content"] for item in tree.all("meta") if item.get("http-equiv") == "Content-Security-Policy")
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in tree.texts["script"]]
    assert len(digests) == 1
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert f"script-src 'sha256-{digests[0]}'" in policy
    assert "http:" not in html
    assert "https:" not in html


def test_a_screen_reader_finds_its_way(tree: Tree) -> None:
    assert [tag for tag, _ in tree.elements if tag in ("header", "nav", "main", "footer")] == [
        *("header", "nav", "main", "footer")
    ]
    assert tree.all("html") == [{"lang": "en"}]
    assert tree.all("a")[0]["href"] == "#main"
    headings = [int(tag[1]) for tag, _ in tree.elements if re.fullmatch(r"h\d", tag)]
    assert headings[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(headings)), "no level is left out"
    assert all(attributes.get("scope") in ("row", "col") for attributes in tree.all("th"))
    assert len(tree.all("caption")) == len(tree.all("table")) > 3
    for drawn in tree.all("svg"):
        assert drawn.get("aria-hidden") or (drawn.get("role") == "img" and drawn["aria-labelledby"] in tree.ids)
    assert all(attributes.get("aria-label") for attributes in tree.all("meter"))


def test_it_shows_everything_that_is_known(tree: Tree, html: str) -> None:
    words = " ".join(text for texts in tree.texts.values() for text in texts)
    for expected in (
        "mine::right(Tensor x) -> Tensor",
        "x: grad * x",
        "gives 1 instead of <2>",
        "torch on cuda-twin",
        "0.50×",
        "the process dies of SIGABRT",
        "torch.ops.mine.right",
        "FuncTorchBatched",
        "kernel.cpp",
        "run-20",
        "float32: stays at 0.3",
    ):
        assert expected in words, expected
    assert html.count("<svg") > 10


def test_a_source_that_holds_markup_is_text(tree: Tree) -> None:
    assert any("</script><script>" in text for text in tree.texts["code"])
    assert len(tree.all("script")) == 1
    assert not tree.all("b")


@settings(max_examples=60)
@given(st.text(), st.text(min_size=1))
def test_whatever_a_text_holds_it_comes_back_from_the_markup(text: str, name: str) -> None:
    shown, named = ("".join(one for one in said if one.isprintable() or one in "\n\t") for said in (text, name))
    tree = Tree(element("div", text, title=name))
    assert tree.texts["div"] == [shown]
    assert tree.elements == [("div", {"title": named})]


def test_markup_is_not_escaped_twice() -> None:
    assert element("p", element("b", "<"), ["&", None], class_="x", hidden=True, id=None) == Markup(
        '<p class="x" hidden><b>&lt;</b>&amp;</p>'
    )


def test_few_operators_are_open_from_the_start(tree: Tree) -> None:
    assert not [part for part in tree.all("details") if "open" in part]
    assert [part["id"] for part in Tree(page(many(2, source=70))).all("details") if "open" in part] == [
        "op-op_0",
        "op-op_1",
    ]


def test_a_table_has_no_column_without_content() -> None:
    head, rows = without_empty_columns(["operator", "note", "time"], [["a", None, "1 s"], ["b", "", "2 s"]])
    assert (head, rows) == (["operator", "time"], [["a", "1 s"], ["b", "2 s"]])


def test_times_without_a_picture_are_no_roofline(report: Contents) -> None:
    assert report.run is not None
    without = replace(report.run, measurements=tuple(replace(one, flops=None) for one in report.run.measurements))
    headings = Tree(page(replace(report, run=without))).texts["h2"]
    assert "Times" in headings
    assert "Roofline" not in headings


def test_a_source_is_shown_once(html: str) -> None:
    assert html.count("int x = 1 &lt; 2;") == 1
    assert 'in the source shown at <a href="#op-right">right</a>' in html


def many(count: int, source: int) -> Contents:
    def one(number: int) -> ReportedOperator:
        name = f"mine::op_{number}"
        rows = [Row(name, "torch", f"check {place}", Status.PASSED, "as it should be " * 5) for place in range(40)]
        kernel = ReportedKernel("cpu", f"op_{number}.cpp", f"// {number}\n" + "int x;\n" * (source // 7))
        return ReportedOperator(name, f"{name}(Tensor x) -> Tensor", {}, (kernel,), tuple(rows), ())

    return Contents("mine", "2026-11-21T10:00:00+00:00", "0.1.0", tuple(map(one, range(count))))


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("count", "source", "said"),
    [(20, 200_000, "sources are left out"), (500, 100, "All but the summary is left out")],
)
def test_a_large_library_stays_below_the_limit(count: int, source: int, said: str) -> None:
    made = page(many(count, source))
    assert len(made.encode()) <= MOST_BYTES
    assert said in made
    assert f"op_{count - 1}" in made
    assert set(re.findall(r'href="#([^"]+)"', made)) <= set(re.findall(r'id="([^"]+)"', made))


def test_what_is_not_known_is_not_shown(report: Contents) -> None:
    bare = tuple(replace(item, rows=(), measurements=(), problems=(), dispatch=()) for item in report.operators)
    made = page(replace(report, operators=bare, run=None, history={}))
    assert "<svg" not in made
    assert "<table" not in made
