"""Captions of figures: the docstring of the function that draws one, read without importing it.

``{replicates}`` in it stands for the numbers of replicates of the configuration in force.
"""

from __future__ import annotations

import ast
import inspect

from fingerprint import source

PLACE = "{replicates}"


def caption(address: str, replicates: str) -> str:
    """The docstring behind ``package.module:function``, with the numbers of replicates in words in their place.

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
                return inspect.cleandoc(text).replace(PLACE, replicates)
    raise ValueError(f"address is {address!r}: no function of that name with a docstring, which is the caption.")
