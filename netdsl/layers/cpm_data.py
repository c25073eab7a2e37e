"""CPMData: images of people with maps of their joints and limbs, from the databases of CMU's pose nets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.batches.reading import Intake, Reading
from netdsl.data.sources.poses import POSES, PoseDatumSource
from netdsl.data.transforms.pose_skeleton import COCO, MPI, MPI_MIDDLES, MPI_SINGLE, Skeleton, plain_skeleton
from netdsl.data.transforms.pose_transform import CenteredPoseTransform, LimbPoseTransform, PoseSettings
from netdsl.data.types import Array
from netdsl.data.writing.databases import write_records
from netdsl.data.writing.pose_database import pose_samples
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.data import HasSampleFiles
from netdsl.layers._data import DataLayer, check_database, open_database, passed_over, refuse_table

_WITH_LIMBS = {56: COCO, 43: MPI}  # by num_parts, the number of maps: two for each limb and one for each joint
_ALONE = {14: MPI_SINGLE, 28: MPI_MIDDLES}
_OF_OTHER_IMAGES = {"scale", "mirror", "crop_size", "mean_file", "mean_value"}
_NAMES = {*pb.CPMTransformationParameter.DESCRIPTOR.fields_by_name, "put_gaussian", "visualize_label"}
_OF_POSES = _NAMES - _OF_OTHER_IMAGES


class CPMData(DataLayer, HasSampleFiles):
    """Reads images, and weights and maps for the joints and limbs of all people in them.

    `cpm_transform_param` has the settings. The older type of this name has a `cpmdata_param` and its settings in
    `transform_param`. It is for a single person, whose position is marked in the image's fourth channel. The maps show
    this person's joints first, and then the joints of all people.
    """

    origin = "CMU"
    config = pb.CPMTransformationParameter
    tops = (2, 2)

    def batch_size(self) -> int:
        return self._database().batch_size

    def item_shapes(self) -> Sequence[Shape | None]:
        p = self._settings()
        _, height, width = self.image((p.crop_size_y, p.crop_size_x))
        channels = 6 if isinstance(p, pb.CPMTransformationParameter) else 4 if p.put_gaussian else 3
        maps = (2 * (p.num_parts + 1), height // max(1, p.stride), width // max(1, p.stride))
        return [(channels, height, width), maps]

    def intake(self) -> Intake:
        raise refuse_table()

    def reading(self, seed: int) -> Reading:
        data, p = self._database(), self._settings()
        check_database(data)
        skeleton = self._skeleton()
        if p.np_in_lmdb < skeleton.stored:
            raise NetError(
                f"np_in_lmdb is {p.np_in_lmdb}, but {p.num_parts} parts are computed from {skeleton.stored} joints; "
                "raise np_in_lmdb"
            )
        kind = LimbPoseTransform if self._has_limbs() else CenteredPoseTransform
        records = open_database(data, pb.TransformationParameter())
        return Reading(
            PoseDatumSource(records, p.np_in_lmdb, masked=self._has_limbs()),
            data.batch_size,
            shuffle=data.shuffle,
            start=passed_over(data.rand_skip, seed),
            name=data.source,
            item_transform=kind(p, skeleton, train=self.layer.phase == pb.TRAIN),
        )

    def write_samples(self, folder: Path, values: Sequence[Array]) -> pb.LayerParameter:
        made, p = copy_of(self.layer), self._settings()
        records = pose_samples(values[0], joints=p.np_in_lmdb, scale=p.target_dist, masked=self._has_limbs())
        write_records(folder / "items", records)
        if self._has_limbs():
            made.data_param.source, made.data_param.backend = str(folder / "items"), pb.DataParameter.LMDB
            made.data_param.ClearField("rand_skip")
        else:
            made.cpmdata_param.source, made.cpmdata_param.backend = str(folder / "items"), pb.CPMDataParameter.LMDB
        return made

    def _has_limbs(self) -> bool:
        return not self.layer.HasField("cpmdata_param")

    def _database(self) -> pb.DataParameter:
        p = self.layer.cpmdata_param
        if self._has_limbs():
            named = copy_of(self.layer.data_param)
            named.source = named.source.removeprefix(f"{POSES}:")  # other commands use this prefix for such a database
            return named
        backend = pb.DataParameter.LMDB if p.backend == pb.CPMDataParameter.LMDB else pb.DataParameter.LEVELDB
        return pb.DataParameter(source=p.source, batch_size=p.batch_size, backend=backend)

    def _settings(self) -> PoseSettings:
        """Return the pose settings. Raises a `NetError` for settings that don't apply to images of people."""
        p = self.layer.cpm_transform_param if self._has_limbs() else self.layer.transform_param
        useless = [
            field.name
            for field, value in p.ListFields()
            if field.name not in _OF_POSES and not (field.has_default_value and value == field.default_value)
        ]
        if useless:
            raise NetError(
                f"{', '.join(useless)} doesn't apply to images of people, whose values always start at -0.5; "
                "remove it from transform_param"
            )
        return p

    def _skeleton(self) -> Skeleton:
        p = self._settings()
        if self._has_limbs() and (p.num_parts not in _WITH_LIMBS or not p.transform_body_joint):
            raise NetError(f"num_parts is {p.num_parts}; set it to 56 (COCO) or 43 (MPI), with transform_body_joint")
        if not p.num_parts:
            raise NetError("num_parts is 0; set it to 1 or more")
        known = _WITH_LIMBS if self._has_limbs() else _ALONE if p.transform_body_joint else {}
        return known.get(p.num_parts) or plain_skeleton(p.num_parts, swaps=p.transform_body_joint)
