"""Reports for CI systems: JUnit XML and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from xml.etree import ElementTree

from opbridge._version import __version__
from opbridge.verify.check.results import Row, Status


def to_json(rows: Sequence[Row], seed: int) -> str:
    """Return the rows and their counts as JSON."""
    counts = {status.value: sum(row.status is status for row in rows) for status in Status}
    document = {"opbridge": __version__, "seed": seed, **counts, "rows": [row.fields() for row in rows]}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def to_junit(rows: Sequence[Row]) -> str:
    """Return the rows as JUnit XML.

    There is a suite per operator. A test's class is its framework, and its name is the check.
    """
    suites = ElementTree.Element("testsuites", _counts(rows))
    for operator, group in groupby(rows, key=lambda row: row.operator):
        tests = list(group)
        suite = ElementTree.SubElement(suites, "testsuite", {"name": operator, **_counts(tests)})
        for row in tests:
            where = row.framework if row.device == "cpu" else f"{row.framework}.{row.device}"
            name, place = _printable(row.check), f"{operator}.{where}"
            case = ElementTree.SubElement(suite, "testcase", name=name, classname=place, time=f"{row.seconds:.3f}")
            message = _printable(row.message)
            if row.status is Status.FAILED:
                ElementTree.SubElement(case, "failure", message=message)
            elif row.status in (Status.SKIPPED, Status.UNCHECKED):  # JUnit has one word for both
                ElementTree.SubElement(case, "skipped", message=f"{row.status.value}: {message}")
            else:
                ElementTree.SubElement(case, "system-out").text = message
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _counts(rows: Sequence[Row]) -> dict[str, str]:
    return {
        "tests": str(len(rows)),
        "failures": str(sum(row.failed for row in rows)),
        "skipped": str(sum(row.status in (Status.SKIPPED, Status.UNCHECKED) for row in rows)),
        "time": f"{sum(row.seconds for row in rows):.3f}",
    }


def _printable(text: str) -> str:
    """Return the text without characters that XML cannot contain, such as terminal colors."""
    return "".join(letter for letter in text if letter.isprintable() or letter in "\n\t")
