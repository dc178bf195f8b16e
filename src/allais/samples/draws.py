"""Random draws inside compiled code, from one uniform draw: a counter is hashed, and nothing is kept.

A policy's `choose` gets one uniform draw. Its 53 bits seed a stream here: the k-th number is a hash of
seed and k (splitmix64, Steele et al. 2014). So a choice is a function of its draw, alike live and simulated.
Each function returns its number and where the stream goes on.
"""

from __future__ import annotations

import numpy as np

from allais._kernels import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, odd
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S27, S30, S31, S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)


@kernel
def stream_of(u):
    """The stream that belongs to a uniform draw.

    Args:
        u: A uniform draw.
    """
    return _mixed(np.uint64(u * 2.0**53) * GOLDEN)


@kernel
def second_stream(u):
    """Another stream that belongs to a uniform draw, where what is drawn from the first must not be seen again.

    Args:
        u: A uniform draw.
    """
    return _mixed(np.uint64(u * 2.0**53) * GOLDEN + FIRST)


@kernel
def _mixed(x):
    x = (x ^ (x >> S30)) * FIRST
    x = (x ^ (x >> S27)) * SECOND
    return x ^ (x >> S31)


@kernel
def uniform(stream):
    """A uniform draw in (0, 1).

    Args:
        stream: The stream, which moves on.
    """
    following = stream + GOLDEN
    return (np.float64(_mixed(following) >> S11) + 0.5) * 2.0**-53, following


@kernel
def normal(stream):
    """A standard normal draw (Box and Muller).

    Args:
        stream: The stream, which moves on.
    """
    first, stream = uniform(stream)
    second, stream = uniform(stream)
    return np.sqrt(-2.0 * np.log(first)) * np.cos(2.0 * np.pi * second), stream


@kernel
def gamma(shape, stream):
    """A draw from Gamma(shape, 1), for a shape of 1 or more (Marsaglia and Tsang 2000).

    Args:
        shape: The shape, 1 or more.
        stream: The stream, which moves on.
    """
    if shape == 1.0:
        u, stream = uniform(stream)
        return -np.log(u), stream
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        x, stream = normal(stream)
        v = (1.0 + c * x) ** 3
        if v > 0.0:
            u, stream = uniform(stream)
            # the first test accepts a part of what the second accepts, without logarithms
            if u < 1.0 - 0.0331 * (x * x) * (x * x) or np.log(u) < 0.5 * x * x + d - d * v + d * np.log(v):
                return d * v, stream
