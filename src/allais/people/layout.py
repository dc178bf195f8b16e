"""Where free parameters lie: each on a line, and in the places that compiled code reads. Plain numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allais._checks import FloatArray, IntArray
from allais.people.scales import Scale


@dataclass(frozen=True, eq=False)
class Layout:
    """The free parameters of a family, in their order, and what is fixed beside them."""

    scales: tuple[Scale, ...]
    index: IntArray  # which parameter is in each place, -1: none, (places,)
    constants: FloatArray  # what is in the other places, (places,)

    def natural(self, z: FloatArray) -> FloatArray:
        """Parameters at places on the line, (n, parameters)."""
        return np.stack([scale.natural(z[:, i]) for i, scale in enumerate(self.scales)], axis=1)

    def on_line(self, parameters: FloatArray) -> FloatArray:
        """Where parameters lie on the line: the inverse of `natural`."""
        return np.stack([scale.on_line(parameters[:, i]) for i, scale in enumerate(self.scales)], axis=1)

    def slope(self, z: FloatArray) -> FloatArray:
        """How fast each parameter moves along its line, (n, parameters)."""
        return np.stack([scale.slope(z[:, i]) for i, scale in enumerate(self.scales)], axis=1)

    def places(self, parameters: FloatArray) -> FloatArray:
        """Parameter vectors as compiled code reads them, (n, places)."""
        full = np.tile(self.constants, (parameters.shape[0], 1))
        used = self.index >= 0
        full[:, used] = parameters[:, self.index[used]]
        return full

    def gathered(self, gradients: FloatArray) -> FloatArray:
        """Slopes in the free parameters from those in all places: tied places add up."""
        total = np.zeros((gradients.shape[0], len(self.scales)))
        for place, index in enumerate(self.index):
            if index >= 0:
                total[:, index] += gradients[:, place]
        return total
