"""Vehicular routing on Eclipse SUMO (Section VI); needs the extra: pip install '.[traffic]'."""

from allais.traffic.demand import Crossing, Demand
from allais.traffic.network import RoadNetwork, Route
from allais.traffic.problem import GridSettings, TrafficProblem, grid_network, grid_problem, grid_routes
from allais.traffic.recording import Incident, RecordedTraffic, Recording, record
from allais.traffic.sumo import SumoError, SumoMissingError

__all__ = [
    "Crossing",
    "Demand",
    "GridSettings",
    "Incident",
    "RecordedTraffic",
    "Recording",
    "RoadNetwork",
    "Route",
    "SumoError",
    "SumoMissingError",
    "TrafficProblem",
    "grid_network",
    "grid_problem",
    "grid_routes",
    "record",
]
