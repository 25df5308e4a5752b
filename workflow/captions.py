"""Captions of figures: the docstring of the function that draws one, read without importing it."""

from __future__ import annotations

import ast
import inspect

from fingerprint import source


def caption(address: str) -> str:
    """The docstring behind ``package.module:function``.

    Raises
    ------
    ValueError
        When there is no such function or it says nothing: every figure of a report has a caption.
    """
    module, _, name = address.partition(":")
    path = source(module, [module.partition(".")[0]])
    tree = ast.parse(path.read_bytes()) if path is not None else ast.Module(body=[], type_ignores=[])
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            text = ast.get_docstring(node)
            if text:
                return inspect.cleandoc(text)
    raise ValueError(f"address is {address!r}: no function of that name with a docstring, which is the caption.")
