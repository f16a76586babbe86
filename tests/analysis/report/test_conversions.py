"""The page of a converted network: what differs comes first, with the operator that differs first."""

from __future__ import annotations

from html_tree import Tree

from opbridge.analysis.report.conversions import ShownConversion, conversion_page
from opbridge.models.conversion.comparison import Comparison, Difference

FIRST = Difference("aten::relu", "blocks.0", "value", 0.5, 'File "net.py", line 3', "net_ms/network.py:9: relu = <b>")


def page(*comparisons: Comparison, first: Difference | None = None) -> Tree:
    operators = ("aten::relu",), ("aten::linear",), {"aten::relu": "differs: mint.relu"}
    return Tree(
        conversion_page(ShownConversion("Net", "JAX", "2026-11-20T10:00", "0.1.0", comparisons, *operators, first))
    )


def test_what_differs_is_first() -> None:
    tree = page(Comparison("value", 1e-7), Comparison("gradient of weight", 0.5), first=FIRST)
    assert "1 of 2 comparisons differ from PyTorch." in tree.texts["p"]
    assert tree.texts["th"].index("gradient of weight") < tree.texts["th"].index("value")
    assert 'File "net.py", line 3\nnet_ms/network.py:9: relu = <b>' in "".join(tree.texts["code"])


def test_rounding_is_no_operators() -> None:
    tree = page(Comparison("value", 0.5))
    assert any("Each operator agrees by itself" in text for text in tree.texts["p"])


def test_operators_say_who_computes_them() -> None:
    tree = page(Comparison("value", 0.0))
    assert "All 1 comparisons agree." in tree.texts["p"]
    assert {"aten::relu", "aten::linear"} <= set(tree.texts["th"])
    assert "differs: mint.relu" in tree.texts["td"]
