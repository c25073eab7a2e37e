"""The names that forks and other frameworks give to layers which exist here under another name, with the settings that
make them the same."""

from __future__ import annotations

_UNIT_LENGTH = "param { lr_mult: 0 decay_mult: 0 } norm_param { channel_shared: true across_spatial: "
_AVERAGE = "Pooling: pooling_param { pool: AVE "

# Each line contains a type with settings, and the other names in lower case, without underscores and without "layer".
_NAMES = {
    f"Normalize: {_UNIT_LENGTH}false }}": "l2normalize l2norm normalizel2 norml2 l2normalise",
    f"Normalize: {_UNIT_LENGTH}true }}": "l2normalization itemnormalize",
    "BatchNorm": "batchnormalization cudnnbatchnorm syncbatchnorm",
    "BN": "syncbn cudnnbn",
    "LRN": "localresponsenormalization responsenormalization",
    "Convolution": "conv conv2d cudnnconvolution",
    "Deconvolution": "convtranspose deconv transposedconvolution convolutiontranspose",
    "DepthwiseConvolution": "convdepthwise depthwiseconv dwconv dwconvolution",
    "InnerProduct": "fullyconnected dense linear fc",
    "ReLU: relu_param { negative_slope: 0.1 }": "leakyrelu lrelu leaky",
    "Clip: clip_param { min: 0 max: 6 }": "clippedrelu relun boundedrelu",
    "HardSwish": "hswish",
    "Swish": "silu",
    "AbsVal": "abs absolute",
    "Power: power_param { power: 2 }": "square sqr",
    "Power: power_param { power: 0.5 }": "sqrt",
    "Power: power_param { scale: -1 }": "neg negate",
    "Power": "identity copy",
    f"{_AVERAGE}global_pooling: true }}": "globalpooling globalaveragepooling globalavepooling globalavgpool gap",
    f"{_AVERAGE}kernel_size: 2 stride: 2 }}": "averagepooling avepooling avgpool avgpooling",
    "Pooling: pooling_param { pool: MAX kernel_size: 2 stride: 2 }": "maxpooling maxpool",
    "Permute: permute_param { order: 0 order: 2 order: 3 order: 1 }": "transpose",
    "ShuffleChannel: shuffle_channel_param { group: 2 }": "channelshuffle shuffle",
    "Reshape: reshape_param { axis: 1 num_axes: 0 shape { dim: 1 } }": "expanddims unsqueeze",
    "DepthToSpace": "pixelshuffle subpixel",
    "Interp: interp_param { zoom_factor: 2 }": "bilinearupsample bilinearupsampling bilinearinterpolation",
    "Upsample: upsample_param { scale: 2 }": "nnupsample nearestupsample nearestupsampling upsampling",
    "Concat": "concatenate concatenation route",
    "Pad": "padding zeropadding",
    "Eltwise: eltwise_param { operation: SUM }": "sum eltwisesum elementwisesum shortcut addition",
    "Eltwise: eltwise_param { operation: SUM coeff: 1 coeff: -1 }": "sub subtract minus eltwisesub",
    "Eltwise: eltwise_param { operation: PROD }": "product eltwiseproduct eltwisemul elementwiseproduct",
    "Eltwise: eltwise_param { operation: MAX }": "eltwisemax elementwisemax",
    "Scale: scale_param { axis: 0 }": "broadcastmul channelwisescale channelscaling",
    "Reduction: reduction_param { operation: MEAN axis: 1 }": "mean reducemean",
    "Reduction: reduction_param { operation: SUM axis: 1 }": "reducesum",
    "EuclideanLoss": "l2loss mseloss l2 meansquarederrorloss",
    "L1Loss": "maeloss absloss",
    "SmoothL1Loss": "huberloss smoothl1",
    "SoftmaxWithLoss": "softmaxloss crossentropyloss softmaxcrossentropyloss",
    "SigmoidCrossEntropyLoss": "sigmoidcrossentropy bceloss binarycrossentropyloss sigmoidwithloss",
    "ROIPooling": "roipool",
    "PSROIPooling": "psroipool positionsensitiveroipooling",
}
OTHER_NAMES = {name: text for text, names in _NAMES.items() for name in names.split()}


def type_for(name: str) -> tuple[str, str] | None:
    """Return the type that another name probably means, with its settings as prototxt, or `None`."""
    text = OTHER_NAMES.get(name.lower().replace("_", "").removesuffix("layer"))
    if text is None:
        return None
    kind, _, settings = text.partition(": ")
    return kind, settings
