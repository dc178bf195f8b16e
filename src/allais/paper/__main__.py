"""`python -m allais.paper`: the main job, run by `make paper`."""

from rich.console import Console

from allais.paper.lotteries import table


def main() -> None:
    """Print the values of the paper's lotteries."""
    # a file or a pipe has no width of its own: rich would squeeze the table into 80 columns
    console = Console() if Console().is_terminal else Console(width=132)
    console.print(table())


if __name__ == "__main__":
    main()
