"""What Python and C++ agree on by number is written once, and the header is what Python prints."""

from __future__ import annotations

import re

from opbridge.native.contracts import CONTRACTS, HEADER, header


def test_the_header_is_what_python_prints() -> None:
    assert HEADER.read_text() == header(), "run: python -m opbridge.native.contracts"


def test_no_other_file_gives_these_types_numbers() -> None:
    """A second list would part from the first one day."""
    names = "|".join(contract.name for contract in CONTRACTS)
    defined = re.compile(rf"^enum\s+(?:class\s+)?(?:{names})\b", re.MULTILINE)
    headers = [path for path in HEADER.parent.rglob("*.h") if path != HEADER]
    assert headers
    assert not [path.name for path in headers if defined.search(path.read_text())]
