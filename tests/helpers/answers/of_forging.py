"""Attacks of C++ that change what the twin records, or have it record what no kernel does."""

from __future__ import annotations

from tests.helpers.answers.forging_extension import WITHOUT_CALLBACKS, answer

FORGING = {
    "a record without a file": answer("relu", "return extension.by_a_closed_file(x, self.scale)"),
    "a record whose pages it opens": answer("relu", "return extension.by_opened_pages(x, self.scale)"),
    "callbacks that it clears": ("product", WITHOUT_CALLBACKS),
    "NumPy in a kernel": answer("product", "return extension.product_by_numpy_in_a_kernel(x)"),
    "a kernel of functions of the host": answer("product", "return extension.product_by_a_kernel_of_its_own(x)"),
}
