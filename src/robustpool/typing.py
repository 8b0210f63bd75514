"""The types that every layer writes in its signatures."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

FilePath = str | os.PathLike[str]
