"""Weights and distributions written anew for mpmath, in 40 digits."""

import mpmath as mp

HALF = mp.mpf(1) / 2

# -- weights, as functions of p and q = 1 - p ---------------------------------------------------------


def tversky_kahneman(eta):
    return lambda p, q: p**eta / (p**eta + q**eta) ** (1 / mp.mpf(eta))


def prelec(alpha):
    return lambda p, q: mp.exp(-((-(mp.log(p) if p < HALF else mp.log1p(-q))) ** alpha))


def power(alpha):
    return lambda p, q: p**alpha


def gonzalez_wu(gamma, delta):
    return lambda p, q: delta * p**gamma / (delta * p**gamma + q**gamma)


def steep_middle(alpha):
    return lambda p, q: HALF + mp.sign(p - q) * abs(p - q) ** alpha / 2


def dual(weight):
    return lambda p, q: 1 - weight(q, p)


# -- distributions, as pairs P(X > x), P(X <= x), neither a difference of nearly equal numbers -------------------


def normal(mean, sd):
    return lambda x: (mp.ncdf((mean - x) / mp.mpf(sd)), mp.ncdf((x - mean) / mp.mpf(sd)))


def uniform(low, high):
    width = mp.mpf(high) - low

    def distribution(x):
        below = min(max((x - low) / width, mp.mpf(0)), mp.mpf(1))
        return 1 - below, below

    return distribution


def lognormal(sigma):
    return lambda x: (mp.ncdf(-mp.log(x) / sigma), mp.ncdf(mp.log(x) / sigma)) if x > 0 else (mp.mpf(1), mp.mpf(0))


def pareto(index):
    # x^-a near x = 1 is 1 - a (x - 1)
    return lambda x: (x**-index, -mp.expm1(-index * mp.log(x))) if x > 1 else (mp.mpf(1), mp.mpf(0))


def student_t(df):
    half = mp.mpf(df) / 2

    def distribution(x):
        far = df / (df + x * x)
        # the regularised incomplete beta function by its series in the smaller of x and 1 - x
        if far < HALF:
            outside = far**half / half / mp.beta(half, HALF) * mp.hyp2f1(half, HALF, half + 1, far) / 2
        else:
            near = x * x / (df + x * x)
            outside = HALF - mp.sqrt(near) / mp.beta(half, HALF) * mp.hyp2f1(HALF, 1 - half, mp.mpf(3) / 2, near)
        return (outside, 1 - outside) if x > 0 else (1 - outside, outside)

    return distribution


def gamma_of_two(x):
    """Shape 2, scale 1, whose survival function is (1 + x) e^-x."""
    if x <= 0:
        return mp.mpf(1), mp.mpf(0)
    above = (1 + x) * mp.exp(-x)
    return above, mp.gammainc(2, 0, x)


def beta(a, b):
    def lower(a, b, x):  # the regularised incomplete beta function for x <= 1/2
        return x**a / a / mp.beta(a, b) * mp.hyp2f1(a, 1 - mp.mpf(b), 1 + mp.mpf(a), x)

    def distribution(x):
        if x <= HALF:
            below = lower(a, b, x)
            return 1 - below, below
        above = lower(b, a, 1 - x)
        return above, 1 - above

    return distribution


def exponential(x):
    return (mp.exp(-x), -mp.expm1(-x)) if x > 0 else (mp.mpf(1), mp.mpf(0))


def logistic(x):
    return 1 / (1 + mp.exp(x)), 1 / (1 + mp.exp(-x))


def atom(at):
    return lambda x: (mp.mpf(x < at), mp.mpf(x >= at))


def mixture(*parts):
    def distribution(x):
        tails = [(share, *part(x)) for share, part in parts]
        return sum(s * above for s, above, _ in tails), sum(s * below for s, _, below in tails)

    return distribution
