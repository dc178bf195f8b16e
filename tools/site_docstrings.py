"""How docstrings become pages: examples as code, formulas typeset, pages and public names as links, and the comments of
fields as text.

Docstrings are written for `help()`, so they hold no markup beyond backquotes; a formula is an indented line of its own.
"""

import re
from typing import Any

import griffe

import allais
from tools.formulas import latex_of

PAGE = re.compile(r"`?\bdocs/([\w/-]+\.md)(#[\w-]+)?`?")
NAME = re.compile(r"`((?:theory\.|testing\.)?[A-Za-z]\w*)(\(\))?`")
COMMENT = re.compile(r"\s#\s+(?!type:|noqa)(.+?)\s*$")


def with_fences(text: str) -> str:
    """Put each example of a docstring into a code block, and each formula between dollars.

    >>> with_fences("What.\\n\\n    w(p) = p^alpha\\n\\n>>> 1 + 1\\n2")
    'What.\\n\\n$$\\nw\\\\left(p\\\\right) = p^{\\\\alpha}\\n$$\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```'
    """
    return "\n\n".join(dressed(one) for one in re.split(r"\n{2,}", text))


def dressed(paragraph: str) -> str:
    """One paragraph of a docstring: an example, a formula or prose."""
    if paragraph.startswith(">>>"):
        return f"```pycon\n{paragraph}\n```"
    if paragraph.startswith("    ") and ">>>" not in paragraph:
        return f"$$\n{latex_of(' '.join(paragraph.split()))}\n$$"
    return linked(paragraph)


def linked(text: str) -> str:
    """Turn pages and public names into links.

    >>> linked("See `WUCB` (docs/theory/bands.md).")
    'See [`WUCB`][allais.WUCB] ([docs/theory/bands.md](../theory/bands.md)).'
    """
    text = PAGE.sub(lambda found: f"[{found[0].strip(chr(96))}](../{found[1]}{found[2] or ''})", text)
    return NAME.sub(lambda found: f"[{found[0]}][allais.{found[1]}]" if is_public(found[1]) else found[0], text)


def is_public(name: str) -> bool:
    """Whether the reference has an entry for a name."""
    module, _, rest = name.partition(".")
    return rest in vars(getattr(allais, module)) if rest else name in allais.__all__


class Docstrings(griffe.Extension):
    """The extension that mkdocstrings loads."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Dress one docstring."""
        if obj.docstring is not None:
            fields = fields_of(obj) if obj.is_class else ""
            obj.docstring.value = with_fences(obj.docstring.value) + fields


def fields_of(owner: griffe.Object) -> str:
    """A list of the fields of a class that a comment on their line describes."""
    described = []
    for field in owner.members.values():
        if not field.is_attribute or field.docstring is not None or field.name.startswith("_"):
            continue
        source = field.source.splitlines()
        found = COMMENT.search(source[-1]) if source else None
        if found:
            described.append(f"- `{field.name}`: {linked(found[1])}")
    return "\n\n" + "\n".join(described) if described else ""
