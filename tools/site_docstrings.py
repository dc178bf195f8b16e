"""How docstrings become pages: examples as code, formulas typeset, pages and public names as links, and signatures with
plain defaults.

Docstrings are written for `help()`, so they hold no markup beyond backquotes; a formula is an indented line of its own.
"""

import re
from typing import Any

import griffe

import allais
from tools.formulas import latex_of

PAGE = re.compile(r"`?\bdocs/([\w/-]+\.md)(#[\w-]+)?`?")
NAME = re.compile(r"`((?:theory\.|testing\.)?[A-Za-z]\w*)(\(\))?`")


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
            obj.docstring.value = with_fences(obj.docstring.value)

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Let a field show its default, and not how a dataclass is told about it."""
        if isinstance(attr.value, griffe.ExprCall):
            attr.value = plain_field(attr.value)


def plain_field(call: griffe.ExprCall) -> griffe.Expr:
    """The field of a dataclass as griffe reads it: a `setting` is one by name, and a made default is what is made."""
    kind = str(call.function)
    if kind not in ("setting", "field"):
        return call
    given: dict[str, Any] = {one.name: one.value for one in call.arguments if isinstance(one, griffe.ExprKeyword)}
    if kind == "setting":
        places = [one for one in call.arguments if not isinstance(one, griffe.ExprKeyword)]
        given = {"kw_only": "True"} | ({"default": places[0]} if places else {})
    made = given.pop("default_factory", None)
    if made is not None:
        given["default"] = made.body if isinstance(made, griffe.ExprLambda) else griffe.ExprCall(made, [])
    kept = [griffe.ExprKeyword(name, value) for name, value in given.items()]
    return griffe.ExprCall(griffe.ExprName("dataclasses.field"), kept)
