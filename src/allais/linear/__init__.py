"""Linear bandits: arms that share features, such as routes that share roads (Sections IV and V)."""

from allais.linear.arm_sets import Ball, Box, LinearBandit
from allais.linear.limits import linear_characteristic_time
from allais.linear.lingape import LinGapE
from allais.linear.lints import LinTS
from allais.linear.noise import AdditiveNoise, ArmNoise, EstimatedNoise, FeatureNoise, Noise, ParameterNoise
from allais.linear.policy import LinearPolicy, RadiusWarning
from allais.linear.regression import LinearFit, fit_linear
from allais.linear.routes import PathProblem, Routes, simple_routes
from allais.linear.wg import WG, GAllocation
from allais.linear.woful import OFUL, WOFUL

__all__ = [
    "OFUL",
    "WG",
    "WOFUL",
    "AdditiveNoise",
    "ArmNoise",
    "Ball",
    "Box",
    "EstimatedNoise",
    "FeatureNoise",
    "GAllocation",
    "LinGapE",
    "LinTS",
    "LinearBandit",
    "LinearFit",
    "LinearPolicy",
    "Noise",
    "ParameterNoise",
    "PathProblem",
    "RadiusWarning",
    "Routes",
    "fit_linear",
    "linear_characteristic_time",
    "simple_routes",
]
