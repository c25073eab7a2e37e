"""Types that the modules of data share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]
Random = np.random.Generator
Shape = tuple[int, ...]
