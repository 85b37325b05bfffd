"""Things that are Numba's, but only when Numba asks for them.

A process that runs machine code needs no compiler, yet it imports the modules whose functions were
compiled. What these define for compiled code only (parts, intrinsics, functions of C) is kept here
until Numba wants to know its type, which it asks of any object that has a ``_numba_type_``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any


class Late:
    """A module that is imported when something in it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Look into the module."""
        return getattr(import_module(self._name), name)


class Part:
    """A function that compiled code calls. Called from Python, it is compiled by itself."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__

    @cached_property
    def dispatcher(self) -> Any:
        """The same as Numba knows it."""
        return import_module("numba").njit(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        return self.dispatcher._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        """Compile it, and run it."""
        return self.dispatcher(*arguments)


class Intrinsic:
    """A piece of LLVM's language, given by a function as Numba's own ``intrinsic`` wants it."""

    def __init__(self, definition: Callable[..., Any]) -> None:
        self._definition = definition
        self.__name__ = definition.__name__
        self.__doc__ = definition.__doc__

    @cached_property
    def _numba_type_(self) -> Any:
        self._made = import_module("numba.extending").intrinsic(self._definition)
        context = import_module("numba.core.registry").cpu_target.typing_context
        context.refresh()
        return context.resolve_value_type(self._made)

    def __call__(self, *arguments: Any) -> Any:
        """Only compiled code can."""
        raise NotImplementedError(f"{self.__name__} can be called by compiled code only")


class External:
    """A function of C, by its name and by the names of its types."""

    def __init__(self, name: str, result: str, *arguments: str) -> None:
        self._name = name
        self._types = (result, *arguments)

    @cached_property
    def _numba_type_(self) -> Any:
        types = import_module("numba").types
        result, *arguments = (getattr(types, name) for name in self._types)
        return types.ExternalFunction(self._name, result(*arguments))

    def __call__(self, *arguments: Any) -> Any:
        """Only compiled code can."""
        raise NotImplementedError(f"{self._name} can be called by compiled code only")
