"""Select the entries of the torch_npu dialect for a PyTorch version."""

from __future__ import annotations

from dataclasses import dataclass

from opbridge.base.errors import InputError, Location, ManifestError, did_you_mean

EVERY = "all_version"
_NEWEST = "newest"


@dataclass(frozen=True)
class Versions:
    """The versions that one file knows, and the one to generate for."""

    known: tuple[str, ...]
    """The versions of the file, oldest first, as in `all_version: [v2.1, v2.2]`."""
    chosen: str

    @classmethod
    def of(cls, known: tuple[str, ...], wanted: str | None, where: Location) -> Versions:
        """Choose a version.

        `wanted` is a PyTorch version such as 2.7 or 2.7.1; None selects the newest that the file knows.

        Raises:
            InputError: The file has no entries for the version.
        """
        if not known:
            raise ManifestError("expected a list of versions in `all_version`, got an empty one", where)
        if wanted is None:
            return cls(known, known[-1])
        chosen = "v" + ".".join(wanted.removeprefix("v").split("+")[0].split(".")[:2])
        if chosen not in known:
            hint = f"it knows {', '.join(known)}"
            raise InputError(f"{where.file} has nothing for PyTorch {wanted}", hint=hint)
        return cls(known, chosen)

    def select(self, field: object, where: Location) -> bool:
        """Return whether a field includes the chosen version.

        A field is `all_version`, `v2.1, v2.2` or `[v2.1, newest]`.
        """
        if field == EVERY:
            return True
        if isinstance(field, list):
            return self._between(field, where)
        listed = [self._position(part.strip(), where) for part in str(field).split(",")]
        return self.known.index(self.chosen) in listed

    def _between(self, ends: list[object], where: Location) -> bool:
        if len(ends) == 1:
            return self._position(str(ends[0]), where) == self.known.index(self.chosen)
        if len(ends) != 2:
            message = f"expected two ends of a range of versions, got {len(ends)}"
            raise ManifestError(message, where, "write [v2.1, newest]; several single versions go without brackets")
        first, last = (self._position(str(end), where) for end in ends)
        if first > last:
            message = f"the range [{ends[0]}, {ends[1]}] selects no version"
            raise ManifestError(message, where, "the older version comes first")
        return first <= self.known.index(self.chosen) <= last

    def _position(self, version: str, where: Location) -> int:
        if version == _NEWEST:
            return len(self.known) - 1
        if version not in self.known:
            hint = did_you_mean(version, (*self.known, _NEWEST, EVERY)) or f"versions: {', '.join(self.known)}"
            raise ManifestError(f"unknown version '{version}'", where, hint)
        return self.known.index(version)
