"""What the site generator does beyond its plugins: links that leave docs/ work, names lead to the reference, formulas
are typeset.

Pages link to files of the repository (`../examples/...`), which is right where the repository is read. The site
gets a copy of each such file, and the link is turned to it.
"""

import posixpath
import re
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

import allais
from allais.settings import FAMILIES, family
from tools.formulas import typeset

LINK = re.compile(r"(\]\()([^)#\s]+)")
FENCE_OR_HEADING = re.compile(r"(^```.*?^```|^#.*?$|^    .*?$)", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"(?<!\[)`([A-Za-z]\w*)(\([^`]*\))?`(?!\])")
OTHERS = re.compile(r"^::: (allais\.\w+)\.\*$", re.MULTILINE)
FONT = "STIXTwoMath-Regular.ttf"  # what formulas need of a font, few machines have
READABLE = 0.55  # of a picture's own size: its letters are then 8 pixels high
PICTURES = re.compile(r"<p>((?:<img [^>]*>\s*)+)</p>")
IMAGE = re.compile(r'<img [^>]*?src="([^"]+)"[^>]*>')
COPIES = "files"  # the folder of the site that holds them


def leaves_docs(page: str, target: str) -> str | None:
    """The path in the repository that a link of a page leads to, if it is outside of docs/.

    >>> leaves_docs("theory/bands.md", "../../examples/call_centre/call_centre.toml")
    'examples/call_centre/call_centre.toml'
    >>> leaves_docs("theory/bands.md", "../choosing.md") is None
    True
    """
    if "://" in target:
        return None
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    return None if path.startswith(("docs/", "../")) else path


def with_references(markdown: str) -> str:
    """Link public names that stand in backquotes, but not those in code, headings and links.

    >>> with_references("Take `NPTS(people, rewards)`, not `numpy`.")
    'Take [`NPTS(people, rewards)`][allais.NPTS], not `numpy`.'
    """

    def linked(found: re.Match[str]) -> str:
        return f"[{found[0]}][allais.{found[1]}]" if found[1] in allais.__all__ else found[0]

    parts = FENCE_OR_HEADING.split(markdown)  # every second one is code or a heading
    return "".join(part if number % 2 else NAME.sub(linked, part) for number, part in enumerate(parts))


def with_other_settings(markdown: str) -> str:
    """Replace `::: allais.bands.*` by entries for the settings of that package which the page does not name.

    >>> print(with_other_settings("::: allais.rewards.*"))
    ::: allais.rewards.Bounded
    <BLANKLINE>
    ::: allais.rewards.Finite
    <BLANKLINE>
    ::: allais.rewards.SubGaussian
    """
    named = re.findall(r"^::: [\w.]*\b(\w+)$", markdown, re.MULTILINE)

    def others(found: re.Match[str]) -> str:
        there = [name for one, (home, _) in FAMILIES.items() if home == found[1] for name in family(one)]
        return "\n\n".join(f"::: {found[1]}.{name}" for name in there if name not in named)

    return OTHERS.sub(others, markdown)


def on_files(files: Files, config: Any) -> Files:
    """Add a copy of every file outside of docs/ that a page links to, and the font of formulas."""
    root = Path(config.config_file_path).parent
    font = resources.files("ziamath.fonts") / FONT
    files.append(File.generated(config, f"{COPIES}/{FONT}", content=font.read_bytes()))
    for page in files.documentation_pages():
        for _, target in LINK.findall(page.content_string):
            path = leaves_docs(page.src_uri, target)
            copied = f"{COPIES}/{path}"
            if path is not None and (root / path).is_file() and files.get_file_from_path(copied) is None:
                files.append(File.generated(config, copied, content=(root / path).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn links that leave docs/ to the copies and names to the reference, and add the settings that no page names."""

    def turned(link: re.Match[str]) -> str:
        path = leaves_docs(page.file.src_uri, link[2])
        if path is None or files.get_file_from_path(f"{COPIES}/{path}") is None:
            return link[0]
        return link[1] + posixpath.relpath(f"{COPIES}/{path}", posixpath.dirname(page.file.src_uri) or ".")

    return with_references(LINK.sub(turned, with_other_settings(markdown)))


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Typeset the formulas of a page, and keep its pictures readable on a phone, where they scroll in place."""
    folder = Path(config.docs_dir, page.file.src_uri).parent
    return PICTURES.sub(
        lambda found: f'<div class="figure">{IMAGE.sub(partial(sized, folder), found[1])}</div>', typeset(html)
    )


def sized(folder: Path, image: re.Match[str]) -> str:
    """An image that says how narrow it may become; drawings (SVG) are made for phones as they are."""
    path = folder / image[1]
    if path.suffix != ".png" or not path.is_file():
        return image[0]
    width = int.from_bytes(path.read_bytes()[16:20])  # of a PNG's first chunk
    return f'{image[0][:-1].rstrip("/ ")} style="--narrowest: {round(READABLE * width)}px">'
