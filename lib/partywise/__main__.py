"""All verbs, as ``python -m partywise`` and as the command ``partywise``: rows of `core.verbs.VERBS`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from . import __version__
from .core.errors import AccountError, ConfigError, CubeError, DataMissing, ModelError
from .core.project import THREADS, become, exit_code
from .core.verbs import HELP, VERSION, UnknownVerb, Verb, find, group_help, help_text, new_parser

# Before numpy, which functions of verbs load, sets up its threads.
os.environ.update({name: "1" for name in THREADS if name not in os.environ})


def main(words: Sequence[str] | None = None) -> int:
    """Run a verb; 0 when all is well, 1 when something differs or fails, 2 when it cannot be run."""
    return exit_code(lambda: _main(sys.argv[1:] if words is None else words))


def _main(words: Sequence[str]) -> int:
    if not words or words[0] in ("help", *HELP):
        print(help_text(), file=sys.stdout if words else sys.stderr)
        return 0 if words else 2
    if words[0] in VERSION:
        print(f"partywise {__version__}")
        return 0
    try:
        verb, rest = find(words)
    except UnknownVerb as reason:
        print(reason, file=sys.stderr)
        return 2
    if not verb.function:
        print(group_help(verb))
        return 0
    return become(verb, rest) if verb.is_script else call(verb, rest)


def call(verb: Verb, words: Sequence[str]) -> int:
    """Import the function of a verb and run it; 2 with a sentence where it cannot be run."""
    module, _, name = verb.function.partition(":")
    try:
        code: int = getattr(import_module(f".{module}", __package__), name)(new_parser(verb.name), words)
    except ModuleNotFoundError as error:
        print(f"partywise {verb.name} needs {error.name}: pip install 'partywise[pipeline]'.", file=sys.stderr)
        return 2
    except (AccountError, CubeError, ConfigError, DataMissing, ModelError) as error:
        print(f"{verb.short_name}: {error}", file=sys.stderr)
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
