"""Properties that are computed once for each object, from any thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

Value = TypeVar("Value")


class cached_property(Generic[Value]):  # noqa: N801  (as in functools)
    """A property that is computed when first asked for, and kept in the object.

    Like `functools.cached_property`, but without the lock that it has before Python 3.12, one for
    all objects of a class: two threads that went through nested objects of two classes would wait
    for each other for ever. Two threads that ask at once may both compute it; one result is kept.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> Self | Value:
        if instance is None:
            return self
        # `setdefault` is one step: all threads go on with the same value.
        value: Value = instance.__dict__.setdefault(self._name, self._function(instance))
        return value
