"""Choose smaller sizes for a task than the published ones.

A size keeps its divisibility by powers of two up to 64, because answers may rely on that. It stays the same if the
answer names it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from math import lcm, prod

from opbridge.analysis.judge.task.numbers_named import numbers_named

_SMALL = 64
"""Sizes up to this stay the same: they include windows, strides, heads and groups."""
_WINDOW, _TILE = 8, 16
"""The largest window or stride, and a size that a tile of exactly the needed elements may have."""
_MOST_THREADS = 1024
_LONG = 2 * _MOST_THREADS + 65
_BATCH = re.compile(r"batch(_size)?|N|B|n|b")


SHRUNK, LOOSE, LONG, PUBLISHED = "shrunk", "loosely shrunk", "long", "published"
KEPT = "shrunk to multiples of what the answer names"
ODD, ODD_AND_LONG, ODD_WHERE_FEW = "odd", "odd and long", "odd where there are few"
ODD_ONES = (ODD, ODD_AND_LONG, ODD_WHERE_FEW)


@dataclass(frozen=True)
class Plan:
    """One set of sizes.

    Loosely shrunk sizes keep few numbers of the answer, and keep divisibility only up to 8. An answer that is right
    there is right. A wrong answer may have relied on its task; a number in the answer can show that.
    """

    kind: str
    sizes: tuple[tuple[str, object], ...] = ()
    """The sizes that differ from the published ones, by the names of opbridge.analysis.judge.task.sizes."""
    is_of_images: bool = False
    """Whether the plan is only for inputs of four or more dimensions."""
    is_relied_on: bool = False
    """Whether a number in the answer divides a published size, or the product of all, but not the new one."""
    loses_numbers: bool = False
    """Whether the same holds of a shrunk size, at which an answer may fail that is right at the published ones."""
    is_last_resort: bool = False
    """Whether the plan may take long: the only others left take longer, or are sizes that an answer may rely on."""

    @property
    def is_small(self) -> bool:
        """Whether the sizes are shrunk."""
        return self.kind in (SHRUNK, LOOSE)

    @property
    def is_odd(self) -> bool:
        """Whether the sizes are odd."""
        return self.kind in ODD_ONES

    @property
    def may_take_long(self) -> bool:
        """Whether calls may take long."""
        return self.is_last_resort or self.kind == PUBLISHED

    @property
    def is_long(self) -> bool:
        """Whether one size exceeds the threads of two blocks."""
        return self.kind in (LONG, ODD_AND_LONG)

    def __str__(self) -> str:
        sizes = (f"{value} for {name}" if name.isdecimal() else f"{name}={value}" for name, value in self.sizes)
        return ", ".join(sizes) or "the published shapes"


def plans(published: dict[str, object], answer: str) -> list[Plan]:
    """Return the plans in the order to try them.

    Small sizes come first, then the published ones, then odd, long and finally the other loosely shrunk ones.
    Sizes that keep all divisors take long, and are for answers that fail at all others.
    """
    named = numbers_named(answer)

    def changed(kind: str, change: Callable[[int], int]) -> Plan:
        new = {name: _mapped(value, change) for name, value in published.items()}
        return Plan(kind, tuple((name, value) for name, value in new.items() if value != published[name]))

    def kept(change: Callable[[int], int], above: int) -> Callable[[int], int]:
        return lambda size: size if size <= above or size in named else change(size)

    apart = [changed(SHRUNK, _apart(kept(shrunk, above), published)) for above in (16, _SMALL)]
    alike = [changed(SHRUNK, kept(shrunk, above)) for above in (16, _SMALL, 512)]
    small = [*apart, *(_of_few_images(plan, published) for plan in apart)]
    small += [*alike, *(_of_few_images(plan, published) for plan in alike)]
    small += [changed(SHRUNK, kept(_four_units, _SMALL))]
    loose = [changed(LOOSE, kept(smallest, 16)), *(changed(LOOSE, partial(_unless, above)) for above in (16, _SMALL))]
    loose += [_of_few_images(plan, published) for plan in loose]
    loose += [changed(LOOSE, partial(_part, count)) for count in (8, 4)]
    loose = [replace(plan, is_relied_on=_is_relied_on(plan, published, named)) for plan in loose]
    small = [replace(plan, loses_numbers=_is_relied_on(plan, published, named)) for plan in small]
    multiples = changed(KEPT, _apart(kept(partial(_multiple, named), 16), published))
    all_kept = [_of_few_images(multiples, published), multiples] if any(plan.loses_numbers for plan in small) else []
    changes = (_apart(kept(shrunk, 16), published, 1), _odd, _smallest_odd)
    odd = [changed(ODD, kept(change, 16)) for change in changes]
    odd += [_of_few_images(plan, published) for plan in odd]
    odd = [each for plan in odd for each in (_of_odd_batch(plan, published), plan)]
    odd += [_of_odd_batch(plan, published) for plan in small]
    more = kept(lambda size: 2 * size + 1 if size <= _TILE else size, _WINDOW)
    odd += [_with_more_of_few(plan, published, more) for plan in (*small[:4], *loose[:1])]
    long = _with_one_long(changed(LONG, kept(shrunk, _SMALL)), published, _longest)
    odd_and_long = changed(ODD_AND_LONG, kept(_smallest_odd, 16))
    long += _with_one_long(odd_and_long, published, lambda size: _LONG)[-1:]
    last = [replace(plan, is_last_resort=True) for plan in smallest_first(small, published)]
    free = [plan for plan in loose if not plan.is_relied_on]
    all_plans = (*small, *free, *last, Plan(PUBLISHED), *odd, *long, *loose, *all_kept)
    different: dict[str, Plan] = {}
    for plan in all_plans:
        if plan.sizes or plan.kind == PUBLISHED:
            different.setdefault(repr(plan), plan)
    return list(different.values())


def patient(some: tuple[Plan, ...]) -> list[Plan]:
    """Return the plans for a longer wait: those that keep what the answer names, the smallest first."""
    return [plan for plan in some if plan.is_last_resort or plan.kind == PUBLISHED]


def smallest_first(some: Iterable[Plan], published: dict[str, object]) -> list[Plan]:
    """Sort plans by size; inputs of few images come before those of many."""
    return sorted(some, key=lambda plan: (not plan.is_of_images, prod(_all_numbers(plan, published))))


def _apart(change: Callable[[int], int], published: dict[str, object], more: int = 0) -> Callable[[int], int]:
    """Adjust a change so that different sizes stay different, and add `more` to each.

    An answer that confuses two sizes, or has one piece instead of several, is right if the sizes are equal.
    """
    sizes = sorted(set(_numbers(list(published.values()))))
    new = {size: size for size in sizes if change(size) == size}
    for size in sizes:
        found = unit = change(size)
        while found < size and found in new.values():
            found = min(size, found + unit)
        new[size] = found
    return lambda size: new[size] + more


def _is_relied_on(plan: Plan, published: dict[str, object], named: set[int]) -> bool:
    before, after = _numbers(list(published.values())), _all_numbers(plan, published)
    pairs = [*zip(before, after, strict=True), (prod(before), prod(after))]
    return any(number > 1 and old % number == 0 and new % number for old, new in pairs for number in named)


def _all_numbers(plan: Plan, published: dict[str, object]) -> list[int]:
    return _numbers(list({**published, **dict(plan.sizes)}.values()))


def _numbers(value: object) -> list[int]:
    return [value] if isinstance(value, int) else [n for item in value for n in _numbers(item)]  # type: ignore[attr-defined]


def _of_few_images(plan: Plan, published: dict[str, object]) -> Plan:
    """Return the plan with a batch of two, for inputs of four or more dimensions: kernels do not tile their batch."""
    few = {name: 2 for name, size in published.items() if _BATCH.fullmatch(name) and isinstance(size, int) and size > 2}
    return replace(plan, sizes=tuple({**dict(plan.sizes), **few}.items()), is_of_images=bool(few))


def _of_odd_batch(plan: Plan, published: dict[str, object]) -> Plan:
    """Return the plan with an odd batch, even a small one; it may be the only size that can be odd, as with groups."""
    sizes = dict(plan.sizes)
    odd = {
        name: size | 1 for name, size in {**published, **sizes}.items() if _BATCH.fullmatch(name) and type(size) is int
    }
    return replace(plan, kind=ODD, sizes=tuple({**sizes, **odd}.items()) if odd else ())


def _with_more_of_few(plan: Plan, published: dict[str, object], more: Callable[[int], int]) -> Plan:
    """Return the plan with more of each small size, to expose an answer with one thread for each of 16."""
    sizes = {**published, **dict(plan.sizes)}
    few = [name for name, size in published.items() if _mapped(size, more) != size]
    odd = {name: _mapped(sizes[name], more) for name in few}
    is_more = any(odd[name] != sizes[name] for name in few)
    return replace(plan, kind=ODD_WHERE_FEW, sizes=tuple({**dict(plan.sizes), **odd}.items()) if is_more else ())


def _with_one_long(plan: Plan, published: dict[str, object], longer: Callable[[int], int]) -> list[Plan]:
    """Return plans that each make one size longer than two blocks have threads, the largest last.

    Some answers are wrong in the last block only.
    """
    sizes = dict(plan.sizes)
    numbered = [(size, name, place) for name in sizes for place, size in enumerate(_numbers(published[name]))]
    some = [
        {**sizes, name: _with(sizes[name], place, longer(size))}
        for size, name, place in sorted(numbered)
        if size > _LONG
    ]
    return [replace(plan, sizes=tuple(changed.items())) for changed in some]


def _with(value: object, place: int, size: int) -> object:
    """Return the value with another number at that place."""
    places = count()
    return _mapped(value, lambda old: size if next(places) == place else old)


def _longest(size: int) -> int:
    """Return a size of more than two blocks, divisible by the same power of two, up to the most threads of a block."""
    unit = min(size & -size, _MOST_THREADS)
    return min(size, unit * (-(-_LONG // unit) | 1))


def shrunk(size: int) -> int:
    """Return a smaller size that is divisible by the same power of two, up to 64."""
    unit = min(size & -size, _SMALL)
    if size <= _SMALL:
        return unit * 2 if 2 * unit <= size and unit >= 8 else size
    return unit if unit >= 32 else unit * (-(-32 // unit) | 1)


def _multiple(named: set[int], size: int) -> int:
    """Return a smaller size that is divisible by the same numbers of the answer, and powers of two up to 64."""
    unit = lcm(min(size & -size, _SMALL), *(number for number in named if number > 1 and size % number == 0))
    return min(size, unit * -(-shrunk(size) // unit))


def _odd(size: int) -> int:
    return shrunk(size) + 1


def _smallest_odd(size: int) -> int:
    return smallest(size) + 1


def _four_units(size: int) -> int:
    """Return four shrunk units, for groups: with one element in each group, every output would be the same."""
    return min(size, 4 * shrunk(size))


def _unless(above: int, size: int) -> int:
    return size if size <= above else smallest(size)


def _part(count: int, size: int) -> int:
    """Return a fixed part of each size, for sizes that depend on each other, such as a norm after a convolution."""
    return size if size % count or size < 2 * count else size // count


def smallest(size: int) -> int:
    """Return a smaller size that is divisible by the same power of two, up to 8."""
    unit = min(size & -size, 8)
    return unit if unit == 8 and size <= _SMALL else unit * (-(-16 // unit) | 1)


def _mapped(value: object, change: Callable[[int], int]) -> object:
    if isinstance(value, int):
        return change(value)
    if isinstance(value, (tuple, list)):
        return type(value)(_mapped(item, change) for item in value)
    return value
