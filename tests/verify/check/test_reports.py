"""JUnit XML and JSON, as CI reads them."""

from __future__ import annotations

import json
import math
from xml.etree import ElementTree

from opbridge.verify.check.reports import to_json, to_junit
from opbridge.verify.check.results import Curve, Row, Status

CURVE = Curve("float64", (1e-1, 1e-2), (math.inf, 1e-4))
ROWS = [
    Row("m::f", "torch", "values", Status.PASSED, "as NumPy", seconds=0.5),
    Row("m::f", "torch", "gradients", Status.FAILED, "the formula is wrong: <x> \x1b[31m& y", curves=(CURVE,)),
    Row("m::f", "torch", "dtypes", Status.PASSED, "float32", dtypes=(("float32", Status.PASSED),)),
    Row("m::g", "numpy", "values", Status.UNCHECKED, "nothing to compare with", device="cuda"),
    Row("m::g", "numpy", "threads", Status.SKIPPED, "one thread only", device="cuda"),
]


def test_json_gives_the_rows_back() -> None:
    document = json.loads(to_json(ROWS, seed=3), parse_constant=lambda name: 1 / 0)
    assert [Row.of(fields) for fields in document["rows"]] == ROWS
    counts = {name: document[name] for name in ("passed", "failed", "skipped", "unchecked")}
    assert counts == {"passed": 2, "failed": 1, "skipped": 1, "unchecked": 1}
    assert document["seed"] == 3


def test_junit_has_a_suite_for_each_operator() -> None:
    root = ElementTree.fromstring(to_junit(ROWS))
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("5", "1", "2")
    f, g = root.findall("testsuite")
    assert (f.get("name"), f.get("tests"), g.get("tests")) == ("m::f", "3", "2")
    passed, failed, _ = f.findall("testcase")
    assert (passed.get("classname"), passed.get("name"), passed.get("time")) == ("m::f.torch", "values", "0.500")
    failure = failed.find("failure")
    assert failure is not None
    assert failure.get("message") == "the formula is wrong: <x> [31m& y"
    assert g[0].get("classname") == "m::g.numpy.cuda"
    unchecked = g[0].find("skipped")
    assert unchecked is not None
    assert unchecked.get("message") == "unchecked: nothing to compare with"
