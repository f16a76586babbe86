"""The native dispatcher: a call goes where the type of its first tensor belongs."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import pytest

from opbridge import _core
from opbridge.base.errors import CallError


class TestDispatcher:
    def test_forwards_by_the_type_of_the_first_known_argument(self) -> None:
        asked: list[object] = []

        def resolve(args: tuple[object, ...], kwargs: dict[str, object]) -> Callable[..., object]:
            asked.append((args, dict(kwargs)))
            return lambda *a, **k: "resolved"

        dispatch = _core.Dispatcher(resolve)
        assert dispatch(1, key=2) == "resolved"
        assert asked == [((1,), {"key": 2})]
        dispatch.remember(int, lambda *a, **k: ("int", a, k))
        dispatch.remember(float, lambda *a, **k: ("float", a, k))
        assert dispatch("s", 1, 2.0, k=3) == ("int", ("s", 1, 2.0), {"k": 3})
        assert dispatch(k=2.0) == ("float", (), {"k": 2.0})
        assert dispatch([2.0, 1])[0] == "float"
        assert dispatch((), (1,))[0] == "int"
        assert dispatch(True) == "resolved", "a subclass is another type"
        dispatch.remember(int, lambda *a: "again")
        assert dispatch(1) == "again"
        dispatch.forget()
        assert dispatch(1) == "resolved"

    def test_an_unknown_type_before_a_known_one_is_looked_at_first(self) -> None:
        dispatch = _core.Dispatcher(lambda args, kwargs: lambda *a: "resolved")
        dispatch.remember(float, lambda *a: "float")
        assert dispatch(object(), 1.0) == "resolved"
        assert dispatch([object()], 1.0) == "resolved"
        assert dispatch(None, True, 1, "s", [], (1,), 1.0) == "float"

    def test_subclasses_have_their_own_attributes(self) -> None:
        class Named(_core.Dispatcher):
            def __init__(self, name: str) -> None:
                super().__init__(lambda args, kwargs: lambda *a: (name, a))
                self.name = name

        assert Named("f")(1) == ("f", (1,))
        assert Named("f").name == "f"

    def test_it_can_forget_itself_during_a_call(self) -> None:
        dispatch = _core.Dispatcher(lambda args, kwargs: len)

        def target(x: int) -> int:
            dispatch.forget()
            gc.collect()
            return x + 1

        dispatch.remember(int, target)
        del target
        assert dispatch(1) == 2

    def test_errors_of_resolve_come_through(self) -> None:
        def resolve(args: object, kwargs: object) -> Callable[..., object]:
            raise CallError("no tensors")

        with pytest.raises(CallError, match="no tensors"):
            _core.Dispatcher(resolve)(1)

    def test_cycles_are_collected(self) -> None:
        class Marked(_core.Dispatcher):
            pass

        dispatch = Marked(lambda args, kwargs: len)
        dispatch.remember(int, dispatch)
        gone = weakref.ref(dispatch)
        del dispatch
        gc.collect()
        assert gone() is None

    def test_types_without_end_do_not_pile_up(self) -> None:
        dispatch = _core.Dispatcher(lambda args, kwargs: len)
        first = type("T", (), {})
        gone = weakref.ref(first)
        dispatch.remember(first, len)
        del first
        for _ in range(100):
            dispatch.remember(type("T", (), {}), len)
        gc.collect()
        assert gone() is None
