"""What messages of vertical trees give away: labels by the signs of gradients.

The source sends gradients of all rows to the owners of columns (seed 003, "Label-scattering tree-based models"). The
function below is an attack by whoever receives them.
"""

import numpy as np

__all__ = ["labels_from_signs"]


def labels_from_signs(gradients: np.ndarray) -> np.ndarray:
    """Labels (n,) bool of rows by their gradients p - y of the log loss (n,): negative where the label is 1."""
    return np.asarray(gradients) < 0
