"""What hypothesis draws from: weights, lotteries and samples of ordinary and extreme shape; and pairs of cases."""

import pytest
from hypothesis import strategies as st

from allais import Discrete, GonzalezWu, Power, Prelec, TverskyKahneman, Wang
from allais.weights import Identity, SteepMiddle, TailAverage

share = st.floats(0.01, 1.0)
monotone_weights = st.one_of(
    st.just(Identity()),
    st.builds(TverskyKahneman, st.floats(0.28, 1.0)),
    st.builds(Prelec, st.floats(0.2, 3.0), st.floats(0.2, 3.0)),
    st.builds(GonzalezWu, st.floats(0.2, 3.0), st.floats(0.2, 3.0)),
    st.builds(Power, st.floats(0.1, 5.0)),
    st.builds(SteepMiddle, share),
    st.builds(TailAverage, share),
    st.builds(Wang, st.floats(-2.0, 2.0)),
)
weights_and_duals = st.one_of(monotone_weights, monotone_weights.map(lambda w: w.dual()))
outcomes = st.floats(-1000.0, 1000.0).map(lambda x: round(x, 3))
sample_lists = st.lists(outcomes, min_size=1, max_size=60)


@st.composite
def discrete_lotteries(draw, elements=outcomes):
    values = draw(st.lists(elements, min_size=1, max_size=8, unique=True))
    parts = draw(st.lists(st.integers(1, 1000), min_size=len(values), max_size=len(values)))
    return Discrete({value: part / sum(parts) for value, part in zip(values, parts, strict=True)})


def covering(rows, columns, times=1):
    """All pairs of cases; those beyond a set in which each case comes up, so many `times` at least, are slow."""
    rows, columns = list(rows), list(columns)
    met = {
        (k % len(rows), (k + 3 * turn) % len(columns))
        for k in range(max(len(rows), len(columns)))
        for turn in range(times)
    }
    return [
        pytest.param(row, column, marks=() if (i, j) in met else pytest.mark.slow)
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]
