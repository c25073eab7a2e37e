"""ImageLabelmapData: HED's images from files, with edge maps."""

from __future__ import annotations

from netdsl.data.batches.reading import Reading
from netdsl.data.sources.segmentation import image_labelmap_source
from netdsl.layers._data import ImagesWithMaps, check_forks, check_source, passed_over


class ImageLabelmapData(ImagesWithMaps):
    """Reads images and edge maps of the same size. A pixel's label is 1 if the map is at least half as bright as
    white."""

    origin = "HED"
    white = 255

    def reading(self, seed: int) -> Reading:
        p = self.layer.image_data_param
        check_source(p)
        check_forks(p)
        source = image_labelmap_source(p, self.layer.transform_param, seed=seed)
        return Reading(source, p.batch_size, start=passed_over(p.rand_skip, seed), name=p.source)
