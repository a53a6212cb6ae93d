"""Modules that can be called: the short name of the most common call and the name of the room are one."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def make_callable(module: str, function: str) -> None:
    """Let a module be called as the function `package.module:name`, with its signature and its help.

    The function is loaded when it is first asked for.
    """
    about = sys.modules[module].__doc__ or ""

    def target() -> Any:
        place, _, name = function.partition(":")
        return getattr(import_module(place), name)

    class CallableModule(ModuleType):
        def __call__(self, *args: Any, **settings: Any) -> Any:
            return target()(*args, **settings)

        @property
        def __signature__(self) -> inspect.Signature:
            return inspect.signature(target())

        @property
        def __doc__(self) -> str:  # type: ignore[override]
            short = module.rpartition(".")[2]
            return f"{about.rstrip()}\n\nmane.{short}{inspect.signature(target())}\n\n{inspect.getdoc(target())}\n"

    sys.modules[module].__class__ = CallableModule
