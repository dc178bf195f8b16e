"""What is needed for some work only, and installed with an extra: its absence is said in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from allais.errors import MissingExtra

PACKAGES = {
    "plot": ("matplotlib",),
    "cli": ("rich", "typer"),
    "routes": ("networkx",),
    "cluster": ("distributed", "dask"),
    "serve": ("fastapi", "starlette", "uvicorn", "pydantic", "sqlalchemy", "alembic", "psycopg", "prometheus_client"),
    "people": ("narwhals", "numpyro", "jax", "arviz"),
}


@contextmanager
def extra(name: str, thing: str) -> Iterator[None]:
    """Around imports: where a package of the extra is not installed, say what needs it and how to get it.

    >>> with extra("plot", "a picture"):
    ...     import matplotlib
    """
    try:
        yield
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in PACKAGES[name]:  # installed, and broken: that is another story
            raise
        raise missing_extra(name, thing, missing) from None


def missing_extra(name: str, thing: str, package: str) -> MissingExtra:
    """The error that says which extra to install.

    >>> print(missing_extra("plot", "a picture", "matplotlib"))
    a picture needs matplotlib, which is not installed. Run in the folder of allais: pip install '.[plot]'.
    """
    how = f"Run in the folder of allais: pip install '.[{name}]'."  # it is not on PyPI
    return MissingExtra(f"{thing} needs {package}, which is not installed. {how}")
