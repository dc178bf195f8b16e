"""`python -m allais.traffic`."""

from allais.traffic.cli import app

if __name__ == "__main__":
    app(prog_name="python -m allais.traffic")
