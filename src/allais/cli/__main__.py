"""`python -m allais.cli`: the command line where no script is installed."""

from allais.cli import main

main()
