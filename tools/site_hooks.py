"""What the site generator does beyond its plugins: links that leave docs/ keep working.

Pages link to files of the repository (`../examples/...`), which is right where the repository is read. The site
gets a copy of each such file, and the link is turned to it.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

LINK = re.compile(r"(\]\()([^)#\s]+)")
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


def on_files(files: Files, config: Any) -> Files:
    """Add a copy of every file outside of docs/ that a page links to."""
    root = Path(config.config_file_path).parent
    for page in files.documentation_pages():
        for _, target in LINK.findall(page.content_string):
            path = leaves_docs(page.src_uri, target)
            copied = f"{COPIES}/{path}"
            if path is not None and (root / path).is_file() and files.get_file_from_path(copied) is None:
                files.append(File.generated(config, copied, content=(root / path).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn links that leave docs/ to the copies."""

    def turned(link: re.Match[str]) -> str:
        path = leaves_docs(page.file.src_uri, link[2])
        if path is None or files.get_file_from_path(f"{COPIES}/{path}") is None:
            return link[0]
        return link[1] + posixpath.relpath(f"{COPIES}/{path}", posixpath.dirname(page.file.src_uri) or ".")

    return LINK.sub(turned, markdown)
