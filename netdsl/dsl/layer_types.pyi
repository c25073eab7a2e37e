# ruff: noqa
# fmt: off
"""A function for every layer type. Written by `make stubs`."""

from collections.abc import Sequence
from typing import Literal, TypedDict, Unpack

from caffe_proto import caffe_pb2 as pb

__all__ = [
    "AbsVal",
    "Accuracy",
    "Add",
    "AnnotatedData",
    "ArgMax",
    "AssistedExcitation",
    "Axpy",
    "BN",
    "BNLL",
    "BatchNorm",
    "BatchReindex",
    "BatchToSpaceND",
    "Bias",
    "BoxAnnotatorOHEM",
    "CPMData",
    "CenterLoss",
    "ChannelScale",
    "Clip",
    "Concat",
    "ContrastiveLoss",
    "Convolution",
    "ConvolutionDepthwise",
    "Crop",
    "Data",
    "DataHeatmap",
    "Deconvolution",
    "DenseImageData",
    "DepthToSpace",
    "DepthwiseConvolution",
    "DetectNetCluster",
    "DetectNetGroundtruth",
    "DetectNetPrecision",
    "DetectNetScore",
    "DetectNetTransformation",
    "DetectionEvaluate",
    "DetectionOutput",
    "Dropout",
    "DummyData",
    "ELU",
    "Eltwise",
    "EltwiseAccuracy",
    "Embed",
    "EuclideanLoss",
    "EuclideanLossHeatmap",
    "EvalDetection",
    "Exp",
    "FCNSegData",
    "Filter",
    "Flatten",
    "Flip",
    "HDF5Data",
    "HDF5Output",
    "HardSwish",
    "HingeLoss",
    "Im2col",
    "ImResize",
    "ImageData",
    "ImageLabelmapData",
    "ImageSegData",
    "InfogainLoss",
    "InnerProduct",
    "Input",
    "Interp",
    "L1Loss",
    "LRN",
    "LSTM",
    "LSTMUnit",
    "LaneData",
    "Log",
    "MVN",
    "MarginInnerProduct",
    "Maximum",
    "MemoryData",
    "Mul",
    "MultiBoxLoss",
    "MultiStageMeanfield",
    "MultinomialLogisticLoss",
    "Nms",
    "Normalize",
    "PReLU",
    "PSROIPooling",
    "Pad",
    "Parameter",
    "Permute",
    "Pooling",
    "Power",
    "PriorBox",
    "Proposal",
    "Python",
    "RNN",
    "ROIPooling",
    "ReLU",
    "ReLU6",
    "Reduction",
    "RegionLoss",
    "Reorg",
    "Reshape",
    "ResizeBilinear",
    "ResizeNearestNeighbor",
    "RoIData",
    "RpnAnchorTarget",
    "RpnProposal",
    "RpnProposalTarget",
    "SPP",
    "Scale",
    "SeLU",
    "SeLUDropout",
    "SeLu",
    "SeLuDropout",
    "SegAccuracy",
    "SegmentationEvaluate",
    "ShuffleChannel",
    "Sigmoid",
    "SigmoidCrossEntropyLoss",
    "Silence",
    "Slice",
    "SmoothL1Loss",
    "SmoothL1LossOHEM",
    "Softmax",
    "SoftmaxWithLoss",
    "SoftmaxWithLossOHEM",
    "SpaceToBatchND",
    "SpatialDropout",
    "Split",
    "Squeeze",
    "Swish",
    "Switch",
    "TanH",
    "Threshold",
    "Tile",
    "Unpooling",
    "Upsample",
    "UpsampleDarknet",
    "VideoData",
    "WindowData",
    "WindowSegData",
    "YoloDetectionOutput",
    "YoloSeg",
    "Yolov3",
    "Yolov3DetectionOutput",
]

AnnotatedDatumAnnotationTypeName = Literal["BBOX", "BBOXandSeg", "LANE"] | pb.AnnotatedDatum.AnnotationType
AutotuneName = Literal["CAFFE_AUTOTUNE_DISABLED", "CAFFE_AUTOTUNE_FUNCTION", "CAFFE_AUTOTUNE_FUNCTION_PARAMETER"] | pb.Autotune
BNParameterBNModeName = Literal["LEARN", "INFERENCE"] | pb.BNParameter.BNMode
BNParameterEngineName = Literal["DEFAULT", "CAFFE", "CUDNN"] | pb.BNParameter.Engine
BatchNormParameterEngineName = Literal["DEFAULT", "CAFFE", "MKL2017", "MKLDNN", "CUDNN"] | pb.BatchNormParameter.Engine
BiasChannelParameterLabelTypeName = Literal["IMAGE", "PIXEL"] | pb.BiasChannelParameter.LabelType
BinaryAccuracyParameterAccuracyModeName = Literal["Accuracy", "Precision", "Recall", "F_measure"] | pb.BinaryAccuracyParameter.AccuracyMode
CPMDataParameterDBName = Literal["LEVELDB", "LMDB"] | pb.CPMDataParameter.DB
ConcatParameterEngineName = Literal["DEFAULT", "CAFFE", "MKL2017", "MKLDNN"] | pb.ConcatParameter.Engine
ConvolutionParameterCuDNNConvolutionAlgorithmSeekerName = Literal["GET", "FINDEX"] | pb.ConvolutionParameter.CuDNNConvolutionAlgorithmSeeker
ConvolutionParameterEngineName = Literal["DEFAULT", "CAFFE", "CUDNN", "MKL2017", "MKLDNN", "LIBDNN", "INTEL_SPATIAL", "FFT"] | pb.ConvolutionParameter.Engine
ConvolutionParameterFuseTypeName = Literal["UNFUSED", "FUSED_CONV_MAX_POOLING_RELU", "FUSED_CONV_RELU", "FUSED_CONV_ELTWISE_RELU"] | pb.ConvolutionParameter.FuseType
ConvolutionParameterFusionTypeName = Literal["NONE_FUSION", "SUM_FUSION"] | pb.ConvolutionParameter.FusionType
ConvolutionParameterSaturateMethodName = Literal["None", "Signed", "Unsigned", "Signed_8bit", "Unsigned_8bit"] | pb.ConvolutionParameter.SaturateMethod
CorrelationParameterCorrelationTypeName = Literal["MULTIPLY", "SUBTRACT"] | pb.CorrelationParameter.CorrelationType
DataParameterCHANNELENCODINGName = Literal["UINT8", "UINT16FLOW", "BOOL1"] | pb.DataParameter.CHANNELENCODING
DataParameterDBName = Literal["LEVELDB", "LMDB", "DATUMFILE"] | pb.DataParameter.DB
DataParameterRANDPERMORDERName = Literal["FIRST_PERMUTE_THEN_RANGE", "FIRST_RANGE_THEN_PERMUTE"] | pb.DataParameter.RANDPERMORDER
DataTypeName = Literal["CAFFE_FLOAT", "CAFFE_HALF", "CAFFE_DOUBLE", "CAFFE_INT8_QUANTIZED", "CAFFE_INT16_QUANTIZED", "CAFFE_INT32_QUANTIZED", "CAFFE_INT64_QUANTIZED", "CAFFE_PACKED_BINARY"] | pb.DataType
DetectNetGroundTruthParameterCoverageTypeName = Literal["RECTANGULAR"] | pb.DetectNetGroundTruthParameter.CoverageType
DetectNetGroundTruthParameterGridboxTypeName = Literal["GRIDBOX_MAX", "GRIDBOX_MIN"] | pb.DetectNetGroundTruthParameter.GridboxType
DropoutParameterEngineName = Literal["DEFAULT", "CAFFE", "CUDNN"] | pb.DropoutParameter.Engine
EltwiseParameterEltwiseOpName = Literal["PROD", "SUM", "MAX", "SORT", "STOCHASTIC_SUM"] | pb.EltwiseParameter.EltwiseOp
EltwiseParameterEngineName = Literal["DEFAULT", "CAFFE", "MKL2017", "MKLDNN"] | pb.EltwiseParameter.Engine
EmitConstraintEmitTypeName = Literal["CENTER", "MIN_OVERLAP"] | pb.EmitConstraint.EmitType
EvalDetectionParameterScoreTypeName = Literal["OBJ", "PROB", "MULTIPLY"] | pb.EvalDetectionParameter.ScoreType
FillerParameterVarianceNormName = Literal["FAN_IN", "FAN_OUT", "AVERAGE"] | pb.FillerParameter.VarianceNorm
FlowWarpParameterFillParameterName = Literal["ZERO", "NOT_A_NUMBER"] | pb.FlowWarpParameter.FillParameter
FocalLossParameterTypeName = Literal["ORIGIN", "LINEAR", "ONEADDP"] | pb.FocalLossParameter.Type
HingeLossParameterNormName = Literal["L1", "L2"] | pb.HingeLossParameter.Norm
ImageDataParameterLabelTypeName = Literal["NONE", "IMAGE", "PIXEL"] | pb.ImageDataParameter.LabelType
InnerProductParameterEngineName = Literal["DEFAULT", "CAFFE", "CUDNN", "MKLDNN"] | pb.InnerProductParameter.Engine
LRNParameterEngineName = Literal["DEFAULT", "CAFFE", "CUDNN", "MKL2017", "MKLDNN"] | pb.LRNParameter.Engine
LRNParameterFuseTypeName = Literal["UNFUSED", "FUSED_POOL_MAX"] | pb.LRNParameter.FuseType
LRNParameterNormRegionName = Literal["ACROSS_CHANNELS", "WITHIN_CHANNEL"] | pb.LRNParameter.NormRegion
LabelSpecificMarginParameterMarginTypeName = Literal["HARD", "SOFT"] | pb.LabelSpecificMarginParameter.MarginType
LargeMarginInnerProductParameterLargeMarginTypeName = Literal["SINGLE", "DOUBLE", "TRIPLE", "QUADRUPLE"] | pb.LargeMarginInnerProductParameter.LargeMarginType
LossParameterNormalizationModeName = Literal["FULL", "VALID", "BATCH_SIZE", "NONE", "PRE_FIXED"] | pb.LossParameter.NormalizationMode
MILParameterMILTypeName = Literal["MAX", "NOR"] | pb.MILParameter.MILType
MOEParameterBottomMappingName = Literal["GATING", "EXPERT", "GATING_AND_EXPERT"] | pb.MOEParameter.BottomMapping
MarginInnerProductParameterMarginTypeName = Literal["SINGLE", "DOUBLE", "TRIPLE", "QUADRUPLE"] | pb.MarginInnerProductParameter.MarginType
MeanParameterMeanOperationName = Literal["ADD", "SUBTRACT"] | pb.MeanParameter.MeanOperation
MergeCropParameterMergeOpName = Literal["STACK", "ADD"] | pb.MergeCropParameter.MergeOp
MultiBoxLossParameterConfLossTypeName = Literal["SOFTMAX", "LOGISTIC"] | pb.MultiBoxLossParameter.ConfLossType
MultiBoxLossParameterLocLossTypeName = Literal["L2", "SMOOTH_L1"] | pb.MultiBoxLossParameter.LocLossType
MultiBoxLossParameterMatchTypeName = Literal["BIPARTITE", "PER_PREDICTION"] | pb.MultiBoxLossParameter.MatchType
MultiBoxLossParameterMiningTypeName = Literal["NONE", "MAX_NEGATIVE", "HARD_EXAMPLE"] | pb.MultiBoxLossParameter.MiningType
MultiStageMeanfieldParameterModeName = Literal["POTTS"] | pb.MultiStageMeanfieldParameter.Mode
PackingName = Literal["NCHW", "NHWC"] | pb.Packing
PairwiseParameterPairwiseOpName = Literal["SUM", "PROD", "MAX"] | pb.PairwiseParameter.PairwiseOp
ParamSpecDimCheckModeName = Literal["STRICT", "PERMISSIVE"] | pb.ParamSpec.DimCheckMode
PhaseName = Literal["TRAIN", "TEST"] | pb.Phase
PoolingParameterEngineName = Literal["DEFAULT", "CAFFE", "CUDNN", "MKL2017", "MKLDNN", "LIBDNN"] | pb.PoolingParameter.Engine
PoolingParameterPoolMethodName = Literal["MAX", "AVE", "STOCHASTIC", "DEF", "DEF_ALL", "DEF_ALL2", "DEF_ALL3", "DEF_ALL4", "LOWRES", "AVE_EXC_PAD", "AVE_TF"] | pb.PoolingParameter.PoolMethod
PoolingParameterRoundModeName = Literal["CEIL", "FLOOR"] | pb.PoolingParameter.RoundMode
PoolingParameterSaturateMethodName = Literal["None", "Signed", "Unsigned", "Signed_8bit", "Unsigned_8bit"] | pb.PoolingParameter.SaturateMethod
PriorBoxParameterCodeTypeName = Literal["CORNER", "CENTER_SIZE", "CORNER_SIZE"] | pb.PriorBoxParameter.CodeType
QuantizationParameterPrecisionName = Literal["DYNAMIC_FIXED_POINT"] | pb.QuantizationParameter.Precision
QuantizationParameterRoundingName = Literal["NEAREST"] | pb.QuantizationParameter.Rounding
QuantizerModeName = Literal["CAFFE_QUANT_PASSIVE", "CAFFE_QUANT_OBSERVE", "CAFFE_QUANT_PSEUDO"] | pb.QuantizerMode
ReLUParameterEngineName = Literal["DEFAULT", "CAFFE", "CUDNN", "MKL2017", "MKLDNN"] | pb.ReLUParameter.Engine
ReductionParameterReductionOpName = Literal["SUM", "ASUM", "SUMSQ", "MEAN"] | pb.ReductionParameter.ReductionOp
ResampleParameterResampleTypeName = Literal["NEAREST", "LINEAR", "CUBIC", "AREA"] | pb.ResampleParameter.ResampleType
ResizeParameterInterp_modeName = Literal["LINEAR", "AREA", "NEAREST", "CUBIC", "LANCZOS4"] | pb.ResizeParameter.Interp_mode
ResizeParameterPad_modeName = Literal["CONSTANT", "MIRRORED", "REPEAT_NEAREST"] | pb.ResizeParameter.Pad_mode
ResizeParameterResize_modeName = Literal["WARP", "FIT_SMALL_SIZE", "FIT_LARGE_SIZE_AND_PAD"] | pb.ResizeParameter.Resize_mode
SPPParameterEngineName = Literal["DEFAULT", "CAFFE", "CUDNN"] | pb.SPPParameter.Engine
SPPParameterPoolMethodName = Literal["MAX", "AVE", "STOCHASTIC"] | pb.SPPParameter.PoolMethod
SaltPepperParameterSaltTypeName = Literal["relative", "absolute"] | pb.SaltPepperParameter.SaltType
SegAccuracyParameterAccuracyMetricName = Literal["PixelAccuracy", "ClassAccuracy", "PixelIOU"] | pb.SegAccuracyParameter.AccuracyMetric
SigmoidParameterEngineName = Literal["DEFAULT", "CAFFE", "CUDNN"] | pb.SigmoidParameter.Engine
SoftmaxParameterEngineName = Literal["DEFAULT", "CAFFE", "CUDNN"] | pb.SoftmaxParameter.Engine
SplitParameterEngineName = Literal["DEFAULT", "CAFFE", "MKL2017", "MKLDNN"] | pb.SplitParameter.Engine
TRTParameterTRTModeName = Literal["FP32", "FP16", "INT8"] | pb.TRTParameter.TRTMode
TanHParameterEngineName = Literal["DEFAULT", "CAFFE", "CUDNN"] | pb.TanHParameter.Engine
TransformationParameterInterpolationAlgoName = Literal["INTER_NEAREST", "INTER_LINEAR", "INTER_CUBIC", "INTER_AREA"] | pb.TransformationParameter.InterpolationAlgo
TypeName = Literal["DOUBLE", "FLOAT", "FLOAT16", "INT", "UINT", "BOOL"] | pb.Type
UnPoolingParameterEngineName = Literal["DEFAULT", "CAFFE"] | pb.UnPoolingParameter.Engine
UnPoolingParameterUnPoolMethodName = Literal["FIXED", "DIV", "REP", "MAX", "AVE", "TILE"] | pb.UnPoolingParameter.UnPoolMethod
V0LayerParameterPoolMethodName = Literal["MAX", "AVE", "STOCHASTIC"] | pb.V0LayerParameter.PoolMethod
V1LayerParameterDimCheckModeName = Literal["STRICT", "PERMISSIVE"] | pb.V1LayerParameter.DimCheckMode
V1LayerParameterLayerTypeName = Literal["NONE", "ABSVAL", "ACCURACY", "ARGMAX", "BNLL", "CONCAT", "CONTRASTIVE_LOSS", "CONVOLUTION", "DATA", "DECONVOLUTION", "DROPOUT", "DUMMY_DATA", "EUCLIDEAN_LOSS", "ELTWISE", "EXP", "FLATTEN", "HDF5_DATA", "HDF5_OUTPUT", "HINGE_LOSS", "IM2COL", "IMAGE_DATA", "INFOGAIN_LOSS", "INNER_PRODUCT", "LRN", "MEMORY_DATA", "MULTINOMIAL_LOGISTIC_LOSS", "MVN", "POOLING", "POWER", "RELU", "SIGMOID", "SIGMOID_CROSS_ENTROPY_LOSS", "SILENCE", "SOFTMAX", "SOFTMAX_LOSS", "SPLIT", "SLICE", "TANH", "WINDOW_DATA", "THRESHOLD", "RELU6", "CROP", "PARSE_OUTPUT", "PARSE_EVALUATE", "LOCAL", "BN", "NORMALIZE", "INSANITY", "TRIPLET_LOSS", "ROIPOOLING", "BATCH_NORM", "ELTWISE_AFFINE", "MULTI_STAGE_MEANFIELD", "SIMPLE_FAST_MEANFIELD", "BIN_ACCURACY", "ELTWISE_ACCURACY", "IMAGE_SEG_DATA", "RED_SOFTMAX_LOSS", "RED_ACCURACY", "UNPOOLING", "WINDOW_CLS_DATA", "WINDOW_SEG_DATA", "WINDOW_INST_SEG_DATA", "ACCURACY_REGRESSION", "IMPORT", "LOCAL_WEIGHTED_CONVOLUTION", "LRN_MAP"] | pb.V1LayerParameter.LayerType
VideoDataParameterModalityName = Literal["RGB", "FLOW"] | pb.VideoDataParameter.Modality
VideoDataParameterVideoTypeName = Literal["WEBCAM", "VIDEO"] | pb.VideoDataParameter.VideoType
Yolov3ParameterIOU_LOSSName = Literal["IOU", "GIOU", "MSE", "DIOU", "CIOU"] | pb.Yolov3Parameter.IOU_LOSS

class AccumParameterDict(TypedDict, total=False):
    top_height: int
    top_width: int
    size_divisible_by: int
    have_reference: bool

class AccuracyParameterDict(TypedDict, total=False):
    top_k: int
    axis: int
    ignore_label: int
    min_is_better: bool
    denominator: float

class AccuracyRegressionParameterDict(TypedDict, total=False):
    top_k: int

class AdaptiveBiasChannelParameterDict(TypedDict, total=False):
    num_iter: int
    bg_portion: float
    fg_portion: float
    suppress_others: bool
    margin_others: float

class AffinityParameterDict(TypedDict, total=False):
    offset: int | Sequence[int]

class AnnotatedDataParameterDict(TypedDict, total=False):
    batch_sampler: BatchSamplerDict | pb.BatchSampler | Sequence[BatchSamplerDict | pb.BatchSampler]
    label_map_file: str
    anno_type: AnnotatedDatumAnnotationTypeName
    yolo_data_type: int
    yolo_data_jitter: float
    train_diffcult: bool
    single_class: bool
    seg_scales: int
    seg_resize_width: int
    seg_resize_height: int
    difficult_label_warmup: bool

class ArgMaxParameterDict(TypedDict, total=False):
    out_max_val: bool
    top_k: int
    axis: int
    min_first: bool

class AugmentationParameterDict(TypedDict, total=False):
    crop_width: int
    crop_height: int
    write_augmented: str
    max_multiplier: float
    augment_during_test: bool
    recompute_mean: int
    write_mean: str
    mean_per_pixel: bool
    mean: float | Sequence[float]
    mode: str
    bottomwidth: int
    bottomheight: int
    num: int
    chromatic_eigvec: float | Sequence[float]
    mirror: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    translate: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    rotate: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    zoom: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    squeeze: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    translate_x: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    translate_y: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    gamma: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    brightness: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    contrast: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    color: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    lmult_pow: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    lmult_mult: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    lmult_add: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    sat_pow: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    sat_mult: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    sat_add: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    col_pow: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    col_mult: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    col_add: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    ladd_pow: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    ladd_mult: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    ladd_add: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    col_rotate: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    fog_amount: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    fog_size: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    motion_blur_angle: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    motion_blur_size: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    shadow_angle: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    shadow_distance: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    shadow_strength: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    noise: RandomGeneratorParameterDict | pb.RandomGeneratorParameter

class BNParameterDict(TypedDict, total=False):
    slope_filler: FillerParameterDict | pb.FillerParameter
    bias_filler: FillerParameterDict | pb.FillerParameter
    momentum: float
    eps: float
    frozen: bool
    engine: BNParameterEngineName
    bn_mode: BNParameterBNModeName
    scale_filler: FillerParameterDict | pb.FillerParameter
    shift_filler: FillerParameterDict | pb.FillerParameter
    var_eps: float
    moving_average: bool
    decay: float
    across_spatial: bool
    icnet: bool

class BatchContrastiveParameterDict(TypedDict, total=False):
    positive_margin: float
    negative_margin: float
    positive_weight: float
    negative_weight: float
    max_only: bool

class BatchNormParameterDict(TypedDict, total=False):
    use_global_stats: bool
    moving_average_fraction: float
    eps: float
    update_global_stats: bool
    engine: BatchNormParameterEngineName
    use_weight_bias: bool
    bias_term: bool
    filler: FillerParameterDict | pb.FillerParameter
    bias_filler: FillerParameterDict | pb.FillerParameter
    stats_batch_size: int
    relu: bool
    scale_filler: FillerParameterDict | pb.FillerParameter
    scale_bias: bool
    disable_mean: bool
    disable_variance: bool
    fused_relu: bool
    add_eps_before_sqrt: bool
    icnet: bool

class BatchReductionParameterDict(TypedDict, total=False):
    pass

class BatchSamplerDict(TypedDict, total=False):
    use_original_image: bool
    sampler: SamplerDict | pb.Sampler
    sample_constraint: SampleConstraintDict | pb.SampleConstraint
    max_sample: int
    max_trials: int

class BatchToSpaceNDParameterDict(TypedDict, total=False):
    block_shape: int | Sequence[int]
    crops: int | Sequence[int]

class BiasChannelParameterDict(TypedDict, total=False):
    bg_bias: float
    fg_bias: float
    ignore_label: int | Sequence[int]
    label_type: BiasChannelParameterLabelTypeName
    background_label: int

class BiasParameterDict(TypedDict, total=False):
    axis: int
    num_axes: int
    filler: FillerParameterDict | pb.FillerParameter

class BinaryAccuracyParameterDict(TypedDict, total=False):
    accuracy_mode: BinaryAccuracyParameterAccuracyModeName

class BlackAugmentationParameterDict(TypedDict, total=False):
    black: RandomGeneratorParameterDict | pb.RandomGeneratorParameter
    border: RandomGeneratorParameterDict | pb.RandomGeneratorParameter

class BlobProtoDict(TypedDict, total=False):
    shape: BlobShapeDict | pb.BlobShape
    data: float | Sequence[float]
    diff: float | Sequence[float]
    double_data: float | Sequence[float]
    double_diff: float | Sequence[float]
    num: int
    channels: int
    height: int
    width: int
    raw_data_type: TypeName
    raw_diff_type: TypeName
    raw_data: bytes
    raw_diff: bytes
    data_type: DataTypeName
    shape_stride: BlobShapeDict | pb.BlobShape
    packed_data: bytes
    packed_diff: bytes

class BlobShapeDict(TypedDict, total=False):
    dim: int | Sequence[int]

class BoxAnnotatorOHEMParameterDict(TypedDict, total=False):
    roi_per_img: int
    ignore_label: int

class BroadcastToParameterDict(TypedDict, total=False):
    pass

class CPMDataParameterDict(TypedDict, total=False):
    source: str
    scale: float
    mean_file: str
    batch_size: int
    crop_size: int
    mirror: bool
    rand_skip: int
    backend: CPMDataParameterDBName
    force_encoded_color: bool
    prefetch: int
    lbl_source: str

class CPMTransformationParameterDict(TypedDict, total=False):
    scale: float
    mirror: bool
    crop_size: int
    mean_file: str
    mean_value: float | Sequence[float]
    stride: int
    scale_cvg: float
    max_cvg_len: int
    min_cvg_len: int
    opaque_coverage: bool
    coverage: str
    flip_prob: float
    max_rotate_degree: float
    visualize: bool
    crop_size_x: int
    crop_size_y: int
    scale_prob: float
    scale_min: float
    scale_max: float
    bbox_norm_factor: float
    img_header: str
    force_color: bool
    force_gray: bool
    target_dist: float
    center_perterb_max: float
    sigma: float
    sigma_center: float
    clahe_tile_size: float
    clahe_clip_limit: float
    do_clahe: bool
    num_parts: int
    num_total_augs: int
    aug_way: str
    gray: int
    np_in_lmdb: int
    transform_body_joint: bool

class CenterLossParameterDict(TypedDict, total=False):
    num_output: int
    center_filler: FillerParameterDict | pb.FillerParameter
    axis: int
    distance_type: str

class ChannelScaleParameterDict(TypedDict, total=False):
    do_forward: bool
    do_backward_feature: bool
    do_backward_scale: bool
    global_scale: bool
    max_global_scale: float
    min_global_scale: float
    init_global_scale: float

class ClipParameterDict(TypedDict, total=False):
    min: float
    max: float

class CoeffScheduleParameterDict(TypedDict, total=False):
    half_life: float
    initial_coeff: float
    final_coeff: float

class ColorConvParameterDict(TypedDict, total=False):
    pass

class CompileNetStateDict(TypedDict, total=False):
    is_init: bool
    bn_scale_remove: bool
    bn_scale_merge: bool
    kept_bn_layers: str | Sequence[str]
    negative_conv_names: str | Sequence[str]
    negative_conv_indexes: int | Sequence[int]

class ConcatParameterDict(TypedDict, total=False):
    axis: int
    concat_dim: int
    per_fla_fuse: bool
    engine: ConcatParameterEngineName

class ConfidencePenaltyLossParameterDict(TypedDict, total=False):
    beta: float

class ContrastiveLossParameterDict(TypedDict, total=False):
    margin: float
    legacy_version: bool

class ConvolutionParameterDict(TypedDict, total=False):
    num_output: int
    bias_term: bool
    pad: int | Sequence[int]
    kernel_size: int | Sequence[int]
    stride: int | Sequence[int]
    dilation: int | Sequence[int]
    pad_h: int
    pad_w: int
    kernel_h: int
    kernel_w: int
    stride_h: int
    stride_w: int
    group: int
    weight_filler: FillerParameterDict | pb.FillerParameter
    bias_filler: FillerParameterDict | pb.FillerParameter
    engine: ConvolutionParameterEngineName
    axis: int
    force_nd_im2col: bool
    relu: bool
    negative_slope: float
    conv_algorithm: str
    coeff: float | Sequence[float]
    fusion_type: ConvolutionParameterFusionTypeName
    cudnn_convolution_algo_seeker: ConvolutionParameterCuDNNConvolutionAlgorithmSeekerName
    conv_algos_override: str
    filter_stride: int
    filter_stride_h: int
    filter_stride_w: int
    shape_offset: int | Sequence[int]
    fuse_type: ConvolutionParameterFuseTypeName
    eltwise_param: EltwiseParameterDict | pb.EltwiseParameter
    relu_param: ReLUParameterDict | pb.ReLUParameter
    dilation_h: int
    dilation_w: int
    pad_type: int
    pad_l: int
    pad_r: int
    pad_t: int
    pad_b: int
    input_scale: float
    output_scale: float
    saturate: ConvolutionParameterSaturateMethodName
    weight_fixed: bool
    dis_mode: bool
    gen_mode: bool
    mem_group_size: int

class CorrelationParameterDict(TypedDict, total=False):
    pad: int
    kernel_size: int
    max_displacement: int
    stride_1: int
    stride_2: int
    single_direction: int
    do_abs: bool
    correlation_type: CorrelationParameterCorrelationTypeName

class CropAndResizeParameterDict(TypedDict, total=False):
    pass

class CropParameterDict(TypedDict, total=False):
    axis: int
    offset: int | Sequence[int]

class DataParameterDict(TypedDict, total=False):
    source: str
    batch_size: int
    rand_skip: int
    backend: DataParameterDBName
    scale: float
    mean_file: str
    crop_size: int
    mirror: bool
    force_encoded_color: bool
    prefetch: int
    shuffle: bool
    side: int | Sequence[int]
    threads: int
    parser_threads: int
    cache: bool
    precache: bool
    shuffle_buffer_size: int
    disk_reader_threads: int
    huge_video_dataset: bool
    limit_samples: int
    preselection_file: str
    preselection_label: int
    range_start: int
    range_end: int
    rand_permute: bool
    rand_permute_order: DataParameterRANDPERMORDERName
    rand_permute_seed: int
    slice_point: int | Sequence[int]
    encoding: DataParameterCHANNELENCODINGName | Sequence[DataParameterCHANNELENCODINGName]
    verbose: bool
    subtract: float | Sequence[float]
    permute_every_iter: int
    block_size: int
    transform_param: TransformationParameterDict | pb.TransformationParameter

class DenseCRFParameterDict(TypedDict, total=False):
    max_iter: int
    pos_xy_std: float | Sequence[float]
    pos_w: float | Sequence[float]
    bi_xy_std: float | Sequence[float]
    bi_rgb_std: float | Sequence[float]
    bi_w: float | Sequence[float]
    output_probability: bool

class DenseImageDataParameterDict(TypedDict, total=False):
    source: str
    batch_size: int
    rand_skip: int
    shuffle: bool
    new_height: int
    new_width: int
    is_color: bool
    mean_file: str
    root_folder: str
    mirror: bool
    crop_width: int
    crop_height: int

class DepthToSpaceParameterDict(TypedDict, total=False):
    block_size: int
    data_format: str

class DetectNetAugmentationParameterDict(TypedDict, total=False):
    crop_prob: float
    shift_x: int
    shift_y: int
    scale_prob: float
    scale_min: float
    scale_max: float
    flip_prob: float
    rotation_prob: float
    max_rotate_degree: float
    hue_rotation_prob: float
    hue_rotation: float
    desaturation_prob: float
    desaturation_max: float
    resize_param: ResizeParameterDict | pb.ResizeParameter
    noise_param: NoiseParameterDict | pb.NoiseParameter
    distort_param: DistortionParameterDict | pb.DistortionParameter
    expand_param: ExpansionParameterDict | pb.ExpansionParameter
    emit_constraint: EmitConstraintDict | pb.EmitConstraint

class DetectNetGroundTruthParameterDict(TypedDict, total=False):
    stride: int
    scale_cvg: float
    gridbox_type: DetectNetGroundTruthParameterGridboxTypeName
    max_cvg_len: int
    min_cvg_len: int
    coverage_type: DetectNetGroundTruthParameterCoverageTypeName
    image_size_x: int
    image_size_y: int
    obj_norm: bool
    crop_bboxes: bool
    object_class: DetectNetGroundTruthParameterClassMappingDict | pb.DetectNetGroundTruthParameter.ClassMapping | Sequence[DetectNetGroundTruthParameterClassMappingDict | pb.DetectNetGroundTruthParameter.ClassMapping]

class DetectNetGroundTruthParameterClassMappingDict(TypedDict, total=False):
    src: int
    dst: int

class DetectionEvaluateParameterDict(TypedDict, total=False):
    num_classes: int
    background_label_id: int
    overlap_threshold: float
    evaluate_difficult_gt: bool
    name_size_file: str
    resize_param: ResizeParameterDict | pb.ResizeParameter

class DetectionOutputParameterDict(TypedDict, total=False):
    num_classes: int
    share_location: bool
    background_label_id: int
    nms_param: NonMaximumSuppressionParameterDict | pb.NonMaximumSuppressionParameter
    save_output_param: SaveOutputParameterDict | pb.SaveOutputParameter
    code_type: PriorBoxParameterCodeTypeName
    variance_encoded_in_target: bool
    keep_top_k: int
    confidence_threshold: float
    visualize: bool
    visualize_threshold: float
    save_file: str
    objectness_score: float

class DistortionParameterDict(TypedDict, total=False):
    brightness_prob: float
    brightness_delta: float
    contrast_prob: float
    contrast_lower: float
    contrast_upper: float
    hue_prob: float
    hue_delta: float
    saturation_prob: float
    saturation_lower: float
    saturation_upper: float
    random_order_prob: float

class DomainTransformParameterDict(TypedDict, total=False):
    num_iter: int
    spatial_sigma: float
    range_sigma: float
    min_weight: float

class DownsampleParameterDict(TypedDict, total=False):
    top_height: int
    top_width: int

class DropoutParameterDict(TypedDict, total=False):
    dropout_ratio: float
    scale_train: bool
    sample_weights_test: bool
    engine: DropoutParameterEngineName
    random_seed: int
    sqrt_scale: bool

class DummyDataParameterDict(TypedDict, total=False):
    data_filler: FillerParameterDict | pb.FillerParameter | Sequence[FillerParameterDict | pb.FillerParameter]
    shape: BlobShapeDict | pb.BlobShape | Sequence[BlobShapeDict | pb.BlobShape]
    num: int | Sequence[int]
    channels: int | Sequence[int]
    height: int | Sequence[int]
    width: int | Sequence[int]

ELUParameterDict = TypedDict(
    "ELUParameterDict",
    {
        "alpha": float,
        "lambda": float,
    },
    total=False,
)

class EltwiseAccuracyParameterDict(TypedDict, total=False):
    top_k: int
    ignore_label: int

class EltwiseAffineParameterDict(TypedDict, total=False):
    slope_filler: FillerParameterDict | pb.FillerParameter
    bias_filler: FillerParameterDict | pb.FillerParameter
    channel_shared: bool

class EltwiseParameterDict(TypedDict, total=False):
    operation: EltwiseParameterEltwiseOpName
    coeff: float | Sequence[float]
    stable_prod_grad: bool
    engine: EltwiseParameterEngineName
    coeff_blob: bool

class EmbedParameterDict(TypedDict, total=False):
    num_output: int
    input_dim: int
    bias_term: bool
    weight_filler: FillerParameterDict | pb.FillerParameter
    bias_filler: FillerParameterDict | pb.FillerParameter

class EmbeddingLookupParameterDict(TypedDict, total=False):
    pass

class EmbeddingLookupSparseParameterDict(TypedDict, total=False):
    pass

class EmitConstraintDict(TypedDict, total=False):
    emit_type: EmitConstraintEmitTypeName
    emit_overlap: float

class EvalDetectionParameterDict(TypedDict, total=False):
    side: int
    num_class: int
    num_object: int
    threshold: float
    sqrt: bool
    constriant: bool
    score_type: EvalDetectionParameterScoreTypeName
    nms: float
    biases: float | Sequence[float]

class ExpParameterDict(TypedDict, total=False):
    base: float
    scale: float
    shift: float

class ExpandDimsNDParameterDict(TypedDict, total=False):
    pass

class ExpansionParameterDict(TypedDict, total=False):
    prob: float
    max_expand_ratio: float

class FCNDataParameterDict(TypedDict, total=False):
    template_h: int
    template_w: int
    expand_left: float
    expand_right: float
    expand_top: float
    expand_bottom: float
    roi_multiply_h: float
    roi_multiply_w: float
    scale_step: float
    scale_step_num: int
    gaussian_size_h: int
    gaussian_size_w: int
    gaussian_std_h: float
    gaussian_std_w: float
    use_hog: bool
    hog_cell_size: int
    min_iou: float

class FeatureDecayLossParameterDict(TypedDict, total=False):
    decay_threshold: float
    force_decay: bool

class FillerParameterDict(TypedDict, total=False):
    type: str
    value: float
    min: float
    max: float
    mean: float
    std: float
    sparse: int
    variance_norm: FillerParameterVarianceNormName
    scale: float
    diag_val: float | Sequence[float]
    alpha: float

class FlattenParameterDict(TypedDict, total=False):
    axis: int
    end_axis: int

class FlipParameterDict(TypedDict, total=False):
    flip_width: bool
    flip_height: bool

class FlowWarpParameterDict(TypedDict, total=False):
    fill_value: FlowWarpParameterFillParameterName

class FocalLossParameterDict(TypedDict, total=False):
    type: FocalLossParameterTypeName
    gamma: float
    alpha: float
    beta: float

class GANLossParameterDict(TypedDict, total=False):
    pass

class GatherNdParameterDict(TypedDict, total=False):
    pass

class GatherParameterDict(TypedDict, total=False):
    pass

class GemmParameterDict(TypedDict, total=False):
    pass

class GeneralContrastiveParameterDict(TypedDict, total=False):
    positive_margin: float
    negative_margin: float
    positive_weight: float
    negative_weight: float
    normalize_negative: float
    positive_outlier_thresh: float
    square: bool
    max_negative_only: bool
    max_positive_only: bool
    positive_first: bool
    positive_upper_bound: float
    exp_negative_weight: bool
    add_intra_mae: bool
    max_negative_margin: float

class GeneralTripletParameterDict(TypedDict, total=False):
    margin: float
    add_center_loss: bool
    hardest_only: bool
    positive_first: bool
    positive_upper_bound: float
    positive_weight: float
    negative_weight: float

class HDF5DataParameterDict(TypedDict, total=False):
    source: str
    batch_size: int
    shuffle: bool

class HDF5OutputParameterDict(TypedDict, total=False):
    file_name: str

class HardSigmoidParameterDict(TypedDict, total=False):
    pass

class HeatmapDataParameterDict(TypedDict, total=False):
    segmentation: bool
    multfact: int
    num_channels: int
    batchsize: int
    root_img_dir: str
    random_crop: bool
    sample_per_cluster: bool
    labelinds: str
    source: str
    meanfile: str
    crop_meanfile: str
    cropsize: int
    outsize: int
    scale: float
    label_width: int
    label_height: int
    dont_flip_first: bool
    angle_max: float
    flip_joint_labels: bool

class HingeLossParameterDict(TypedDict, total=False):
    norm: HingeLossParameterNormName

class HotspotParameterDict(TypedDict, total=False):
    gaussian_std: float
    output_height: int
    output_width: int
    data_height: int
    data_width: int
    mean_removed: bool

class ImResizeParameterDict(TypedDict, total=False):
    target_spatial_width: int
    target_spatial_height: int
    factor: float
    start_scale: float
    scale_gap: float

class ImageDataParameterDict(TypedDict, total=False):
    source: str
    batch_size: int
    rand_skip: int
    shuffle: bool
    new_height: int
    new_width: int
    is_color: bool
    scale: float
    mean_file: str
    crop_size: int
    mirror: bool
    root_folder: str
    ignore_label: int
    label_type: ImageDataParameterLabelTypeName
    min_height: int
    min_width: int
    short_side: int
    threads: int
    cache: bool
    precache: bool
    dataset_share_per_node: float
    face_transform: bool
    max_shear_ratio: float
    max_aspect_ratio: float
    max_rotate_angle: float
    min_random_scale: float
    max_random_scale: float
    max_random_shift: int
    face_mirror: bool
    face_point_num: int
    balance_class: bool
    balance_by: int
    label_cut_start: int
    label_cut_end: int
    transform_param: TransformationParameterDict | pb.TransformationParameter

class ImportParameterDict(TypedDict, total=False):
    net: str
    var: ImportVariableDict | pb.ImportVariable | Sequence[ImportVariableDict | pb.ImportVariable]

class ImportVariableDict(TypedDict, total=False):
    name: str
    value: str

class InfimumLossParamterDict(TypedDict, total=False):
    infimum: float

class InfogainLossParameterDict(TypedDict, total=False):
    source: str
    axis: int

class InnerDistanceParameterDict(TypedDict, total=False):
    num_output: int
    bias_term: bool
    weight_filler: FillerParameterDict | pb.FillerParameter
    bias_filler: FillerParameterDict | pb.FillerParameter
    axis: int
    transpose: bool
    distance_type: str
    normalize: bool
    update_center_only: bool

class InnerProductParameterDict(TypedDict, total=False):
    num_output: int
    bias_term: bool
    weight_filler: FillerParameterDict | pb.FillerParameter
    bias_filler: FillerParameterDict | pb.FillerParameter
    axis: int
    transpose: bool
    engine: InnerProductParameterEngineName
    relu: bool
    negative_slope: float
    normalize: bool

class InputParameterDict(TypedDict, total=False):
    shape: BlobShapeDict | pb.BlobShape | Sequence[BlobShapeDict | pb.BlobShape]

class InsanityParameterDict(TypedDict, total=False):
    lb: float
    ub: float

class InterpParameterDict(TypedDict, total=False):
    height: int
    width: int
    zoom_factor: int
    shrink_factor: int
    pad_beg: int
    pad_end: int
    full_zoom_factor: int

class L1LossParameterDict(TypedDict, total=False):
    l2_per_location: bool
    l2_prescale_by_channels: bool
    normalize_by_num_entries: bool
    epsilon: float
    plateau: float

class LRNMapParameterDict(TypedDict, total=False):
    local_size: int
    alpha: float
    beta: float

class LRNParameterDict(TypedDict, total=False):
    local_size: int
    alpha: float
    beta: float
    norm_region: LRNParameterNormRegionName
    k: float
    engine: LRNParameterEngineName
    fuse_type: LRNParameterFuseTypeName
    pooling_param: PoolingParameterDict | pb.PoolingParameter
    unit_test_mode: bool
    unit_test_fuse_kernel: bool

class LSTMUnitParameterDict(TypedDict, total=False):
    forget_bias: float

class LabelSpecificAddParameterDict(TypedDict, total=False):
    bias: float
    transform_test: bool
    bias_base: float
    bias_gamma: float
    bias_power: float
    bias_min: float
    bias_max: float
    iteration: int

class LabelSpecificAffineParameterDict(TypedDict, total=False):
    scale_base: float
    scale_gamma: float
    scale_power: float
    scale_max: float
    transform_test: bool
    iteration: int
    bias_base: float
    bias_gamma: float
    bias_power: float
    bias_max: float
    power_base: float
    power_gamma: float
    power_power: float
    power_min: float
    auto_tune: bool
    reset: bool

class LabelSpecificHardMarginParameterDict(TypedDict, total=False):
    positive_weight: float

class LabelSpecificMarginParameterDict(TypedDict, total=False):
    type: LabelSpecificMarginParameterMarginTypeName
    margin_base: float
    margin_max: float
    power: float
    gamma: float
    iteration: int
    reset_margin: bool
    margin_on_test: bool
    auto_tune: bool

class LabelSpecificRescaleParameterDict(TypedDict, total=False):
    positive_weight: float
    negative_weight: float
    positive_lower_bound: float
    negative_upper_bound: float
    rescale_test: bool
    for_ip: bool
    positive_weight_base: float
    gamma: float
    power: float
    positive_weight_min: float
    positive_weight_max: float
    iteration: int
    bias_fix: bool
    power_on_positive: bool

class LargeMarginInnerProductParameterDict(TypedDict, total=False):
    num_output: int
    type: LargeMarginInnerProductParameterLargeMarginTypeName
    weight_filler: FillerParameterDict | pb.FillerParameter
    axis: int
    base: float
    gamma: float
    power: float
    iteration: int
    lambda_min: float

class LayerParameterDict(TypedDict, total=False):
    name: str
    type: str
    bottom: str | Sequence[str]
    top: str | Sequence[str]
    phase: PhaseName
    loss_weight: float | Sequence[float]
    param: ParamSpecDict | pb.ParamSpec | Sequence[ParamSpecDict | pb.ParamSpec]
    blobs: BlobProtoDict | pb.BlobProto | Sequence[BlobProtoDict | pb.BlobProto]
    propagate_down: bool | Sequence[bool]
    include: NetStateRuleDict | pb.NetStateRule | Sequence[NetStateRuleDict | pb.NetStateRule]
    exclude: NetStateRuleDict | pb.NetStateRule | Sequence[NetStateRuleDict | pb.NetStateRule]
    transform_param: TransformationParameterDict | pb.TransformationParameter
    loss_param: LossParameterDict | pb.LossParameter
    accuracy_param: AccuracyParameterDict | pb.AccuracyParameter
    argmax_param: ArgMaxParameterDict | pb.ArgMaxParameter
    batch_norm_param: BatchNormParameterDict | pb.BatchNormParameter
    bias_param: BiasParameterDict | pb.BiasParameter
    clip_param: ClipParameterDict | pb.ClipParameter
    concat_param: ConcatParameterDict | pb.ConcatParameter
    contrastive_loss_param: ContrastiveLossParameterDict | pb.ContrastiveLossParameter
    convolution_param: ConvolutionParameterDict | pb.ConvolutionParameter
    crop_param: CropParameterDict | pb.CropParameter
    data_param: DataParameterDict | pb.DataParameter
    dropout_param: DropoutParameterDict | pb.DropoutParameter
    dummy_data_param: DummyDataParameterDict | pb.DummyDataParameter
    eltwise_param: EltwiseParameterDict | pb.EltwiseParameter
    elu_param: ELUParameterDict | pb.ELUParameter
    embed_param: EmbedParameterDict | pb.EmbedParameter
    exp_param: ExpParameterDict | pb.ExpParameter
    flatten_param: FlattenParameterDict | pb.FlattenParameter
    hdf5_data_param: HDF5DataParameterDict | pb.HDF5DataParameter
    hdf5_output_param: HDF5OutputParameterDict | pb.HDF5OutputParameter
    hinge_loss_param: HingeLossParameterDict | pb.HingeLossParameter
    image_data_param: ImageDataParameterDict | pb.ImageDataParameter
    infogain_loss_param: InfogainLossParameterDict | pb.InfogainLossParameter
    inner_product_param: InnerProductParameterDict | pb.InnerProductParameter
    input_param: InputParameterDict | pb.InputParameter
    log_param: LogParameterDict | pb.LogParameter
    lrn_param: LRNParameterDict | pb.LRNParameter
    memory_data_param: MemoryDataParameterDict | pb.MemoryDataParameter
    mvn_param: MVNParameterDict | pb.MVNParameter
    parameter_param: ParameterParameterDict | pb.ParameterParameter
    pooling_param: PoolingParameterDict | pb.PoolingParameter
    power_param: PowerParameterDict | pb.PowerParameter
    prelu_param: PReLUParameterDict | pb.PReLUParameter
    python_param: PythonParameterDict | pb.PythonParameter
    recurrent_param: RecurrentParameterDict | pb.RecurrentParameter
    reduction_param: ReductionParameterDict | pb.ReductionParameter
    relu_param: ReLUParameterDict | pb.ReLUParameter
    reshape_param: ReshapeParameterDict | pb.ReshapeParameter
    scale_param: ScaleParameterDict | pb.ScaleParameter
    sigmoid_param: SigmoidParameterDict | pb.SigmoidParameter
    softmax_param: SoftmaxParameterDict | pb.SoftmaxParameter
    spp_param: SPPParameterDict | pb.SPPParameter
    slice_param: SliceParameterDict | pb.SliceParameter
    swish_param: SwishParameterDict | pb.SwishParameter
    tanh_param: TanHParameterDict | pb.TanHParameter
    threshold_param: ThresholdParameterDict | pb.ThresholdParameter
    tile_param: TileParameterDict | pb.TileParameter
    window_data_param: WindowDataParameterDict | pb.WindowDataParameter
    annotated_data_param: AnnotatedDataParameterDict | pb.AnnotatedDataParameter
    detection_evaluate_param: DetectionEvaluateParameterDict | pb.DetectionEvaluateParameter
    detection_output_param: DetectionOutputParameterDict | pb.DetectionOutputParameter
    multibox_loss_param: MultiBoxLossParameterDict | pb.MultiBoxLossParameter
    norm_param: NormalizeParameterDict | pb.NormalizeParameter
    permute_param: PermuteParameterDict | pb.PermuteParameter
    prior_box_param: PriorBoxParameterDict | pb.PriorBoxParameter
    video_data_param: VideoDataParameterDict | pb.VideoDataParameter
    roi_pooling_param: ROIPoolingParameterDict | pb.ROIPoolingParameter
    smooth_l1_loss_param: SmoothL1LossParameterDict | pb.SmoothL1LossParameter
    box_annotator_ohem_param: BoxAnnotatorOHEMParameterDict | pb.BoxAnnotatorOHEMParameter
    psroi_pooling_param: PSROIPoolingParameterDict | pb.PSROIPoolingParameter
    adaptive_bias_channel_param: AdaptiveBiasChannelParameterDict | pb.AdaptiveBiasChannelParameter
    bn_param: BNParameterDict | pb.BNParameter
    bias_channel_param: BiasChannelParameterDict | pb.BiasChannelParameter
    dense_crf_param: DenseCRFParameterDict | pb.DenseCRFParameter
    domain_transform_param: DomainTransformParameterDict | pb.DomainTransformParameter
    interp_param: InterpParameterDict | pb.InterpParameter
    mat_read_param: MatReadParameterDict | pb.MatReadParameter
    mat_write_param: MatWriteParameterDict | pb.MatWriteParameter
    seg_accuracy_param: SegAccuracyParameterDict | pb.SegAccuracyParameter
    unique_label_param: UniqueLabelParameterDict | pb.UniqueLabelParameter
    dense_image_data_param: DenseImageDataParameterDict | pb.DenseImageDataParameter
    upsample_param: UpsampleParameterDict | pb.UpsampleParameter
    region_loss_param: RegionLossParameterDict | pb.RegionLossParameter
    yolov3_param: Yolov3ParameterDict | pb.Yolov3Parameter
    yolo_seg_param: YoloSegParameterDict | pb.YoloSegParameter
    segmentation_evaluate_param: SegmentationEvaluateParameterDict | pb.SegmentationEvaluateParameter
    yolo_detection_output_param: YoloDetectionOutputParameterDict | pb.YoloDetectionOutputParameter
    yolov3_detection_output_param: Yolov3DetectionOutputParameterDict | pb.Yolov3DetectionOutputParameter
    relu6_param: ReLUParameterDict | pb.ReLUParameter
    reorg_param: ReorgParameterDict | pb.ReorgParameter
    split_param: SplitParameterDict | pb.SplitParameter
    spatial_dropout_param: SpatialDropoutParameterDict | pb.SpatialDropoutParameter
    engine: str
    multinode: MultinodeLayerParameterDict | pb.MultinodeLayerParameter
    mn_activation_param: MnActivationParameterDict | pb.MnActivationParameter
    mn_grad_compress_param: MnParamGradCompressParameterDict | pb.MnParamGradCompressParameter
    quantization_param: QuantizationParameterDict | pb.QuantizationParameter
    eval_detection_param: EvalDetectionParameterDict | pb.EvalDetectionParameter
    forward_type: TypeName
    backward_type: TypeName
    forward_math: TypeName
    backward_math: TypeName
    debug: bool
    cudnn_math_override: int
    trt_param: TRTParameterDict | pb.TRTParameter
    detectnet_groundtruth_param: DetectNetGroundTruthParameterDict | pb.DetectNetGroundTruthParameter
    detectnet_augmentation_param: DetectNetAugmentationParameterDict | pb.DetectNetAugmentationParameter
    imresize_param: ImResizeParameterDict | pb.ImResizeParameter
    nms_param: NmsParameterDict | pb.NmsParameter
    parse_evaluate_param: ParseEvaluateParameterDict | pb.ParseEvaluateParameter
    unpooling_param: UnPoolingParameterDict | pb.UnPoolingParameter
    coeff_schedule_param: CoeffScheduleParameterDict | pb.CoeffScheduleParameter
    augmentation_param: AugmentationParameterDict | pb.AugmentationParameter
    correlation_param: CorrelationParameterDict | pb.CorrelationParameter
    l1_loss_param: L1LossParameterDict | pb.L1LossParameter
    writer_param: WriterParameterDict | pb.WriterParameter
    reader_param: ReaderParameterDict | pb.ReaderParameter
    mean_param: MeanParameterDict | pb.MeanParameter
    resample_param: ResampleParameterDict | pb.ResampleParameter
    downsample_param: DownsampleParameterDict | pb.DownsampleParameter
    lpq_loss_param: LpqLossParameterDict | pb.LpqLossParameter
    flow_warp_param: FlowWarpParameterDict | pb.FlowWarpParameter
    accum_param: AccumParameterDict | pb.AccumParameter
    black_augmentation_param: BlackAugmentationParameterDict | pb.BlackAugmentationParameter
    reshape_every_iter: bool
    margin_inner_product_param: MarginInnerProductParameterDict | pb.MarginInnerProductParameter
    center_loss_param: CenterLossParameterDict | pb.CenterLossParameter
    local_param: LocalParameterDict | pb.LocalParameter
    insanity_param: InsanityParameterDict | pb.InsanityParameter
    triplet_loss_param: TripletLossParameterDict | pb.TripletLossParameter
    eltwise_affine_param: EltwiseAffineParameterDict | pb.EltwiseAffineParameter
    sub_region_param: SubRegionParameterDict | pb.SubRegionParameter
    noise_param: NoiseParameterDict | pb.NoiseParameter
    hotspot_param: HotspotParameterDict | pb.HotspotParameter
    predict_box_param: PredictBoxParameterDict | pb.PredictBoxParameter
    mil_data_param: MILDataParameterDict | pb.MILDataParameter
    mil_param: MILParameterDict | pb.MILParameter
    fcn_data_param: FCNDataParameterDict | pb.FCNDataParameter
    flip_param: FlipParameterDict | pb.FlipParameter
    inner_distance_param: InnerDistanceParameterDict | pb.InnerDistanceParameter
    normalize_param: NormalizeParameterDict | pb.NormalizeParameter
    general_contrastive_loss_param: GeneralContrastiveParameterDict | pb.GeneralContrastiveParameter
    soft_contrastive_loss_param: SoftContrastiveParameterDict | pb.SoftContrastiveParameter
    general_triplet_loss_param: GeneralTripletParameterDict | pb.GeneralTripletParameter
    soft_truncation_param: SoftTruncationParameterDict | pb.SoftTruncationParameter
    proposal_param: ProposalParameterDict | pb.ProposalParameter
    pairwise_param: PairwiseParameterDict | pb.PairwiseParameter
    smoothl1_param: SmoothL1ParameterDict | pb.SmoothL1Parameter
    batch_contrastive_loss_param: BatchContrastiveParameterDict | pb.BatchContrastiveParameter
    truncation_param: TruncationParameterDict | pb.TruncationParameter
    nca_param: NCAParameterDict | pb.NCAParameter
    largemargin_inner_product_param: LargeMarginInnerProductParameterDict | pb.LargeMarginInnerProductParameter
    label_specific_rescale_param: LabelSpecificRescaleParameterDict | pb.LabelSpecificRescaleParameter
    infimum_loss_param: InfimumLossParamterDict | pb.InfimumLossParamter
    ordinal_regression_loss_param: OrdinalRegressionParameterDict | pb.OrdinalRegressionParameter
    resize_param: ResizeParameterDict | pb.ResizeParameter
    feature_decay_loss_param: FeatureDecayLossParameterDict | pb.FeatureDecayLossParameter
    confidence_penalty_loss_param: ConfidencePenaltyLossParameterDict | pb.ConfidencePenaltyLossParameter
    focal_loss_param: FocalLossParameterDict | pb.FocalLossParameter
    label_specific_margin_param: LabelSpecificMarginParameterDict | pb.LabelSpecificMarginParameter
    channel_scale_param: ChannelScaleParameterDict | pb.ChannelScaleParameter
    label_specific_affine_param: LabelSpecificAffineParameterDict | pb.LabelSpecificAffineParameter
    label_specific_hard_margin_param: LabelSpecificHardMarginParameterDict | pb.LabelSpecificHardMarginParameter
    label_specific_add_param: LabelSpecificAddParameterDict | pb.LabelSpecificAddParameter
    multi_stage_meanfield_param: MultiStageMeanfieldParameterDict | pb.MultiStageMeanfieldParameter
    bottom_data_type: DataTypeName
    compute_data_type: DataTypeName
    top_data_type: DataTypeName
    bottom_quantizer: QuantizerParameterDict | pb.QuantizerParameter | Sequence[QuantizerParameterDict | pb.QuantizerParameter]
    top_quantizer: QuantizerParameterDict | pb.QuantizerParameter | Sequence[QuantizerParameterDict | pb.QuantizerParameter]
    net_quantizer: QuantizerParameterDict | pb.QuantizerParameter
    blobs_quantizer: QuantizerParameterDict | pb.QuantizerParameter | Sequence[QuantizerParameterDict | pb.QuantizerParameter]
    autotune: AutotuneName
    device: int
    bottom_shared_index: int | Sequence[int]
    top_shared_index: int | Sequence[int]
    mergecrop_param: MergeCropParameterDict | pb.MergeCropParameter
    affinity_param: AffinityParameterDict | pb.AffinityParameter
    moe_param: MOEParameterDict | pb.MOEParameter
    seg_data_param: SegDataParameterDict | pb.SegDataParameter
    batch_reduction_param: BatchReductionParameterDict | pb.BatchReductionParameter
    color_conv_param: ColorConvParameterDict | pb.ColorConvParameter
    gan_loss_param: GANLossParameterDict | pb.GANLossParameter
    lstm_unit_param: LSTMUnitParameterDict | pb.LSTMUnitParameter
    xlu_param: XLUParameterDict | pb.XLUParameter
    roi_align_param: ROIAlignParameterDict | pb.ROIAlignParameter
    shuffle_channel_param: ShuffleChannelParameterDict | pb.ShuffleChannelParameter
    squeeze_convolution_param: SqueezeConvolutionParameterDict | pb.SqueezeConvolutionParameter
    squeeze_inner_product_param: SqueezeInnerProductParameterDict | pb.SqueezeInnerProductParameter
    yolo_v2_loss_param: YoloV2LossParameterDict | pb.YoloV2LossParameter
    yolo_v3_loss_param: YoloV3LossParameterDict | pb.YoloV3LossParameter
    upsample_darknet_param: UpsampleDarknetParameterDict | pb.UpsampleDarknetParameter
    depth_to_space_param: DepthToSpaceParameterDict | pb.DepthToSpaceParameter
    resize_nearest_neighbor_param: ResizeNearestNeighborParameterDict | pb.ResizeNearestNeighborParameter
    gather_param: GatherParameterDict | pb.GatherParameter
    topk_gather_param: TopkGatherParameterDict | pb.TopkGatherParameter
    nms_gather_param: NMSGatherParameterDict | pb.NMSGatherParameter
    gather_nd_param: GatherNdParameterDict | pb.GatherNdParameter
    where4_param: Where4ParameterDict | pb.Where4Parameter
    where4_gathernd_param: Where4GatherndParameterDict | pb.Where4GatherndParameter
    crop_and_resize_param: CropAndResizeParameterDict | pb.CropAndResizeParameter
    where4_gathernd_crop_param: Where4GatherndCropParameterDict | pb.Where4GatherndCropParameter
    pyramid_roi_align_param: PyramidRoiAlignParameterDict | pb.PyramidRoiAlignParameter
    space_to_depth_param: SpaceToDepthParameterDict | pb.SpaceToDepthParameter
    pad_param: PadParameterDict | pb.PadParameter
    stack_param: StackParameterDict | pb.StackParameter
    resize_bilinear_param: ResizeBilinearParameterDict | pb.ResizeBilinearParameter
    reduce_sum_param: ReduceSumParameterDict | pb.ReduceSumParameter
    reduce_max_param: ReduceMaxParameterDict | pb.ReduceMaxParameter
    reduce_min_param: ReduceMinParameterDict | pb.ReduceMinParameter
    reduce_prod_param: ReduceProdParameterDict | pb.ReduceProdParameter
    reduce_mean_param: ReduceMeanParameterDict | pb.ReduceMeanParameter
    selu_param: SeLuParameterDict | pb.SeLuParameter
    selu_dropout_param: SeLuDropoutParameterDict | pb.SeLuDropoutParameter
    unstack_param: UnstackParameterDict | pb.UnstackParameter
    batch_to_space_nd_param: BatchToSpaceNDParameterDict | pb.BatchToSpaceNDParameter
    space_to_batch_nd_param: SpaceToBatchNDParameterDict | pb.SpaceToBatchNDParameter
    mirror_pad_param: MirrorPadParameterDict | pb.MirrorPadParameter
    tile_nd_param: TileNDParameterDict | pb.TileNDParameter
    expand_dims_nd_param: ExpandDimsNDParameterDict | pb.ExpandDimsNDParameter
    squeeze_param: SqueezeParameterDict | pb.SqueezeParameter
    broadcast_to_param: BroadcastToParameterDict | pb.BroadcastToParameter
    strided_slice_param: StridedSliceParameterDict | pb.StridedSliceParameter
    piece_param: PieceParameterDict | pb.PieceParameter
    range_param: RangeParameterDict | pb.RangeParameter
    sparse_to_dense_param: SparseToDenseParameterDict | pb.SparseToDenseParameter
    embedding_lookup_param: EmbeddingLookupParameterDict | pb.EmbeddingLookupParameter
    embedding_lookup_sparse_param: EmbeddingLookupSparseParameterDict | pb.EmbeddingLookupSparseParameter
    gemm_param: GemmParameterDict | pb.GemmParameter
    reduce_l1_param: ReduceL1ParameterDict | pb.ReduceL1Parameter
    reduce_l2_param: ReduceL2ParameterDict | pb.ReduceL2Parameter
    reduce_logsumexp_param: ReduceLogsumexpParameterDict | pb.ReduceLogsumexpParameter
    reduce_all_param: ReduceAllParameterDict | pb.ReduceAllParameter
    reduce_any_param: ReduceAnyParameterDict | pb.ReduceAnyParameter
    reverse_sequence_param: ReverseSequenceParameterDict | pb.ReverseSequenceParameter
    hard_sigmoid_param: HardSigmoidParameterDict | pb.HardSigmoidParameter
    thresholded_relu_param: ThresholdedReLUParameterDict | pb.ThresholdedReLUParameter
    eltwise_accuracy_param: EltwiseAccuracyParameterDict | pb.EltwiseAccuracyParameter
    cpm_transform_param: CPMTransformationParameterDict | pb.CPMTransformationParameter
    cpmdata_param: CPMDataParameterDict | pb.CPMDataParameter
    heatmap_data_param: HeatmapDataParameterDict | pb.HeatmapDataParameter
    visualise: bool
    visualise_channel: int

class LocalParameterDict(TypedDict, total=False):
    num_output: int
    bias_term: bool
    pad: int
    kernel_size: int
    stride: int
    weight_filler: FillerParameterDict | pb.FillerParameter
    bias_filler: FillerParameterDict | pb.FillerParameter

class LocalWeightedConvolutionParameterDict(TypedDict, total=False):
    num_output: int
    bias_term: bool
    pad: int
    kernel_size: int
    stride: int
    weight_filler: FillerParameterDict | pb.FillerParameter
    bias_filler: FillerParameterDict | pb.FillerParameter

class LogParameterDict(TypedDict, total=False):
    base: float
    scale: float
    shift: float

class LossParameterDict(TypedDict, total=False):
    ignore_label: int
    normalization: LossParameterNormalizationModeName
    normalize: bool
    pre_fixed_normalizer: float
    weight_by_label_freqs: bool
    class_weighting: float | Sequence[float]
    label_smoothing: float

class LpqLossParameterDict(TypedDict, total=False):
    l2_prescale_by_channels: bool
    normalize_by_num_entries: bool
    p_epsilon: float
    q_epsilon: float
    pq_episode_starts_at_iter: int | Sequence[int]
    p: float | Sequence[float]
    q: float | Sequence[float]

class MILDataParameterDict(TypedDict, total=False):
    source: str
    num_scales: int
    scale_factor: float
    channels: int
    images_per_batch: int
    n_classes: int
    label_file: str
    root_dir: str
    ext: str
    randomize: bool

class MILParameterDict(TypedDict, total=False):
    type: MILParameterMILTypeName

class MOEParameterDict(TypedDict, total=False):
    gating_net: NetParameterDict | pb.NetParameter
    expert_net: NetParameterDict | pb.NetParameter | Sequence[NetParameterDict | pb.NetParameter]
    expert_instances: int | Sequence[int]
    select_experts: int
    full_forward: bool
    map_bottom: MOEParameterBottomMappingName | Sequence[MOEParameterBottomMappingName]

class MVNParameterDict(TypedDict, total=False):
    normalize_variance: bool
    across_channels: bool
    eps: float
    add_eps_before_sqrt: bool

class MarginInnerProductParameterDict(TypedDict, total=False):
    num_output: int
    type: MarginInnerProductParameterMarginTypeName
    weight_filler: FillerParameterDict | pb.FillerParameter
    axis: int
    base: float
    gamma: float
    power: float
    iteration: int
    lambda_min: float

class MatReadParameterDict(TypedDict, total=False):
    prefix: str
    source: str
    strip: int
    batch_size: int

class MatWriteParameterDict(TypedDict, total=False):
    prefix: str
    source: str
    strip: int
    period: int

class MeanParameterDict(TypedDict, total=False):
    operation: MeanParameterMeanOperationName
    file: str
    value: float | Sequence[float]
    mean_scale: float
    input_scale: float
    output_scale: float

class MemoryDataParameterDict(TypedDict, total=False):
    batch_size: int
    channels: int
    height: int
    width: int
    transpose: bool
    dim: int | Sequence[int]

class MergeCropParameterDict(TypedDict, total=False):
    operation: MergeCropParameterMergeOpName
    forward: bool | Sequence[bool]
    backward: bool | Sequence[bool]

class MirrorPadParameterDict(TypedDict, total=False):
    pass

class MnActivationParameterDict(TypedDict, total=False):
    num_nodes_in: int
    num_nodes_out: int
    model_parts_in: int
    model_parts_out: int
    need_reduce: bool

class MnModelParallelParameterDict(TypedDict, total=False):
    layer_from: str
    layer_to: str
    num_nodes: int
    model_parts: int

class MnParamGradCompressLayerTypeListDict(TypedDict, total=False):
    layer_type: str | Sequence[str]

class MnParamGradCompressParameterDict(TypedDict, total=False):
    param_grad_compress_enable: bool | Sequence[bool]

class MultiBoxLossParameterDict(TypedDict, total=False):
    loc_loss_type: MultiBoxLossParameterLocLossTypeName
    conf_loss_type: MultiBoxLossParameterConfLossTypeName
    loc_weight: float
    num_classes: int
    share_location: bool
    match_type: MultiBoxLossParameterMatchTypeName
    overlap_threshold: float
    use_prior_for_matching: bool
    background_label_id: int
    use_difficult_gt: bool
    do_neg_mining: bool
    neg_pos_ratio: float
    neg_overlap: float
    code_type: PriorBoxParameterCodeTypeName
    encode_variance_in_target: bool
    map_object_to_agnostic: bool
    ignore_cross_boundary_bbox: bool
    bp_inside: bool
    mining_type: MultiBoxLossParameterMiningTypeName
    nms_param: NonMaximumSuppressionParameterDict | pb.NonMaximumSuppressionParameter
    sample_size: int
    use_prior_for_nms: bool
    ignore_difficult_gt: bool
    objectness_score: float

class MultiStageMeanfieldParameterDict(TypedDict, total=False):
    compatibility_mode: MultiStageMeanfieldParameterModeName
    threshold: float
    theta_alpha: float
    theta_beta: float
    theta_gamma: float
    num_iterations: int
    spatial_filter_weight: float
    bilateral_filter_weight: float
    forced_spatial_filter_weight: float
    forced_bilateral_filter_weight: float
    spatial_filter_weights_str: str
    bilateral_filter_weights_str: str
    force_cpu: bool

class MultinodeLayerParameterDict(TypedDict, total=False):
    num_nodes: int
    model_parts: int

class MultinodeParameterDict(TypedDict, total=False):
    model_parallel: MnModelParallelParameterDict | pb.MnModelParallelParameter | Sequence[MnModelParallelParameterDict | pb.MnModelParallelParameter]
    compress_layer_type_list: MnParamGradCompressLayerTypeListDict | pb.MnParamGradCompressLayerTypeList

class NCAParameterDict(TypedDict, total=False):
    min_negative_only: bool

class NMSGatherParameterDict(TypedDict, total=False):
    pass

class NetParameterDict(TypedDict, total=False):
    name: str
    input: str | Sequence[str]
    input_shape: BlobShapeDict | pb.BlobShape | Sequence[BlobShapeDict | pb.BlobShape]
    input_dim: int | Sequence[int]
    force_backward: bool
    state: NetStateDict | pb.NetState
    debug_info: bool
    layer: LayerParameterDict | pb.LayerParameter | Sequence[LayerParameterDict | pb.LayerParameter]
    layers: V1LayerParameterDict | pb.V1LayerParameter | Sequence[V1LayerParameterDict | pb.V1LayerParameter]
    compile_net_state: CompileNetStateDict | pb.CompileNetState
    engine: str
    bn_stats_batch_size: int
    multinode: MultinodeParameterDict | pb.MultinodeParameter
    default_forward_type: TypeName
    default_backward_type: TypeName
    default_forward_math: TypeName
    default_backward_math: TypeName
    global_grad_scale: float
    global_grad_scale_adaptive: bool
    default_conv_algos_override: str
    reduce_buckets: int
    default_cudnn_math_override: int
    eltwise_mem_sharing: bool
    data_type: DataTypeName
    quantizer: QuantizerParameterDict | pb.QuantizerParameter | Sequence[QuantizerParameterDict | pb.QuantizerParameter]
    reduced_memory_inference: bool
    autotune: AutotuneName
    version: int
    bottom: str | Sequence[str]

class NetStateDict(TypedDict, total=False):
    phase: PhaseName
    level: int
    stage: str | Sequence[str]
    quantizer_mode: QuantizerModeName

class NetStateRuleDict(TypedDict, total=False):
    phase: PhaseName
    min_level: int
    max_level: int
    stage: str | Sequence[str]
    not_stage: str | Sequence[str]

class NmsParameterDict(TypedDict, total=False):
    threshold: float
    num_peak: int
    max_peaks: int
    num_parts: int

class NoiseParameterDict(TypedDict, total=False):
    prob: float
    hist_eq: bool
    inverse: bool
    decolorize: bool
    gauss_blur: bool
    jpeg: float
    posterize: bool
    erode: bool
    saltpepper: bool
    saltpepper_param: SaltPepperParameterDict | pb.SaltPepperParameter
    clahe: bool
    convert_to_hsv: bool
    convert_to_lab: bool
    gaussian_std: float
    uniform_range: float
    bias: float
    mu: float
    sigma: float

class NonMaximumSuppressionParameterDict(TypedDict, total=False):
    nms_threshold: float
    top_k: int
    eta: float

class NormalizeParameterDict(TypedDict, total=False):
    across_spatial: bool
    scale_filler: FillerParameterDict | pb.FillerParameter
    channel_shared: bool
    eps: float
    fix_scale: bool
    normalize_type: str
    fix_gradient: bool
    bp_norm: bool
    add_eps_before_sqrt: bool

class OrdinalRegressionParameterDict(TypedDict, total=False):
    k: int
    weight_file: str

class PReLUParameterDict(TypedDict, total=False):
    filler: FillerParameterDict | pb.FillerParameter
    channel_shared: bool

class PSROIPoolingParameterDict(TypedDict, total=False):
    spatial_scale: float
    output_dim: int
    group_size: int

class PadParameterDict(TypedDict, total=False):
    paddings: int | Sequence[int]
    constant_values: float

class PairwiseParameterDict(TypedDict, total=False):
    operation: PairwiseParameterPairwiseOpName
    coeff: float | Sequence[float]

class ParamSpecDict(TypedDict, total=False):
    name: str
    share_mode: ParamSpecDimCheckModeName
    lr_mult: float
    decay_mult: float

class ParameterParameterDict(TypedDict, total=False):
    shape: BlobShapeDict | pb.BlobShape
    blob_filler: FillerParameterDict | pb.FillerParameter

class ParseEvaluateParameterDict(TypedDict, total=False):
    num_labels: int
    ignore_label: int | Sequence[int]

class PermuteParameterDict(TypedDict, total=False):
    order: int | Sequence[int]

class PieceParameterDict(TypedDict, total=False):
    pass

class PoolingParameterDict(TypedDict, total=False):
    pool: PoolingParameterPoolMethodName
    pad: int
    pad_h: int
    pad_w: int
    kernel_size: int
    kernel_h: int
    kernel_w: int
    stride: int
    stride_h: int
    stride_w: int
    engine: PoolingParameterEngineName
    global_pooling: bool
    round_mode: PoolingParameterRoundModeName
    ceil_mode: bool
    pad_3d: int | Sequence[int]
    kernel_size_3d: int | Sequence[int]
    stride_3d: int | Sequence[int]
    avg_include_pad: bool
    axis: int
    torch_pooling: bool
    bin_size: int
    bin_h: int
    bin_w: int
    blobs_lr: float
    blobs_a_min: float
    dilation: int | Sequence[int]
    pad_type: int
    pad_l: int
    pad_r: int
    pad_t: int
    pad_b: int
    output_shift_instead_division: int
    saturate: PoolingParameterSaturateMethodName

class PowerParameterDict(TypedDict, total=False):
    power: float
    scale: float
    shift: float

class PredictBoxParameterDict(TypedDict, total=False):
    stride: int
    receptive_field: int
    nms: bool
    output_vector: bool
    positive_thresh: float
    bbreg_exp: bool

class PriorBoxParameterDict(TypedDict, total=False):
    min_size: float | Sequence[float]
    max_size: float | Sequence[float]
    aspect_ratio: float | Sequence[float]
    flip: bool
    clip: bool
    variance: float | Sequence[float]
    img_size: int
    img_h: int
    img_w: int
    step: float
    step_h: float
    step_w: float
    offset: float
    faceboxes: bool
    box_width: float | Sequence[float]
    box_height: float | Sequence[float]
    tf: bool
    yx_order: bool

class ProposalParameterDict(TypedDict, total=False):
    feat_stride: int
    base_size: int
    min_size: int
    ratio: float | Sequence[float]
    scale: float | Sequence[float]
    pre_nms_topn: int
    post_nms_topn: int
    nms_thresh: float
    anchor_base_size: int
    anchor_scale: int
    anchor_ratio: int
    max_rois: int

class PyramidRoiAlignParameterDict(TypedDict, total=False):
    pass

class PythonParameterDict(TypedDict, total=False):
    module: str
    layer: str
    param_str: str
    share_in_parallel: bool

class QuantizationParameterDict(TypedDict, total=False):
    precision: QuantizationParameterPrecisionName
    rounding_scheme: QuantizationParameterRoundingName
    bw_layer_in: int
    bw_layer_out: int
    bw_params: int
    fl_layer_in: int | Sequence[int]
    fl_layer_out: int | Sequence[int]
    fl_params: int | Sequence[int]
    scale_in: float | Sequence[float]
    scale_out: float | Sequence[float]
    scale_params: float | Sequence[float]
    is_negative_input: bool
    force_u8_input: bool

class QuantizerParameterDict(TypedDict, total=False):
    name: str
    zone: int
    input_data_type: DataTypeName
    output_data_type: DataTypeName
    observed_max: float
    observed_min: float
    max_in: float
    min_in: float
    max_out: float
    min_out: float
    mode: QuantizerModeName
    pseudo_target_type: DataTypeName
    pseudo_reset_observed: bool
    device: int

class ROIAlignParameterDict(TypedDict, total=False):
    pooled_h: int
    pooled_w: int
    spatial_scale: float

class ROIPoolingParameterDict(TypedDict, total=False):
    pooled_h: int
    pooled_w: int
    spatial_scale: float
    pooled_size: int | Sequence[int]

class RandomAspectRatioParameterDict(TypedDict, total=False):
    min_area_ratio: float
    max_area_ratio: float
    aspect_ratio_change: float
    max_attempt: int
    resize_param: ResizeParameterDict | pb.ResizeParameter

class RandomGeneratorParameterDict(TypedDict, total=False):
    rand_type: str
    exp: bool
    mean: float
    spread: float
    prob: float
    apply_schedule: bool
    discretize: bool
    multiplier: float

class RandomResizeParameterDict(TypedDict, total=False):
    min_size: int
    max_size: int
    resize_param: ResizeParameterDict | pb.ResizeParameter

class RangeParameterDict(TypedDict, total=False):
    pass

class ReLUParameterDict(TypedDict, total=False):
    negative_slope: float
    engine: ReLUParameterEngineName
    fuse: bool
    relu6: bool
    maximum: float
    minimum: float

class ReaderParameterDict(TypedDict, total=False):
    file: str
    num: int

class RecurrentParameterDict(TypedDict, total=False):
    num_output: int
    weight_filler: FillerParameterDict | pb.FillerParameter
    bias_filler: FillerParameterDict | pb.FillerParameter
    debug_info: bool
    expose_hidden: bool
    forget_bias: float
    tf_rnn: bool

class RedAccuracyParameterDict(TypedDict, total=False):
    top_k: int
    ignore_label: int
    class_num: int

class RedSoftmaxWithLossParameterDict(TypedDict, total=False):
    pass

class ReduceAllParameterDict(TypedDict, total=False):
    pass

class ReduceAnyParameterDict(TypedDict, total=False):
    pass

class ReduceL1ParameterDict(TypedDict, total=False):
    pass

class ReduceL2ParameterDict(TypedDict, total=False):
    pass

class ReduceLogsumexpParameterDict(TypedDict, total=False):
    pass

class ReduceMaxParameterDict(TypedDict, total=False):
    pass

class ReduceMeanParameterDict(TypedDict, total=False):
    pass

class ReduceMinParameterDict(TypedDict, total=False):
    pass

class ReduceProdParameterDict(TypedDict, total=False):
    pass

class ReduceSumParameterDict(TypedDict, total=False):
    pass

class ReductionParameterDict(TypedDict, total=False):
    operation: ReductionParameterReductionOpName
    axis: int
    coeff: float

class RegionLossParameterDict(TypedDict, total=False):
    side: int
    num_class: int
    bias_match: int
    coords: int
    num: int
    softmax: int
    jitter: float
    rescore: int
    object_scale: float
    class_scale: float
    noobject_scale: float
    coord_scale: float
    absolute: int
    thresh: float
    random: int
    biases: float | Sequence[float]
    softmax_tree: str
    class_map: str

class ReorgParameterDict(TypedDict, total=False):
    stride: int
    reverse: bool

class ResampleParameterDict(TypedDict, total=False):
    antialias: bool
    width: int
    height: int
    type: ResampleParameterResampleTypeName
    factor: float

class ReshapeParameterDict(TypedDict, total=False):
    shape: BlobShapeDict | pb.BlobShape
    axis: int
    num_axes: int
    pixelshuffler: int

class ResizeBilinearParameterDict(TypedDict, total=False):
    align_corners: bool
    output_height: int
    output_width: int
    data_format: str
    scale_height: float
    scale_width: float
    half_pixel_centers: bool
    pytorch_half_pixel: bool

class ResizeNearestNeighborParameterDict(TypedDict, total=False):
    align_corners: bool
    output_height: int
    output_width: int
    data_format: str
    scale_height: float
    scale_width: float
    half_pixel_centers: bool
    half_pixel_onnx: bool

class ResizeParameterDict(TypedDict, total=False):
    prob: float
    resize_mode: ResizeParameterResize_modeName
    height: int
    width: int
    height_scale: int
    width_scale: int
    pad_mode: ResizeParameterPad_modeName
    pad_value: float | Sequence[float]
    interp_mode: ResizeParameterInterp_modeName | Sequence[ResizeParameterInterp_modeName]
    center_object: bool
    max_angle: float
    is_pyramid_test: bool
    out_height_scale: float
    out_width_scale: float

class ReverseSequenceParameterDict(TypedDict, total=False):
    pass

class SPPParameterDict(TypedDict, total=False):
    pyramid_height: int
    pool: SPPParameterPoolMethodName
    engine: SPPParameterEngineName

class SaltPepperParameterDict(TypedDict, total=False):
    fraction: float
    value: float | Sequence[float]
    type: SaltPepperParameterSaltTypeName

class SampleConstraintDict(TypedDict, total=False):
    min_jaccard_overlap: float
    max_jaccard_overlap: float
    min_sample_coverage: float
    max_sample_coverage: float
    min_object_coverage: float
    max_object_coverage: float

class SamplerDict(TypedDict, total=False):
    min_scale: float
    max_scale: float
    min_aspect_ratio: float
    max_aspect_ratio: float

class SaveOutputParameterDict(TypedDict, total=False):
    output_directory: str
    output_name_prefix: str
    output_format: str
    label_map_file: str
    name_size_file: str
    num_test_image: int
    resize_param: ResizeParameterDict | pb.ResizeParameter

class ScaleParameterDict(TypedDict, total=False):
    axis: int
    num_axes: int
    filler: FillerParameterDict | pb.FillerParameter
    bias_term: bool
    bias_filler: FillerParameterDict | pb.FillerParameter
    min_value: float
    max_value: float

class SeLuDropoutParameterDict(TypedDict, total=False):
    dropout_ratio: float
    alpha: float

SeLuParameterDict = TypedDict(
    "SeLuParameterDict",
    {
        "lambda": float,
        "alpha": float,
    },
    total=False,
)

class SegAccuracyParameterDict(TypedDict, total=False):
    metric: SegAccuracyParameterAccuracyMetricName
    ignore_label: int | Sequence[int]
    reset: bool

class SegDataParameterDict(TypedDict, total=False):
    pass

class SegmentationEvaluateParameterDict(TypedDict, total=False):
    num_classes: int
    threshold: float

class ShuffleChannelParameterDict(TypedDict, total=False):
    group: int

class SigmoidParameterDict(TypedDict, total=False):
    engine: SigmoidParameterEngineName

class SliceParameterDict(TypedDict, total=False):
    axis: int
    slice_point: int | Sequence[int]
    slice_dim: int

class SmoothL1LossParameterDict(TypedDict, total=False):
    sigma: float
    abssum: bool

class SmoothL1ParameterDict(TypedDict, total=False):
    turn_point: float

class SoftContrastiveParameterDict(TypedDict, total=False):
    positive_margin: float
    negative_margin: float
    positive_weight: float
    negative_weight: float
    exponent_scale: float
    square: bool

class SoftTruncationParameterDict(TypedDict, total=False):
    c: float

class SoftmaxParameterDict(TypedDict, total=False):
    engine: SoftmaxParameterEngineName
    axis: int
    hard_ratio: float
    class_weight: float | Sequence[float]
    hard_mining_label: int
    cutting_point: float
    normalize_type: str
    label_smooth_factor: float

class SpaceToBatchNDParameterDict(TypedDict, total=False):
    block_shape: int | Sequence[int]
    paddings: int | Sequence[int]

class SpaceToDepthParameterDict(TypedDict, total=False):
    block_size: int
    data_format: str

class SparseToDenseParameterDict(TypedDict, total=False):
    pass

class SpatialDropoutParameterDict(TypedDict, total=False):
    dropout_ratio: float

class SplitParameterDict(TypedDict, total=False):
    engine: SplitParameterEngineName

class SqueezeConvolutionParameterDict(TypedDict, total=False):
    pass

class SqueezeInnerProductParameterDict(TypedDict, total=False):
    pass

class SqueezeParameterDict(TypedDict, total=False):
    axis: int | Sequence[int]

class StackParameterDict(TypedDict, total=False):
    pass

class StridedSliceParameterDict(TypedDict, total=False):
    pass

class SubRegionParameterDict(TypedDict, total=False):
    region_height: int
    region_width: int
    data_height: int
    data_width: int
    as_dim: int

class SwishParameterDict(TypedDict, total=False):
    beta: float

class TRTParameterDict(TypedDict, total=False):
    trt_mode: TRTParameterTRTModeName
    top_k: int
    deploy: str
    model: str
    deploy_outputs: str | Sequence[str]
    calibrator: str

class TanHParameterDict(TypedDict, total=False):
    engine: TanHParameterEngineName

class ThresholdParameterDict(TypedDict, total=False):
    threshold: float

class ThresholdedReLUParameterDict(TypedDict, total=False):
    pass

class TileNDParameterDict(TypedDict, total=False):
    pass

class TileParameterDict(TypedDict, total=False):
    axis: int
    tiles: int

class TopkGatherParameterDict(TypedDict, total=False):
    pass

class TransformationParameterDict(TypedDict, total=False):
    scale: float
    mirror: bool
    crop_size: int
    mean_file: str
    mean_value: float | Sequence[float]
    force_color: bool
    force_gray: bool
    crop_h: int
    crop_w: int
    resize_param: ResizeParameterDict | pb.ResizeParameter | Sequence[ResizeParameterDict | pb.ResizeParameter]
    noise_param: NoiseParameterDict | pb.NoiseParameter | Sequence[NoiseParameterDict | pb.NoiseParameter]
    distort_param: DistortionParameterDict | pb.DistortionParameter
    expand_param: ExpansionParameterDict | pb.ExpansionParameter
    emit_constraint: EmitConstraintDict | pb.EmitConstraint
    scale_factors: float | Sequence[float]
    crop_width: int
    crop_height: int
    enable_classf_aug: bool
    min_scaling_factor: float
    max_scaling_factor: float
    max_rotation_angle: int
    contrast_brightness_adjustment: bool
    smooth_filtering: bool
    min_contrast: float
    max_contrast: float
    max_brightness_shift: int
    max_smooth: float
    max_color_shift: int
    min_side_min: int
    min_side_max: int
    min_side: int
    apply_probability: float
    debug_params: bool
    cvt_bgr2rgb: bool
    random_resize_param: RandomResizeParameterDict | pb.RandomResizeParameter
    random_aspect_ratio_param: RandomAspectRatioParameterDict | pb.RandomAspectRatioParameter
    flow: bool
    bgr2rgb: bool
    pad: int
    img_rand_resize_lower: int
    img_rand_resize_upper: int
    rand_resize_ratio_lower: float
    rand_resize_ratio_upper: float
    vertical_stretch_lower: float
    vertical_stretch_upper: float
    horizontal_stretch_lower: float
    horizontal_stretch_upper: float
    interpolation_algo_down: TransformationParameterInterpolationAlgoName
    interpolation_algo_up: TransformationParameterInterpolationAlgoName
    allow_upscale: bool
    forward_packing: PackingName
    use_gpu_transform: bool
    random_seed: int
    display: bool
    num_labels: int
    stride: int
    scale_cvg: float
    max_cvg_len: int
    min_cvg_len: int
    opaque_coverage: bool
    coverage: str
    flip_prob: float
    max_rotate_degree: float
    visualize: bool
    crop_size_x: int
    crop_size_y: int
    scale_prob: float
    scale_min: float
    scale_max: float
    bbox_norm_factor: float
    img_header: str
    target_dist: float
    center_perterb_max: float
    sigma: float
    sigma_center: float
    clahe_tile_size: float
    clahe_clip_limit: float
    do_clahe: bool
    num_parts: int
    num_total_augs: int
    aug_way: str
    gray: int
    np_in_lmdb: int
    transform_body_joint: bool
    vertical_mirror: bool
    random_90_deg_rot: bool
    center_crop: bool
    erase_ratio: float
    aspect_min: float
    aspect_max: float
    fix_crop: bool
    more_fix_crop: bool
    multi_scale: bool
    scale_ratios: float | Sequence[float]
    max_distort: int
    is_flow: bool
    original_image: bool
    upper_size: int
    upper_height: int
    upper_width: int
    put_gaussian: bool
    visualize_label: bool

class TripletLossParameterDict(TypedDict, total=False):
    margin: float

class TruncationParameterDict(TypedDict, total=False):
    lower_bound: float
    upper_bound: float

class UnPoolingParameterDict(TypedDict, total=False):
    unpool: UnPoolingParameterUnPoolMethodName
    out_pad: int
    out_pad_h: int
    out_pad_w: int
    out_kernel_size: int
    out_kernel_h: int
    out_kernel_w: int
    out_stride: int
    out_stride_h: int
    out_stride_w: int
    engine: UnPoolingParameterEngineName
    unpool_size: int
    unpool_h: int
    unpool_w: int
    kernel_size: int
    stride: int
    pad: int
    kernel_h: int
    kernel_w: int
    stride_h: int
    stride_w: int
    pad_h: int
    pad_w: int

class UniqueLabelParameterDict(TypedDict, total=False):
    max_labels: int
    ignore_label: int | Sequence[int]
    force_label: float | Sequence[float]

class UnstackParameterDict(TypedDict, total=False):
    pass

class UpsampleDarknetParameterDict(TypedDict, total=False):
    stride: int

class UpsampleParameterDict(TypedDict, total=False):
    scale: int
    scale_h: int
    scale_w: int
    pad_out_h: bool
    pad_out_w: bool
    upsample_h: int
    upsample_w: int

class V0LayerParameterDict(TypedDict, total=False):
    name: str
    type: str
    num_output: int
    biasterm: bool
    weight_filler: FillerParameterDict | pb.FillerParameter
    bias_filler: FillerParameterDict | pb.FillerParameter
    pad: int
    kernelsize: int
    group: int
    stride: int
    pool: V0LayerParameterPoolMethodName
    dropout_ratio: float
    local_size: int
    alpha: float
    beta: float
    k: float
    source: str
    scale: float
    meanfile: str
    batchsize: int
    cropsize: int
    mirror: bool
    blobs: BlobProtoDict | pb.BlobProto | Sequence[BlobProtoDict | pb.BlobProto]
    blobs_lr: float | Sequence[float]
    weight_decay: float | Sequence[float]
    rand_skip: int
    det_fg_threshold: float
    det_bg_threshold: float
    det_fg_fraction: float
    det_context_pad: int
    det_crop_mode: str
    new_num: int
    new_channels: int
    new_height: int
    new_width: int
    shuffle_images: bool
    concat_dim: int
    hdf5_output_param: HDF5OutputParameterDict | pb.HDF5OutputParameter
    subtraction: float
    can_clobber: bool
    context_pad: int
    crop_mode: str

class V1LayerParameterDict(TypedDict, total=False):
    bottom: str | Sequence[str]
    top: str | Sequence[str]
    name: str
    include: NetStateRuleDict | pb.NetStateRule | Sequence[NetStateRuleDict | pb.NetStateRule]
    exclude: NetStateRuleDict | pb.NetStateRule | Sequence[NetStateRuleDict | pb.NetStateRule]
    type: V1LayerParameterLayerTypeName
    blobs: BlobProtoDict | pb.BlobProto | Sequence[BlobProtoDict | pb.BlobProto]
    param: str | Sequence[str]
    blob_share_mode: V1LayerParameterDimCheckModeName | Sequence[V1LayerParameterDimCheckModeName]
    blobs_lr: float | Sequence[float]
    weight_decay: float | Sequence[float]
    loss_weight: float | Sequence[float]
    accuracy_param: AccuracyParameterDict | pb.AccuracyParameter
    argmax_param: ArgMaxParameterDict | pb.ArgMaxParameter
    concat_param: ConcatParameterDict | pb.ConcatParameter
    contrastive_loss_param: ContrastiveLossParameterDict | pb.ContrastiveLossParameter
    convolution_param: ConvolutionParameterDict | pb.ConvolutionParameter
    data_param: DataParameterDict | pb.DataParameter
    dropout_param: DropoutParameterDict | pb.DropoutParameter
    dummy_data_param: DummyDataParameterDict | pb.DummyDataParameter
    eltwise_param: EltwiseParameterDict | pb.EltwiseParameter
    exp_param: ExpParameterDict | pb.ExpParameter
    hdf5_data_param: HDF5DataParameterDict | pb.HDF5DataParameter
    hdf5_output_param: HDF5OutputParameterDict | pb.HDF5OutputParameter
    hinge_loss_param: HingeLossParameterDict | pb.HingeLossParameter
    image_data_param: ImageDataParameterDict | pb.ImageDataParameter
    infogain_loss_param: InfogainLossParameterDict | pb.InfogainLossParameter
    inner_product_param: InnerProductParameterDict | pb.InnerProductParameter
    lrn_param: LRNParameterDict | pb.LRNParameter
    memory_data_param: MemoryDataParameterDict | pb.MemoryDataParameter
    mvn_param: MVNParameterDict | pb.MVNParameter
    pooling_param: PoolingParameterDict | pb.PoolingParameter
    power_param: PowerParameterDict | pb.PowerParameter
    relu_param: ReLUParameterDict | pb.ReLUParameter
    sigmoid_param: SigmoidParameterDict | pb.SigmoidParameter
    softmax_param: SoftmaxParameterDict | pb.SoftmaxParameter
    slice_param: SliceParameterDict | pb.SliceParameter
    tanh_param: TanHParameterDict | pb.TanHParameter
    threshold_param: ThresholdParameterDict | pb.ThresholdParameter
    window_data_param: WindowDataParameterDict | pb.WindowDataParameter
    transform_param: TransformationParameterDict | pb.TransformationParameter
    loss_param: LossParameterDict | pb.LossParameter
    layer: V0LayerParameterDict | pb.V0LayerParameter
    relu6_param: ReLUParameterDict | pb.ReLUParameter
    bn_param: BNParameterDict | pb.BNParameter
    local_param: LocalParameterDict | pb.LocalParameter
    prelu_param: PReLUParameterDict | pb.PReLUParameter
    insanity_param: InsanityParameterDict | pb.InsanityParameter
    triplet_loss_param: TripletLossParameterDict | pb.TripletLossParameter
    roi_pooling_param: ROIPoolingParameterDict | pb.ROIPoolingParameter
    eltwise_affine_param: EltwiseAffineParameterDict | pb.EltwiseAffineParameter
    sub_region_param: SubRegionParameterDict | pb.SubRegionParameter
    noise_param: NoiseParameterDict | pb.NoiseParameter
    multi_stage_meanfield_param: MultiStageMeanfieldParameterDict | pb.MultiStageMeanfieldParameter
    affinity_param: AffinityParameterDict | pb.AffinityParameter
    binary_accuracy_param: BinaryAccuracyParameterDict | pb.BinaryAccuracyParameter
    eltwise_accuracy_param: EltwiseAccuracyParameterDict | pb.EltwiseAccuracyParameter
    red_softmax_loss_param: RedSoftmaxWithLossParameterDict | pb.RedSoftmaxWithLossParameter
    red_accuracy_param: RedAccuracyParameterDict | pb.RedAccuracyParameter
    unpooling_param: UnPoolingParameterDict | pb.UnPoolingParameter
    accuracy_regression_param: AccuracyRegressionParameterDict | pb.AccuracyRegressionParameter
    import_param: ImportParameterDict | pb.ImportParameter
    local_weighted_convolution_param: LocalWeightedConvolutionParameterDict | pb.LocalWeightedConvolutionParameter
    lrn_map_param: LRNMapParameterDict | pb.LRNMapParameter

class VideoDataParameterDict(TypedDict, total=False):
    video_type: VideoDataParameterVideoTypeName
    device_id: int
    video_file: str
    skip_frames: int
    source: str
    batch_size: int
    rand_skip: int
    shuffle: bool
    new_height: int
    new_width: int
    new_length: int
    num_segments: int
    modality: VideoDataParameterModalityName
    name_pattern: str
    encoded: bool
    grayscale: bool

class Where4GatherndCropParameterDict(TypedDict, total=False):
    pass

class Where4GatherndParameterDict(TypedDict, total=False):
    pass

class Where4ParameterDict(TypedDict, total=False):
    pass

class WindowDataParameterDict(TypedDict, total=False):
    source: str
    scale: float
    mean_file: str
    batch_size: int
    crop_size: int
    mirror: bool
    fg_threshold: float
    bg_threshold: float
    fg_fraction: float
    context_pad: int
    crop_mode: str
    cache_images: bool
    root_folder: str

class WriterParameterDict(TypedDict, total=False):
    file: str
    folder: str
    prefix: str
    suffix: str
    normalize: bool
    scale: float

class XLUParameterDict(TypedDict, total=False):
    pass

class YoloDetectionOutputParameterDict(TypedDict, total=False):
    side: int
    num_classes: int
    num_box: int
    coords: int
    confidence_threshold: float
    nms_threshold: float
    biases: float | Sequence[float]
    label_map_file: str

class YoloSegParameterDict(TypedDict, total=False):
    num_class: int
    object_scale: float
    class_scale: float
    use_logic_gradient: bool
    use_hardsigmoid: bool

class YoloV2LossParameterDict(TypedDict, total=False):
    pass

class YoloV3LossParameterDict(TypedDict, total=False):
    pass

class Yolov3DetectionOutputParameterDict(TypedDict, total=False):
    num_classes: int
    num_box: int
    confidence_threshold: float
    nms_threshold: float
    biases: float | Sequence[float]
    anchors_scale: int | Sequence[int]
    mask_group_num: int
    mask: int | Sequence[int]
    gaussian_box: bool

class Yolov3ParameterDict(TypedDict, total=False):
    side: int
    num_class: int
    num: int
    object_scale: float
    class_scale: float
    noobject_scale: float
    coord_scale: float
    thresh: float
    anchors_scale: int
    biases: float | Sequence[float]
    mask: int | Sequence[int]
    use_logic_gradient: bool
    use_focal_loss: bool
    iou_loss: Yolov3ParameterIOU_LOSSName
    iou_normalizer: float
    iou_thresh: float
    max_delta: float
    accumulate: bool
    label_smooth_eps: float

class LayerSettings(TypedDict, total=False):
    phase: PhaseName
    loss_weight: float | Sequence[float]
    param: ParamSpecDict | pb.ParamSpec | Sequence[ParamSpecDict | pb.ParamSpec]
    propagate_down: bool | Sequence[bool]
    include: NetStateRuleDict | pb.NetStateRule | Sequence[NetStateRuleDict | pb.NetStateRule]
    exclude: NetStateRuleDict | pb.NetStateRule | Sequence[NetStateRuleDict | pb.NetStateRule]
    transform_param: TransformationParameterDict | pb.TransformationParameter
    loss_param: LossParameterDict | pb.LossParameter
    accuracy_param: AccuracyParameterDict | pb.AccuracyParameter
    argmax_param: ArgMaxParameterDict | pb.ArgMaxParameter
    batch_norm_param: BatchNormParameterDict | pb.BatchNormParameter
    bias_param: BiasParameterDict | pb.BiasParameter
    clip_param: ClipParameterDict | pb.ClipParameter
    concat_param: ConcatParameterDict | pb.ConcatParameter
    contrastive_loss_param: ContrastiveLossParameterDict | pb.ContrastiveLossParameter
    convolution_param: ConvolutionParameterDict | pb.ConvolutionParameter
    crop_param: CropParameterDict | pb.CropParameter
    data_param: DataParameterDict | pb.DataParameter
    dropout_param: DropoutParameterDict | pb.DropoutParameter
    dummy_data_param: DummyDataParameterDict | pb.DummyDataParameter
    eltwise_param: EltwiseParameterDict | pb.EltwiseParameter
    elu_param: ELUParameterDict | pb.ELUParameter
    embed_param: EmbedParameterDict | pb.EmbedParameter
    exp_param: ExpParameterDict | pb.ExpParameter
    flatten_param: FlattenParameterDict | pb.FlattenParameter
    hdf5_data_param: HDF5DataParameterDict | pb.HDF5DataParameter
    hdf5_output_param: HDF5OutputParameterDict | pb.HDF5OutputParameter
    hinge_loss_param: HingeLossParameterDict | pb.HingeLossParameter
    image_data_param: ImageDataParameterDict | pb.ImageDataParameter
    infogain_loss_param: InfogainLossParameterDict | pb.InfogainLossParameter
    inner_product_param: InnerProductParameterDict | pb.InnerProductParameter
    input_param: InputParameterDict | pb.InputParameter
    log_param: LogParameterDict | pb.LogParameter
    lrn_param: LRNParameterDict | pb.LRNParameter
    memory_data_param: MemoryDataParameterDict | pb.MemoryDataParameter
    mvn_param: MVNParameterDict | pb.MVNParameter
    parameter_param: ParameterParameterDict | pb.ParameterParameter
    pooling_param: PoolingParameterDict | pb.PoolingParameter
    power_param: PowerParameterDict | pb.PowerParameter
    prelu_param: PReLUParameterDict | pb.PReLUParameter
    python_param: PythonParameterDict | pb.PythonParameter
    recurrent_param: RecurrentParameterDict | pb.RecurrentParameter
    reduction_param: ReductionParameterDict | pb.ReductionParameter
    relu_param: ReLUParameterDict | pb.ReLUParameter
    reshape_param: ReshapeParameterDict | pb.ReshapeParameter
    scale_param: ScaleParameterDict | pb.ScaleParameter
    sigmoid_param: SigmoidParameterDict | pb.SigmoidParameter
    softmax_param: SoftmaxParameterDict | pb.SoftmaxParameter
    spp_param: SPPParameterDict | pb.SPPParameter
    slice_param: SliceParameterDict | pb.SliceParameter
    swish_param: SwishParameterDict | pb.SwishParameter
    tanh_param: TanHParameterDict | pb.TanHParameter
    threshold_param: ThresholdParameterDict | pb.ThresholdParameter
    tile_param: TileParameterDict | pb.TileParameter
    window_data_param: WindowDataParameterDict | pb.WindowDataParameter
    annotated_data_param: AnnotatedDataParameterDict | pb.AnnotatedDataParameter
    detection_evaluate_param: DetectionEvaluateParameterDict | pb.DetectionEvaluateParameter
    detection_output_param: DetectionOutputParameterDict | pb.DetectionOutputParameter
    multibox_loss_param: MultiBoxLossParameterDict | pb.MultiBoxLossParameter
    norm_param: NormalizeParameterDict | pb.NormalizeParameter
    permute_param: PermuteParameterDict | pb.PermuteParameter
    prior_box_param: PriorBoxParameterDict | pb.PriorBoxParameter
    video_data_param: VideoDataParameterDict | pb.VideoDataParameter
    roi_pooling_param: ROIPoolingParameterDict | pb.ROIPoolingParameter
    smooth_l1_loss_param: SmoothL1LossParameterDict | pb.SmoothL1LossParameter
    box_annotator_ohem_param: BoxAnnotatorOHEMParameterDict | pb.BoxAnnotatorOHEMParameter
    psroi_pooling_param: PSROIPoolingParameterDict | pb.PSROIPoolingParameter
    adaptive_bias_channel_param: AdaptiveBiasChannelParameterDict | pb.AdaptiveBiasChannelParameter
    bn_param: BNParameterDict | pb.BNParameter
    bias_channel_param: BiasChannelParameterDict | pb.BiasChannelParameter
    dense_crf_param: DenseCRFParameterDict | pb.DenseCRFParameter
    domain_transform_param: DomainTransformParameterDict | pb.DomainTransformParameter
    interp_param: InterpParameterDict | pb.InterpParameter
    mat_read_param: MatReadParameterDict | pb.MatReadParameter
    mat_write_param: MatWriteParameterDict | pb.MatWriteParameter
    seg_accuracy_param: SegAccuracyParameterDict | pb.SegAccuracyParameter
    unique_label_param: UniqueLabelParameterDict | pb.UniqueLabelParameter
    dense_image_data_param: DenseImageDataParameterDict | pb.DenseImageDataParameter
    upsample_param: UpsampleParameterDict | pb.UpsampleParameter
    region_loss_param: RegionLossParameterDict | pb.RegionLossParameter
    yolov3_param: Yolov3ParameterDict | pb.Yolov3Parameter
    yolo_seg_param: YoloSegParameterDict | pb.YoloSegParameter
    segmentation_evaluate_param: SegmentationEvaluateParameterDict | pb.SegmentationEvaluateParameter
    yolo_detection_output_param: YoloDetectionOutputParameterDict | pb.YoloDetectionOutputParameter
    yolov3_detection_output_param: Yolov3DetectionOutputParameterDict | pb.Yolov3DetectionOutputParameter
    relu6_param: ReLUParameterDict | pb.ReLUParameter
    reorg_param: ReorgParameterDict | pb.ReorgParameter
    split_param: SplitParameterDict | pb.SplitParameter
    spatial_dropout_param: SpatialDropoutParameterDict | pb.SpatialDropoutParameter
    multinode: MultinodeLayerParameterDict | pb.MultinodeLayerParameter
    mn_activation_param: MnActivationParameterDict | pb.MnActivationParameter
    mn_grad_compress_param: MnParamGradCompressParameterDict | pb.MnParamGradCompressParameter
    quantization_param: QuantizationParameterDict | pb.QuantizationParameter
    eval_detection_param: EvalDetectionParameterDict | pb.EvalDetectionParameter
    forward_type: TypeName
    backward_type: TypeName
    forward_math: TypeName
    backward_math: TypeName
    debug: bool
    cudnn_math_override: int
    trt_param: TRTParameterDict | pb.TRTParameter
    detectnet_groundtruth_param: DetectNetGroundTruthParameterDict | pb.DetectNetGroundTruthParameter
    detectnet_augmentation_param: DetectNetAugmentationParameterDict | pb.DetectNetAugmentationParameter
    imresize_param: ImResizeParameterDict | pb.ImResizeParameter
    parse_evaluate_param: ParseEvaluateParameterDict | pb.ParseEvaluateParameter
    unpooling_param: UnPoolingParameterDict | pb.UnPoolingParameter
    coeff_schedule_param: CoeffScheduleParameterDict | pb.CoeffScheduleParameter
    augmentation_param: AugmentationParameterDict | pb.AugmentationParameter
    correlation_param: CorrelationParameterDict | pb.CorrelationParameter
    l1_loss_param: L1LossParameterDict | pb.L1LossParameter
    writer_param: WriterParameterDict | pb.WriterParameter
    reader_param: ReaderParameterDict | pb.ReaderParameter
    mean_param: MeanParameterDict | pb.MeanParameter
    resample_param: ResampleParameterDict | pb.ResampleParameter
    downsample_param: DownsampleParameterDict | pb.DownsampleParameter
    lpq_loss_param: LpqLossParameterDict | pb.LpqLossParameter
    flow_warp_param: FlowWarpParameterDict | pb.FlowWarpParameter
    accum_param: AccumParameterDict | pb.AccumParameter
    black_augmentation_param: BlackAugmentationParameterDict | pb.BlackAugmentationParameter
    reshape_every_iter: bool
    margin_inner_product_param: MarginInnerProductParameterDict | pb.MarginInnerProductParameter
    center_loss_param: CenterLossParameterDict | pb.CenterLossParameter
    local_param: LocalParameterDict | pb.LocalParameter
    insanity_param: InsanityParameterDict | pb.InsanityParameter
    triplet_loss_param: TripletLossParameterDict | pb.TripletLossParameter
    eltwise_affine_param: EltwiseAffineParameterDict | pb.EltwiseAffineParameter
    sub_region_param: SubRegionParameterDict | pb.SubRegionParameter
    noise_param: NoiseParameterDict | pb.NoiseParameter
    hotspot_param: HotspotParameterDict | pb.HotspotParameter
    predict_box_param: PredictBoxParameterDict | pb.PredictBoxParameter
    mil_data_param: MILDataParameterDict | pb.MILDataParameter
    mil_param: MILParameterDict | pb.MILParameter
    fcn_data_param: FCNDataParameterDict | pb.FCNDataParameter
    flip_param: FlipParameterDict | pb.FlipParameter
    inner_distance_param: InnerDistanceParameterDict | pb.InnerDistanceParameter
    normalize_param: NormalizeParameterDict | pb.NormalizeParameter
    general_contrastive_loss_param: GeneralContrastiveParameterDict | pb.GeneralContrastiveParameter
    soft_contrastive_loss_param: SoftContrastiveParameterDict | pb.SoftContrastiveParameter
    general_triplet_loss_param: GeneralTripletParameterDict | pb.GeneralTripletParameter
    soft_truncation_param: SoftTruncationParameterDict | pb.SoftTruncationParameter
    proposal_param: ProposalParameterDict | pb.ProposalParameter
    pairwise_param: PairwiseParameterDict | pb.PairwiseParameter
    smoothl1_param: SmoothL1ParameterDict | pb.SmoothL1Parameter
    batch_contrastive_loss_param: BatchContrastiveParameterDict | pb.BatchContrastiveParameter
    truncation_param: TruncationParameterDict | pb.TruncationParameter
    nca_param: NCAParameterDict | pb.NCAParameter
    largemargin_inner_product_param: LargeMarginInnerProductParameterDict | pb.LargeMarginInnerProductParameter
    label_specific_rescale_param: LabelSpecificRescaleParameterDict | pb.LabelSpecificRescaleParameter
    infimum_loss_param: InfimumLossParamterDict | pb.InfimumLossParamter
    ordinal_regression_loss_param: OrdinalRegressionParameterDict | pb.OrdinalRegressionParameter
    feature_decay_loss_param: FeatureDecayLossParameterDict | pb.FeatureDecayLossParameter
    confidence_penalty_loss_param: ConfidencePenaltyLossParameterDict | pb.ConfidencePenaltyLossParameter
    focal_loss_param: FocalLossParameterDict | pb.FocalLossParameter
    label_specific_margin_param: LabelSpecificMarginParameterDict | pb.LabelSpecificMarginParameter
    channel_scale_param: ChannelScaleParameterDict | pb.ChannelScaleParameter
    label_specific_affine_param: LabelSpecificAffineParameterDict | pb.LabelSpecificAffineParameter
    label_specific_hard_margin_param: LabelSpecificHardMarginParameterDict | pb.LabelSpecificHardMarginParameter
    label_specific_add_param: LabelSpecificAddParameterDict | pb.LabelSpecificAddParameter
    multi_stage_meanfield_param: MultiStageMeanfieldParameterDict | pb.MultiStageMeanfieldParameter
    bottom_data_type: DataTypeName
    compute_data_type: DataTypeName
    top_data_type: DataTypeName
    bottom_quantizer: QuantizerParameterDict | pb.QuantizerParameter | Sequence[QuantizerParameterDict | pb.QuantizerParameter]
    top_quantizer: QuantizerParameterDict | pb.QuantizerParameter | Sequence[QuantizerParameterDict | pb.QuantizerParameter]
    net_quantizer: QuantizerParameterDict | pb.QuantizerParameter
    blobs_quantizer: QuantizerParameterDict | pb.QuantizerParameter | Sequence[QuantizerParameterDict | pb.QuantizerParameter]
    autotune: AutotuneName
    device: int
    bottom_shared_index: int | Sequence[int]
    top_shared_index: int | Sequence[int]
    mergecrop_param: MergeCropParameterDict | pb.MergeCropParameter
    affinity_param: AffinityParameterDict | pb.AffinityParameter
    moe_param: MOEParameterDict | pb.MOEParameter
    seg_data_param: SegDataParameterDict | pb.SegDataParameter
    batch_reduction_param: BatchReductionParameterDict | pb.BatchReductionParameter
    color_conv_param: ColorConvParameterDict | pb.ColorConvParameter
    gan_loss_param: GANLossParameterDict | pb.GANLossParameter
    lstm_unit_param: LSTMUnitParameterDict | pb.LSTMUnitParameter
    xlu_param: XLUParameterDict | pb.XLUParameter
    roi_align_param: ROIAlignParameterDict | pb.ROIAlignParameter
    shuffle_channel_param: ShuffleChannelParameterDict | pb.ShuffleChannelParameter
    squeeze_convolution_param: SqueezeConvolutionParameterDict | pb.SqueezeConvolutionParameter
    squeeze_inner_product_param: SqueezeInnerProductParameterDict | pb.SqueezeInnerProductParameter
    yolo_v2_loss_param: YoloV2LossParameterDict | pb.YoloV2LossParameter
    yolo_v3_loss_param: YoloV3LossParameterDict | pb.YoloV3LossParameter
    upsample_darknet_param: UpsampleDarknetParameterDict | pb.UpsampleDarknetParameter
    depth_to_space_param: DepthToSpaceParameterDict | pb.DepthToSpaceParameter
    resize_nearest_neighbor_param: ResizeNearestNeighborParameterDict | pb.ResizeNearestNeighborParameter
    gather_param: GatherParameterDict | pb.GatherParameter
    topk_gather_param: TopkGatherParameterDict | pb.TopkGatherParameter
    nms_gather_param: NMSGatherParameterDict | pb.NMSGatherParameter
    gather_nd_param: GatherNdParameterDict | pb.GatherNdParameter
    where4_param: Where4ParameterDict | pb.Where4Parameter
    where4_gathernd_param: Where4GatherndParameterDict | pb.Where4GatherndParameter
    crop_and_resize_param: CropAndResizeParameterDict | pb.CropAndResizeParameter
    where4_gathernd_crop_param: Where4GatherndCropParameterDict | pb.Where4GatherndCropParameter
    pyramid_roi_align_param: PyramidRoiAlignParameterDict | pb.PyramidRoiAlignParameter
    space_to_depth_param: SpaceToDepthParameterDict | pb.SpaceToDepthParameter
    pad_param: PadParameterDict | pb.PadParameter
    stack_param: StackParameterDict | pb.StackParameter
    resize_bilinear_param: ResizeBilinearParameterDict | pb.ResizeBilinearParameter
    reduce_sum_param: ReduceSumParameterDict | pb.ReduceSumParameter
    reduce_max_param: ReduceMaxParameterDict | pb.ReduceMaxParameter
    reduce_min_param: ReduceMinParameterDict | pb.ReduceMinParameter
    reduce_prod_param: ReduceProdParameterDict | pb.ReduceProdParameter
    reduce_mean_param: ReduceMeanParameterDict | pb.ReduceMeanParameter
    selu_param: SeLuParameterDict | pb.SeLuParameter
    selu_dropout_param: SeLuDropoutParameterDict | pb.SeLuDropoutParameter
    unstack_param: UnstackParameterDict | pb.UnstackParameter
    batch_to_space_nd_param: BatchToSpaceNDParameterDict | pb.BatchToSpaceNDParameter
    space_to_batch_nd_param: SpaceToBatchNDParameterDict | pb.SpaceToBatchNDParameter
    mirror_pad_param: MirrorPadParameterDict | pb.MirrorPadParameter
    tile_nd_param: TileNDParameterDict | pb.TileNDParameter
    expand_dims_nd_param: ExpandDimsNDParameterDict | pb.ExpandDimsNDParameter
    squeeze_param: SqueezeParameterDict | pb.SqueezeParameter
    broadcast_to_param: BroadcastToParameterDict | pb.BroadcastToParameter
    strided_slice_param: StridedSliceParameterDict | pb.StridedSliceParameter
    piece_param: PieceParameterDict | pb.PieceParameter
    range_param: RangeParameterDict | pb.RangeParameter
    sparse_to_dense_param: SparseToDenseParameterDict | pb.SparseToDenseParameter
    embedding_lookup_param: EmbeddingLookupParameterDict | pb.EmbeddingLookupParameter
    embedding_lookup_sparse_param: EmbeddingLookupSparseParameterDict | pb.EmbeddingLookupSparseParameter
    gemm_param: GemmParameterDict | pb.GemmParameter
    reduce_l1_param: ReduceL1ParameterDict | pb.ReduceL1Parameter
    reduce_l2_param: ReduceL2ParameterDict | pb.ReduceL2Parameter
    reduce_logsumexp_param: ReduceLogsumexpParameterDict | pb.ReduceLogsumexpParameter
    reduce_all_param: ReduceAllParameterDict | pb.ReduceAllParameter
    reduce_any_param: ReduceAnyParameterDict | pb.ReduceAnyParameter
    reverse_sequence_param: ReverseSequenceParameterDict | pb.ReverseSequenceParameter
    hard_sigmoid_param: HardSigmoidParameterDict | pb.HardSigmoidParameter
    thresholded_relu_param: ThresholdedReLUParameterDict | pb.ThresholdedReLUParameter
    eltwise_accuracy_param: EltwiseAccuracyParameterDict | pb.EltwiseAccuracyParameter
    cpm_transform_param: CPMTransformationParameterDict | pb.CPMTransformationParameter
    cpmdata_param: CPMDataParameterDict | pb.CPMDataParameter
    heatmap_data_param: HeatmapDataParameterDict | pb.HeatmapDataParameter
    visualise: bool
    visualise_channel: int

class AllLayerSettings(LayerSettings, total=False):
    engine: str
    nms_param: NmsParameterDict | pb.NmsParameter
    resize_param: ResizeParameterDict | pb.ResizeParameter

class NetSettings(TypedDict, total=False):
    force_backward: bool
    state: NetStateDict | pb.NetState
    debug_info: bool
    compile_net_state: CompileNetStateDict | pb.CompileNetState
    engine: str
    bn_stats_batch_size: int
    multinode: MultinodeParameterDict | pb.MultinodeParameter
    default_forward_type: TypeName
    default_backward_type: TypeName
    default_forward_math: TypeName
    default_backward_math: TypeName
    global_grad_scale: float
    global_grad_scale_adaptive: bool
    default_conv_algos_override: str
    reduce_buckets: int
    default_cudnn_math_override: int
    eltwise_mem_sharing: bool
    data_type: DataTypeName
    quantizer: QuantizerParameterDict | pb.QuantizerParameter | Sequence[QuantizerParameterDict | pb.QuantizerParameter]
    reduced_memory_inference: bool
    autotune: AutotuneName
    version: int
    bottom: str | Sequence[str]

def AbsVal(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """|x|."""

def Accuracy(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    top_k: int = ...,
    axis: int = ...,
    ignore_label: int = ...,
    min_is_better: bool = ...,
    denominator: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The share of labels for which fewer than `top_k` other classes score as high; a second top has it by class."""

def Add(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """a + b."""

def AnnotatedData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    batch_sampler: BatchSamplerDict | pb.BatchSampler | Sequence[BatchSamplerDict | pb.BatchSampler] = ...,
    label_map_file: str = ...,
    anno_type: AnnotatedDatumAnnotationTypeName = ...,
    yolo_data_type: int = ...,
    yolo_data_jitter: float = ...,
    train_diffcult: bool = ...,
    single_class: bool = ...,
    seg_scales: int = ...,
    seg_resize_width: int = ...,
    seg_resize_height: int = ...,
    difficult_label_warmup: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Images, rows (image, label, instance, x1, y1, x2, y2, difficult), and in MobileNet-YOLO maps of classes.

    How many rows there are differs from batch to batch; the shapes assume one for each image. A batch without objects
    has one row of -1. Rows for YOLO are (class, x, y, width, height), 300 of them for each image. Maps have a channel
    for each number in the label map, or one for all, which the shapes assume where there is no label map.
    """

def ArgMax(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    out_max_val: bool = ...,
    top_k: int = ...,
    axis: int = ...,
    min_first: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The indices of the `top_k` largest values: along an axis, or of all values of each item of the batch.

    `out_max_val` gives the values: in their place along an axis, else behind them.
    """

def AssistedExcitation(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """x + alpha * mean inside boxes, where the mean over channels is the third bottom; no gradient goes through it.

    Alpha falls with the cosine of how far training is. Whoever trains sets `iteration` and `max_iteration`. Labels
    have rows of class, x, y, width and height, until a zero. Caffe does it for the first item of a batch only.
    """

def Axpy(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """a * x + y, where `a` has one number for every channel of every item."""

def BN(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    slope_filler: FillerParameterDict | pb.FillerParameter = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter = ...,
    momentum: float = ...,
    eps: float = ...,
    frozen: bool = ...,
    engine: BNParameterEngineName = ...,
    bn_mode: BNParameterBNModeName = ...,
    scale_filler: FillerParameterDict | pb.FillerParameter = ...,
    shift_filler: FillerParameterDict | pb.FillerParameter = ...,
    var_eps: float = ...,
    moving_average: bool = ...,
    decay: float = ...,
    across_spatial: bool = ...,
    icnet: bool = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """slope * (x - mean) / sqrt(variance + eps) + bias, for every channel.

    Forks have several types of this name. SegNet's has two blobs, slope and bias; mean and variance are the batch's in
    both phases, or with `bn_mode: INFERENCE` are left out. PSPNet's has running averages as two blobs more, which it
    uses in TEST and when frozen. happynear's does so too, but its fourth blob averages 1 / sqrt(variance + eps); at
    first it averaged variances, to which it added eps only while training.

    A layer is SegNet's or the first happynear's if it has a `scale_filler`, a `shift_filler`, a `bn_mode` or more than
    one top (the batch's mean and variance), and PSPNet's or happynear's otherwise. Which of them, the net's dialect
    says. Synopsys has SegNet's, and PSPNet's where `icnet` is set.
    """

def BNLL(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """log(1 + exp(x))."""

def BatchNorm(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    use_global_stats: bool = ...,
    moving_average_fraction: float = ...,
    eps: float = ...,
    update_global_stats: bool = ...,
    engine: BatchNormParameterEngineName = ...,
    use_weight_bias: bool = ...,
    bias_term: bool = ...,
    filler: FillerParameterDict | pb.FillerParameter = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter = ...,
    stats_batch_size: int = ...,
    relu: bool = ...,
    scale_filler: FillerParameterDict | pb.FillerParameter = ...,
    scale_bias: bool = ...,
    disable_mean: bool = ...,
    disable_variance: bool = ...,
    fused_relu: bool = ...,
    add_eps_before_sqrt: bool = ...,
    icnet: bool = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """(x - mean) / sqrt(variance + eps), with those of the batch, or with averages of those of earlier batches.

    Three sums are kept, of means, of variances and of their weights; an average is a sum divided by the third. In
    NVCaffe and with Intel's engines a scale and a bias may follow.
    """

def BatchReindex(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Item n of the top is the item of the first bottom that the second bottom has at n."""

def BatchToSpaceND(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    block_shape: int | Sequence[int] = ...,
    crops: int | Sequence[int] = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Items become the places of blocks of `block_shape`, and the borders of what comes out are cut off by `crops`."""

def Bias(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    axis: int = ...,
    num_axes: int = ...,
    filler: FillerParameterDict | pb.FillerParameter = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """x + bias, which is learned or is the second bottom, and lies along the axes from `axis` on."""

def BoxAnnotatorOHEM(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    roi_per_img: int = ...,
    ignore_label: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Labels and box weights of the `roi_per_img` worst regions of each image; others are ignored and weigh nothing.

    Bottoms are regions, of which only the image's index is read, their losses, labels, and box weights.
    """

def CPMData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    scale: float = ...,
    mirror: bool = ...,
    crop_size: int = ...,
    mean_file: str = ...,
    mean_value: float | Sequence[float] = ...,
    stride: int = ...,
    scale_cvg: float = ...,
    max_cvg_len: int = ...,
    min_cvg_len: int = ...,
    opaque_coverage: bool = ...,
    coverage: str = ...,
    flip_prob: float = ...,
    max_rotate_degree: float = ...,
    visualize: bool = ...,
    crop_size_x: int = ...,
    crop_size_y: int = ...,
    scale_prob: float = ...,
    scale_min: float = ...,
    scale_max: float = ...,
    bbox_norm_factor: float = ...,
    img_header: str = ...,
    force_color: bool = ...,
    force_gray: bool = ...,
    target_dist: float = ...,
    center_perterb_max: float = ...,
    sigma: float = ...,
    sigma_center: float = ...,
    clahe_tile_size: float = ...,
    clahe_clip_limit: float = ...,
    do_clahe: bool = ...,
    num_parts: int = ...,
    num_total_augs: int = ...,
    aug_way: str = ...,
    gray: int = ...,
    np_in_lmdb: int = ...,
    transform_body_joint: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """An image, and weights and maps for the joints and limbs of all people in it, as cpm_transform_param says.

    The older type of this name has a cpmdata_param and its settings in transform_param. It is for a single person: the
    image has a fourth channel that shows where the person is, and there are maps of this person's joints, and then of
    everybody's.
    """

def CenterLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int = ...,
    center_filler: FillerParameterDict | pb.FillerParameter = ...,
    axis: int = ...,
    distance_type: str = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Half the squared distances of all items from the centres of their classes, divided by the batch.

    happynear's `distance_type: "L1"` takes the distances themselves, whole. Centres don't follow the gradient of the
    loss, but move to the mean of their items, with one item more that is where they are, whatever the loss weighs. In
    happynear's Caffe they go so far for each of these items. Without a `loss_weight` the loss weighs 0.
    """

def ChannelScale(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    do_forward: bool = ...,
    do_backward_feature: bool = ...,
    do_backward_scale: bool = ...,
    global_scale: bool = ...,
    max_global_scale: float = ...,
    min_global_scale: float = ...,
    init_global_scale: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The first bottom times the second, which has one number for each item and place."""

def Clip(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    min: float = ...,
    max: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """max(min, min(x, max)); the gradient passes at the bounds themselves."""

def Concat(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    axis: int = ...,
    concat_dim: int = ...,
    per_fla_fuse: bool = ...,
    engine: ConcatParameterEngineName = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """All bottoms, joined along `axis`.

    Intel's `per_fla_fuse` joins on axis 1 what a Permute that puts channels last and a Flatten would give, with two
    more axes of length 1.
    """

def ContrastiveLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    margin: float = ...,
    legacy_version: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """d^2 / 2 for similar pairs, max(margin - d, 0)^2 / 2 for all others, averaged; d is the distance of a pair.

    The legacy version has max(margin - d^2, 0) / 2.
    """

def Convolution(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int = ...,
    bias_term: bool = ...,
    pad: int | Sequence[int] = ...,
    kernel_size: int | Sequence[int] = ...,
    stride: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    pad_h: int = ...,
    pad_w: int = ...,
    kernel_h: int = ...,
    kernel_w: int = ...,
    stride_h: int = ...,
    stride_w: int = ...,
    group: int = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter = ...,
    engine: ConvolutionParameterEngineName = ...,
    axis: int = ...,
    force_nd_im2col: bool = ...,
    relu: bool = ...,
    negative_slope: float = ...,
    conv_algorithm: str = ...,
    coeff: float | Sequence[float] = ...,
    fusion_type: ConvolutionParameterFusionTypeName = ...,
    cudnn_convolution_algo_seeker: ConvolutionParameterCuDNNConvolutionAlgorithmSeekerName = ...,
    conv_algos_override: str = ...,
    filter_stride: int = ...,
    filter_stride_h: int = ...,
    filter_stride_w: int = ...,
    shape_offset: int | Sequence[int] = ...,
    fuse_type: ConvolutionParameterFuseTypeName = ...,
    dilation_h: int = ...,
    dilation_w: int = ...,
    pad_type: int = ...,
    pad_l: int = ...,
    pad_r: int = ...,
    pad_t: int = ...,
    pad_b: int = ...,
    input_scale: float = ...,
    output_scale: float = ...,
    saturate: ConvolutionParameterSaturateMethodName = ...,
    weight_fixed: bool = ...,
    dis_mode: bool = ...,
    gen_mode: bool = ...,
    mem_group_size: int = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """At every place, the sum over a window of the input times a filter, plus a bias."""

def ConvolutionDepthwise(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int = ...,
    bias_term: bool = ...,
    pad: int | Sequence[int] = ...,
    kernel_size: int | Sequence[int] = ...,
    stride: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    pad_h: int = ...,
    pad_w: int = ...,
    kernel_h: int = ...,
    kernel_w: int = ...,
    stride_h: int = ...,
    stride_w: int = ...,
    group: int = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter = ...,
    engine: ConvolutionParameterEngineName = ...,
    axis: int = ...,
    force_nd_im2col: bool = ...,
    relu: bool = ...,
    negative_slope: float = ...,
    conv_algorithm: str = ...,
    coeff: float | Sequence[float] = ...,
    fusion_type: ConvolutionParameterFusionTypeName = ...,
    cudnn_convolution_algo_seeker: ConvolutionParameterCuDNNConvolutionAlgorithmSeekerName = ...,
    conv_algos_override: str = ...,
    filter_stride: int = ...,
    filter_stride_h: int = ...,
    filter_stride_w: int = ...,
    shape_offset: int | Sequence[int] = ...,
    fuse_type: ConvolutionParameterFuseTypeName = ...,
    dilation_h: int = ...,
    dilation_w: int = ...,
    pad_type: int = ...,
    pad_l: int = ...,
    pad_r: int = ...,
    pad_t: int = ...,
    pad_b: int = ...,
    input_scale: float = ...,
    output_scale: float = ...,
    saturate: ConvolutionParameterSaturateMethodName = ...,
    weight_fixed: bool = ...,
    dis_mode: bool = ...,
    gen_mode: bool = ...,
    mem_group_size: int = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """A convolution in which every channel is filtered by itself; `num_output` may be left out."""

def Crop(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    axis: int = ...,
    offset: int | Sequence[int] = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """From `axis` on the first bottom is cut to the size of the second, beginning at `offset`."""

def Data(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    source: str = ...,
    batch_size: int = ...,
    rand_skip: int = ...,
    backend: DataParameterDBName = ...,
    scale: float = ...,
    mean_file: str = ...,
    crop_size: int = ...,
    mirror: bool = ...,
    force_encoded_color: bool = ...,
    prefetch: int = ...,
    shuffle: bool = ...,
    side: int | Sequence[int] = ...,
    threads: int = ...,
    parser_threads: int = ...,
    cache: bool = ...,
    precache: bool = ...,
    shuffle_buffer_size: int = ...,
    disk_reader_threads: int = ...,
    huge_video_dataset: bool = ...,
    limit_samples: int = ...,
    preselection_file: str = ...,
    preselection_label: int = ...,
    range_start: int = ...,
    range_end: int = ...,
    rand_permute: bool = ...,
    rand_permute_order: DataParameterRANDPERMORDERName = ...,
    rand_permute_seed: int = ...,
    slice_point: int | Sequence[int] = ...,
    encoding: DataParameterCHANNELENCODINGName | Sequence[DataParameterCHANNELENCODINGName] = ...,
    verbose: bool = ...,
    subtract: float | Sequence[float] = ...,
    permute_every_iter: int = ...,
    block_size: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """An image, and a number if there is a second top."""

def DataHeatmap(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    segmentation: bool = ...,
    multfact: int = ...,
    num_channels: int = ...,
    batchsize: int = ...,
    root_img_dir: str = ...,
    random_crop: bool = ...,
    sample_per_cluster: bool = ...,
    labelinds: str = ...,
    source: str = ...,
    meanfile: str = ...,
    crop_meanfile: str = ...,
    cropsize: int = ...,
    outsize: int = ...,
    scale: float = ...,
    label_width: int = ...,
    label_height: int = ...,
    dont_flip_first: bool = ...,
    angle_max: float = ...,
    flip_joint_labels: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """A square part of an image in red, green and blue, and a map with a gaussian for each joint."""

def Deconvolution(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int = ...,
    bias_term: bool = ...,
    pad: int | Sequence[int] = ...,
    kernel_size: int | Sequence[int] = ...,
    stride: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    pad_h: int = ...,
    pad_w: int = ...,
    kernel_h: int = ...,
    kernel_w: int = ...,
    stride_h: int = ...,
    stride_w: int = ...,
    group: int = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter = ...,
    engine: ConvolutionParameterEngineName = ...,
    axis: int = ...,
    force_nd_im2col: bool = ...,
    relu: bool = ...,
    negative_slope: float = ...,
    conv_algorithm: str = ...,
    coeff: float | Sequence[float] = ...,
    fusion_type: ConvolutionParameterFusionTypeName = ...,
    cudnn_convolution_algo_seeker: ConvolutionParameterCuDNNConvolutionAlgorithmSeekerName = ...,
    conv_algos_override: str = ...,
    filter_stride: int = ...,
    filter_stride_h: int = ...,
    filter_stride_w: int = ...,
    shape_offset: int | Sequence[int] = ...,
    fuse_type: ConvolutionParameterFuseTypeName = ...,
    dilation_h: int = ...,
    dilation_w: int = ...,
    pad_type: int = ...,
    pad_l: int = ...,
    pad_r: int = ...,
    pad_t: int = ...,
    pad_b: int = ...,
    input_scale: float = ...,
    output_scale: float = ...,
    saturate: ConvolutionParameterSaturateMethodName = ...,
    weight_fixed: bool = ...,
    dis_mode: bool = ...,
    gen_mode: bool = ...,
    mem_group_size: int = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Every input is spread over a window as a filter says; padding is cut off the sum."""

def DenseImageData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    source: str = ...,
    batch_size: int = ...,
    rand_skip: int = ...,
    shuffle: bool = ...,
    new_height: int = ...,
    new_width: int = ...,
    is_color: bool = ...,
    mean_file: str = ...,
    root_folder: str = ...,
    mirror: bool = ...,
    crop_width: int = ...,
    crop_height: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """An image and a map of its size. Where nothing says a size it is that of CamVid, which SegNet was made for."""

def DepthToSpace(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    block_size: int = ...,
    data_format: str = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Height and width become `block_size` times as large, with as many times fewer channels.

    With NHWC and NCHW, which is DCR's order, the place in a block is the slower part of a channel's number; with CRD
    it is the faster.
    """

def DepthwiseConvolution(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int = ...,
    bias_term: bool = ...,
    pad: int | Sequence[int] = ...,
    kernel_size: int | Sequence[int] = ...,
    stride: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    pad_h: int = ...,
    pad_w: int = ...,
    kernel_h: int = ...,
    kernel_w: int = ...,
    stride_h: int = ...,
    stride_w: int = ...,
    group: int = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter = ...,
    engine: ConvolutionParameterEngineName = ...,
    axis: int = ...,
    force_nd_im2col: bool = ...,
    relu: bool = ...,
    negative_slope: float = ...,
    conv_algorithm: str = ...,
    coeff: float | Sequence[float] = ...,
    fusion_type: ConvolutionParameterFusionTypeName = ...,
    cudnn_convolution_algo_seeker: ConvolutionParameterCuDNNConvolutionAlgorithmSeekerName = ...,
    conv_algos_override: str = ...,
    filter_stride: int = ...,
    filter_stride_h: int = ...,
    filter_stride_w: int = ...,
    shape_offset: int | Sequence[int] = ...,
    fuse_type: ConvolutionParameterFuseTypeName = ...,
    dilation_h: int = ...,
    dilation_w: int = ...,
    pad_type: int = ...,
    pad_l: int = ...,
    pad_r: int = ...,
    pad_t: int = ...,
    pad_b: int = ...,
    input_scale: float = ...,
    output_scale: float = ...,
    saturate: ConvolutionParameterSaturateMethodName = ...,
    weight_fixed: bool = ...,
    dis_mode: bool = ...,
    gen_mode: bool = ...,
    mem_group_size: int = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """A convolution in which every channel is filtered by itself."""

def DetectNetCluster(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """For every class the boxes (left, top, right, bottom, confidence) that several cells agree on, 50 at most.

    Bottoms are how much objects of each class cover every cell, and the corners of a box there, seen from the cell.
    Boxes that are nearly the same become one, as OpenCV groups rectangles; the confidence is the logarithm of how many.
    """

def DetectNetGroundtruth(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """For every class the boxes (left, top, right, bottom, 0) that cover a cell, each once, 50 at most.

    Bottoms are how much objects of each class cover every cell, and the corners of the box there, seen from the cell.
    """

def DetectNetPrecision(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Precision times recall, precision, and recall, in percent, of boxes that DetectNetScore has marked.

    The fork calls the first one mAP, though it is no mean over thresholds.
    """

def DetectNetScore(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Boxes with 1 for a detection that is an object, 2 for one that is none, 3 for an object that wasn't detected.

    Bottoms are lists of objects and of detections. Each object in turn takes the first detection that overlaps with it
    enough and that no other has taken.
    """

def DetectNetTransformation(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    stride: int = ...,
    scale_cvg: float = ...,
    gridbox_type: DetectNetGroundTruthParameterGridboxTypeName = ...,
    max_cvg_len: int = ...,
    min_cvg_len: int = ...,
    coverage_type: DetectNetGroundTruthParameterCoverageTypeName = ...,
    image_size_x: int = ...,
    image_size_y: int = ...,
    obj_norm: bool = ...,
    crop_bboxes: bool = ...,
    object_class: DetectNetGroundTruthParameterClassMappingDict | pb.DetectNetGroundTruthParameter.ClassMapping | Sequence[DetectNetGroundTruthParameterClassMappingDict | pb.DetectNetGroundTruthParameter.ClassMapping] = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Images of DetectNet's size without their mean, and for each a map of cells that see an object, four maps of the
    object's corners, two of its inverse sizes, one of the inverse of what it covers, and one for each class.

    Images are augmented by chance in TRAIN, and only scaled in TEST. A box's class is numbered as in `object_class`.
    """

def DetectionEvaluate(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_classes: int = ...,
    background_label_id: int = ...,
    overlap_threshold: float = ...,
    evaluate_difficult_gt: bool = ...,
    name_size_file: str = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """First a row (-1, label, objects, -1, -1) for each class, then (image, label, score, true, false) for detections.

    Bottoms are the rows of DetectionOutput and those of AnnotatedData. A detection is true if the object that it
    overlaps with most is of its label, overlaps enough, and has no better detection. It is neither true nor false for
    a difficult object that doesn't count. With `name_size_file`, whose images come in order, boxes count pixels.
    """

def DetectionOutput(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_classes: int = ...,
    share_location: bool = ...,
    background_label_id: int = ...,
    nms_param: NonMaximumSuppressionParameterDict | pb.NonMaximumSuppressionParameter = ...,
    save_output_param: SaveOutputParameterDict | pb.SaveOutputParameter = ...,
    code_type: PriorBoxParameterCodeTypeName = ...,
    variance_encoded_in_target: bool = ...,
    keep_top_k: int = ...,
    confidence_threshold: float = ...,
    visualize: bool = ...,
    visualize_threshold: float = ...,
    save_file: str = ...,
    objectness_score: float = ...,
    engine: str = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """One row (image, label, score, x1, y1, x2, y2) for each detection, by image, label and falling score.

    The shape is known only when it runs; until then it is Caffe's, of one row. An image without detections has no row,
    but if none has any, each gets a row of -1. Nothing is saved or shown: `save_output_param` and `visualize` are for
    whoever takes the top.

    Synopsys' takes more bottoms: the scores of every feature map (batch, classes, ratios, places), then the locations
    of every feature map as a convolution makes them, then the priors.
    """

def Dropout(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    dropout_ratio: float = ...,
    scale_train: bool = ...,
    sample_weights_test: bool = ...,
    engine: DropoutParameterEngineName = ...,
    random_seed: int = ...,
    sqrt_scale: bool = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Values are left out with the chance `dropout_ratio`, and the others scaled up to make up for it.

    With `scale_train: false`, of Faster R-CNN, all are scaled down in a test instead. With `sample_weights_test`, of
    Bayesian SegNet, values are left out in a test too.
    """

def DummyData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    data_filler: FillerParameterDict | pb.FillerParameter | Sequence[FillerParameterDict | pb.FillerParameter] = ...,
    shape: BlobShapeDict | pb.BlobShape | Sequence[BlobShapeDict | pb.BlobShape] = ...,
    num: int | Sequence[int] = ...,
    channels: int | Sequence[int] = ...,
    height: int | Sequence[int] = ...,
    width: int | Sequence[int] = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Each top is filled by its `data_filler`: once if that is constant, else anew whenever the net runs."""

def ELU(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    alpha: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """max(x, 0) + alpha * (exp(min(x, 0)) - 1), times NVCaffe's lambda, which makes it a SELU."""

def Eltwise(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    operation: EltwiseParameterEltwiseOpName = ...,
    coeff: float | Sequence[float] = ...,
    stable_prod_grad: bool = ...,
    engine: EltwiseParameterEngineName = ...,
    coeff_blob: bool = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The sum of the bottoms, each times its `coeff`, or their product, or the largest of them.

    Caffe's rule for a sum in place: its memory, which is the first bottom's, is made 0 first. So the first bottom isn't
    in the sum, though it gets its gradient.
    """

def EltwiseAccuracy(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    top_k: int = ...,
    ignore_label: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The share of pixels whose label is among the `top_k` best classes; of classes that score alike the last is best.

    Without any label that counts it is NaN.
    """

def Embed(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int = ...,
    input_dim: int = ...,
    bias_term: bool = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The row of the weights that every value of the bottom names, plus a bias."""

def EuclideanLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """sum (x - y)^2 / (2 N). Both bottoms get a gradient."""

def EuclideanLossHeatmap(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The mean of (x - y)^2. A third bottom is for pictures.

    The gradient is the fork's: x - y, whatever the loss is divided by and whatever its loss_weight.
    """

def EvalDetection(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    side: int = ...,
    num_class: int = ...,
    num_object: int = ...,
    threshold: float = ...,
    sqrt: bool = ...,
    constriant: bool = ...,
    score_type: EvalDetectionParameterScoreTypeName = ...,
    nms: float = ...,
    biases: float | Sequence[float] = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """For every item, how many truths each class has, then class, score, right and wrong of every detection.

    Detections are sorted by class and then by score; rows that are left over are 0. One is right if the truth of its
    class that it overlaps most isn't a better one's already, and wrong if it is or if there is none; one that
    overlaps less than `threshold` is neither. Truths are rows of eight, as SSD's data layer gives them. Without `nms`
    Caffe has no detections.
    """

def Exp(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    base: float = ...,
    scale: float = ...,
    shift: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """base ** (shift + scale * x)."""

def FCNSegData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """One image at a time, of any size, and maps of its size: labels, or in NYUD what `tops` of its settings names.

    Images are drawn where the split's name has `train` in it and `randomize` isn't off, and otherwise in their order.
    """

def Filter(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Of every bottom but the last the items for which the last isn't 0."""

def Flatten(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    axis: int = ...,
    end_axis: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The axes from `axis` to `end_axis`, both included, are one."""

def Flip(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    flip_width: bool = ...,
    flip_height: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Left and right change places with `flip_width`, top and bottom with `flip_height`."""

def HDF5Data(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    source: str = ...,
    batch_size: int = ...,
    shuffle: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Each top is the data set of its name. What shapes they have only the files say; here an image, then numbers."""

def HDF5Output(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    file_name: str = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The data sets `data` and `label`, with the rows of all batches that ran. Caffe ends at the second batch."""

def HardSwish(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """x * min(max(x + 3, 0), 6) / 6."""

def HingeLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    norm: HingeLossParameterNormName = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The sum of max(0, 1 - x) for right classes and max(0, 1 + x) for all others, or of its squares, over N."""

def Im2col(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int = ...,
    bias_term: bool = ...,
    pad: int | Sequence[int] = ...,
    kernel_size: int | Sequence[int] = ...,
    stride: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    pad_h: int = ...,
    pad_w: int = ...,
    kernel_h: int = ...,
    kernel_w: int = ...,
    stride_h: int = ...,
    stride_w: int = ...,
    group: int = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter = ...,
    engine: ConvolutionParameterEngineName = ...,
    axis: int = ...,
    force_nd_im2col: bool = ...,
    relu: bool = ...,
    negative_slope: float = ...,
    conv_algorithm: str = ...,
    coeff: float | Sequence[float] = ...,
    fusion_type: ConvolutionParameterFusionTypeName = ...,
    cudnn_convolution_algo_seeker: ConvolutionParameterCuDNNConvolutionAlgorithmSeekerName = ...,
    conv_algos_override: str = ...,
    filter_stride: int = ...,
    filter_stride_h: int = ...,
    filter_stride_w: int = ...,
    shape_offset: int | Sequence[int] = ...,
    fuse_type: ConvolutionParameterFuseTypeName = ...,
    dilation_h: int = ...,
    dilation_w: int = ...,
    pad_type: int = ...,
    pad_l: int = ...,
    pad_r: int = ...,
    pad_t: int = ...,
    pad_b: int = ...,
    input_scale: float = ...,
    output_scale: float = ...,
    saturate: ConvolutionParameterSaturateMethodName = ...,
    weight_fixed: bool = ...,
    dis_mode: bool = ...,
    gen_mode: bool = ...,
    mem_group_size: int = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The channels of the top are those of the bottom, each at every place in the window."""

def ImResize(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    target_spatial_width: int = ...,
    target_spatial_height: int = ...,
    factor: float = ...,
    start_scale: float = ...,
    scale_gap: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """One image, the mean of all items. Each is the middle of what it is given, the smaller the later it comes:
    `start_scale` of it for the first, `scale_gap` less for each one more.
    """

def ImageData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    source: str = ...,
    batch_size: int = ...,
    rand_skip: int = ...,
    shuffle: bool = ...,
    new_height: int = ...,
    new_width: int = ...,
    is_color: bool = ...,
    scale: float = ...,
    mean_file: str = ...,
    crop_size: int = ...,
    mirror: bool = ...,
    root_folder: str = ...,
    ignore_label: int = ...,
    label_type: ImageDataParameterLabelTypeName = ...,
    min_height: int = ...,
    min_width: int = ...,
    short_side: int = ...,
    threads: int = ...,
    cache: bool = ...,
    precache: bool = ...,
    dataset_share_per_node: float = ...,
    face_transform: bool = ...,
    max_shear_ratio: float = ...,
    max_aspect_ratio: float = ...,
    max_rotate_angle: float = ...,
    min_random_scale: float = ...,
    max_random_scale: float = ...,
    max_random_shift: int = ...,
    face_mirror: bool = ...,
    face_point_num: int = ...,
    balance_class: bool = ...,
    balance_by: int = ...,
    label_cut_start: int = ...,
    label_cut_end: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """An image and a number."""

def ImageLabelmapData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    source: str = ...,
    batch_size: int = ...,
    rand_skip: int = ...,
    shuffle: bool = ...,
    new_height: int = ...,
    new_width: int = ...,
    is_color: bool = ...,
    scale: float = ...,
    mean_file: str = ...,
    crop_size: int = ...,
    mirror: bool = ...,
    root_folder: str = ...,
    ignore_label: int = ...,
    label_type: ImageDataParameterLabelTypeName = ...,
    min_height: int = ...,
    min_width: int = ...,
    short_side: int = ...,
    threads: int = ...,
    cache: bool = ...,
    precache: bool = ...,
    dataset_share_per_node: float = ...,
    face_transform: bool = ...,
    max_shear_ratio: float = ...,
    max_aspect_ratio: float = ...,
    max_rotate_angle: float = ...,
    min_random_scale: float = ...,
    max_random_scale: float = ...,
    max_random_shift: int = ...,
    face_mirror: bool = ...,
    face_point_num: int = ...,
    balance_class: bool = ...,
    balance_by: int = ...,
    label_cut_start: int = ...,
    label_cut_end: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """An image and a map of its size, with 1 where the file of the map is at least half as bright as white."""

def ImageSegData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    source: str = ...,
    batch_size: int = ...,
    rand_skip: int = ...,
    shuffle: bool = ...,
    new_height: int = ...,
    new_width: int = ...,
    is_color: bool = ...,
    scale: float = ...,
    mean_file: str = ...,
    crop_size: int = ...,
    mirror: bool = ...,
    root_folder: str = ...,
    ignore_label: int = ...,
    label_type: ImageDataParameterLabelTypeName = ...,
    min_height: int = ...,
    min_width: int = ...,
    short_side: int = ...,
    threads: int = ...,
    cache: bool = ...,
    precache: bool = ...,
    dataset_share_per_node: float = ...,
    face_transform: bool = ...,
    max_shear_ratio: float = ...,
    max_aspect_ratio: float = ...,
    max_rotate_angle: float = ...,
    min_random_scale: float = ...,
    max_random_scale: float = ...,
    max_random_shift: int = ...,
    face_mirror: bool = ...,
    face_point_num: int = ...,
    balance_class: bool = ...,
    balance_by: int = ...,
    label_cut_start: int = ...,
    label_cut_end: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """An image, a map of its size, and maybe its height and width before it was cropped or padded."""

def InfogainLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    source: str = ...,
    axis: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """-sum over all classes k of H[label, k] * log softmax(x)[k]; H is the third bottom, or a file."""

def InnerProduct(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int = ...,
    bias_term: bool = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter = ...,
    axis: int = ...,
    transpose: bool = ...,
    engine: InnerProductParameterEngineName = ...,
    relu: bool = ...,
    negative_slope: float = ...,
    normalize: bool = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Everything from `axis` on is one vector, which is multiplied by the weights."""

def Input(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    shape: BlobShapeDict | pb.BlobShape | Sequence[BlobShapeDict | pb.BlobShape] = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Its tops are given by whoever runs the net."""

def Interp(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    height: int = ...,
    width: int = ...,
    zoom_factor: int = ...,
    shrink_factor: int = ...,
    pad_beg: int = ...,
    pad_end: int = ...,
    full_zoom_factor: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The bottom, cropped by negative padding, at another size.

    A `zoom_factor` counts the steps between pixels, and Synopsys' `full_zoom_factor` the pixels. In some forks a second
    bottom can have that size; then no setting may say another.
    """

def L1Loss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    l2_per_location: bool = ...,
    l2_prescale_by_channels: bool = ...,
    normalize_by_num_entries: bool = ...,
    epsilon: float = ...,
    plateau: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """sum |x - y| / N. Both bottoms get a gradient. Of FlowNet's type of this name it is what needs no settings."""

def LRN(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    local_size: int = ...,
    alpha: float = ...,
    beta: float = ...,
    norm_region: LRNParameterNormRegionName = ...,
    k: float = ...,
    engine: LRNParameterEngineName = ...,
    fuse_type: LRNParameterFuseTypeName = ...,
    unit_test_mode: bool = ...,
    unit_test_fuse_kernel: bool = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """x / (k + alpha * mean of x**2)**beta, the mean over neighbouring channels or, with k = 1, over a window."""

def LSTM(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter = ...,
    debug_info: bool = ...,
    expose_hidden: bool = ...,
    forget_bias: float = ...,
    tf_rnn: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Four gates decide what a cell takes in, keeps and gives out; the top is the hidden state of every step."""

def LSTMUnit(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """From the cell 1 x N x D, the gates before their nonlinearities 1 x N x 4D and cont 1 x N: cell and hidden state.

    Caffe on a GPU; on a CPU its gradient for the forget gate is another one where cont is neither 0 nor 1.
    """

def LaneData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    batch_sampler: BatchSamplerDict | pb.BatchSampler | Sequence[BatchSamplerDict | pb.BatchSampler] = ...,
    label_map_file: str = ...,
    anno_type: AnnotatedDatumAnnotationTypeName = ...,
    yolo_data_type: int = ...,
    yolo_data_jitter: float = ...,
    train_diffcult: bool = ...,
    single_class: bool = ...,
    seg_scales: int = ...,
    seg_resize_width: int = ...,
    seg_resize_height: int = ...,
    difficult_label_warmup: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """An image, rows of points (x, y, lane), and a map that is `seg_scales` times smaller or has a size of its own."""

def Log(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    base: float = ...,
    scale: float = ...,
    shift: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """log(shift + scale * x) to the base."""

def MVN(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    normalize_variance: bool = ...,
    across_channels: bool = ...,
    eps: float = ...,
    add_eps_before_sqrt: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """(x - mean) / (deviation + eps), over the pixels of each channel or `across_channels`; the top has four axes.

    With Synopsys' `add_eps_before_sqrt` it is divided by sqrt(variance + eps).
    """

def MarginInnerProduct(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int = ...,
    type: MarginInnerProductParameterMarginTypeName = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter = ...,
    axis: int = ...,
    base: float = ...,
    gamma: float = ...,
    power: float = ...,
    iteration: int = ...,
    lambda_min: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """|x| cos(angle to each weight); for the label (lambda * |x| cos(angle) + |x| psi(angle)) / (1 + lambda).

    Psi falls as cos(m * angle), made monotonous, m being 1 to 4 by `type`. Lambda falls with the number of forward
    passes: base * (1 + gamma * passes) ^ -power, at least lambda_min; it is the second top. As in Caffe, the rows of
    the weight are made unit vectors in every pass, and the gradient is one of Caffe's own: a margin turns it for the
    label's class, with its length kept, and the weight gets what a plain inner product would.
    """

def Maximum(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Of two bottoms the larger values, the smaller bottom repeated. Of one, (x, y, value) for every channel.

    rtpose's finds only what is positive: where nothing is, all three are 0.
    """

def MemoryData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    batch_size: int = ...,
    channels: int = ...,
    height: int = ...,
    width: int = ...,
    transpose: bool = ...,
    dim: int | Sequence[int] = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """An image of a size that is given, and a number."""

def Mul(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """a * b, axes compared from the last one on: each is equal in both or is 1 in one of them."""

def MultiBoxLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    loc_loss_type: MultiBoxLossParameterLocLossTypeName = ...,
    conf_loss_type: MultiBoxLossParameterConfLossTypeName = ...,
    loc_weight: float = ...,
    num_classes: int = ...,
    share_location: bool = ...,
    match_type: MultiBoxLossParameterMatchTypeName = ...,
    overlap_threshold: float = ...,
    use_prior_for_matching: bool = ...,
    background_label_id: int = ...,
    use_difficult_gt: bool = ...,
    do_neg_mining: bool = ...,
    neg_pos_ratio: float = ...,
    neg_overlap: float = ...,
    code_type: PriorBoxParameterCodeTypeName = ...,
    encode_variance_in_target: bool = ...,
    map_object_to_agnostic: bool = ...,
    ignore_cross_boundary_bbox: bool = ...,
    bp_inside: bool = ...,
    mining_type: MultiBoxLossParameterMiningTypeName = ...,
    nms_param: NonMaximumSuppressionParameterDict | pb.NonMaximumSuppressionParameter = ...,
    sample_size: int = ...,
    use_prior_for_nms: bool = ...,
    ignore_difficult_gt: bool = ...,
    objectness_score: float = ...,
    engine: str = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Location loss of the boxes that match an object, and confidence loss of these and of hard ones that match none.

    Bottoms are locations, scores, priors and objects as AnnotatedData gives them.
    """

def MultiStageMeanfield(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    compatibility_mode: MultiStageMeanfieldParameterModeName = ...,
    threshold: float = ...,
    theta_alpha: float = ...,
    theta_beta: float = ...,
    theta_gamma: float = ...,
    num_iterations: int = ...,
    spatial_filter_weight: float = ...,
    bilateral_filter_weight: float = ...,
    forced_spatial_filter_weight: float = ...,
    forced_bilateral_filter_weight: float = ...,
    spatial_filter_weights_str: str = ...,
    bilateral_filter_weights_str: str = ...,
    force_cpu: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Scores for every pixel, once its neighbours have been heard, above all those of its own colour.

    Bottoms are the scores of a net, what the first step begins with (the same scores, as a rule), and the image. In
    every step probabilities are blurred over near pixels, and over near pixels of similar colours; what comes of both
    is weighed by a matrix each, then by what classes think of each other, and taken off the scores. The image gets no
    gradient.
    """

def MultinomialLogisticLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """-log x[label], averaged over the batch."""

def Nms(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    threshold: float = ...,
    num_peak: int = ...,
    max_peaks: int = ...,
    num_parts: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """For every item and part: a row that begins with how many peaks there are, then (x, y, score) of each.

    A peak is above the threshold and all eight neighbours. Its place is the mean of the places around it, weighed by
    their scores. Peaks are in the order of reading; only `max_peaks` are told, though all are counted.
    """

def Normalize(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    across_spatial: bool = ...,
    scale_filler: FillerParameterDict | pb.FillerParameter = ...,
    channel_shared: bool = ...,
    eps: float = ...,
    fix_scale: bool = ...,
    normalize_type: str = ...,
    fix_gradient: bool = ...,
    bp_norm: bool = ...,
    add_eps_before_sqrt: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """scale * x / sqrt(sum of x² + eps), with the sum over channels, or over the whole item with `across_spatial`.

    With Synopsys' `add_eps_before_sqrt: false` eps is added to the root over a whole item.

    happynear's, with its settings in `normalize_param`, has no scale, sums over channels, and with the type L1 takes
    absolute values. A second top has what it divided by, and passes a gradient only with `bp_norm`. TSN's has no
    settings at all, and divides items by their length. A layer without settings is whose the net is. The top of these
    two has four axes.
    """

def PReLU(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    filler: FillerParameterDict | pb.FillerParameter = ...,
    channel_shared: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """max(x, 0) + slope * min(x, 0), with a slope for each channel or one for all."""

def PSROIPooling(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    spatial_scale: float = ...,
    output_dim: int = ...,
    group_size: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Channel (c * group_size + row) * group_size + column is averaged over the bin in that row and column.

    Regions are (image, x1, y1, x2, y2) in the image, rounded before `spatial_scale` brings them to the feature map.
    """

def Pad(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    paddings: int | Sequence[int] = ...,
    constant_values: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """`paddings` has how much comes before and how much behind, for every axis in turn."""

def Parameter(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    shape: BlobShapeDict | pb.BlobShape = ...,
    blob_filler: FillerParameterDict | pb.FillerParameter = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Its top is its blob. Caffe starts it at 0, a fork has a filler for it."""

def Permute(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    order: int | Sequence[int] = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Axis `order[i]` becomes axis i; those that `order` leaves out follow as they were."""

def Pooling(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    pool: PoolingParameterPoolMethodName = ...,
    pad: int = ...,
    pad_h: int = ...,
    pad_w: int = ...,
    kernel_size: int = ...,
    kernel_h: int = ...,
    kernel_w: int = ...,
    stride: int = ...,
    stride_h: int = ...,
    stride_w: int = ...,
    engine: PoolingParameterEngineName = ...,
    global_pooling: bool = ...,
    round_mode: PoolingParameterRoundModeName = ...,
    ceil_mode: bool = ...,
    pad_3d: int | Sequence[int] = ...,
    kernel_size_3d: int | Sequence[int] = ...,
    stride_3d: int | Sequence[int] = ...,
    avg_include_pad: bool = ...,
    axis: int = ...,
    torch_pooling: bool = ...,
    bin_size: int = ...,
    bin_h: int = ...,
    bin_w: int = ...,
    blobs_lr: float = ...,
    blobs_a_min: float = ...,
    dilation: int | Sequence[int] = ...,
    pad_type: int = ...,
    pad_l: int = ...,
    pad_r: int = ...,
    pad_t: int = ...,
    pad_b: int = ...,
    output_shift_instead_division: int = ...,
    saturate: PoolingParameterSaturateMethodName = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The largest or the average value of every window, or one that is drawn at random, larger ones more often.

    A second top of MAX says where the largest values are.
    """

def Power(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    power: float = ...,
    scale: float = ...,
    shift: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """(shift + scale * x) ** power."""

def PriorBox(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    min_size: float | Sequence[float] = ...,
    max_size: float | Sequence[float] = ...,
    aspect_ratio: float | Sequence[float] = ...,
    flip: bool = ...,
    clip: bool = ...,
    variance: float | Sequence[float] = ...,
    img_size: int = ...,
    img_h: int = ...,
    img_w: int = ...,
    step: float = ...,
    step_h: float = ...,
    step_w: float = ...,
    offset: float = ...,
    faceboxes: bool = ...,
    box_width: float | Sequence[float] = ...,
    box_height: float | Sequence[float] = ...,
    tf: bool = ...,
    yx_order: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Boxes relative to the image's size in the first channel of the top, their variances in the second.

    For every `min_size` there is a square, a larger square if it has a `max_size`, and one box for each aspect ratio.
    With Synopsys' `tf` the larger square is the last. Its `yx_order` puts y before x, and so it is in all that is made
    of the boxes.
    """

def Proposal(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    feat_stride: int = ...,
    base_size: int = ...,
    min_size: int = ...,
    ratio: float | Sequence[float] = ...,
    scale: float | Sequence[float] = ...,
    pre_nms_topn: int = ...,
    post_nms_topn: int = ...,
    nms_thresh: float = ...,
    anchor_base_size: int = ...,
    anchor_scale: int = ...,
    anchor_ratio: int = ...,
    max_rois: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Regions (image, x1, y1, x2, y2) and their scores, best first, without those that overlap with better ones.

    Bottoms are scores (background first), box predictions, and the image's height, width and scale, or two scales for
    height and width. A `scale` of an anchor is relative to `base_size`, but in happynear's Caffe it is in pixels. What
    is too small gets a score of 0, but is not left out. How many regions there are is known only when it runs; until
    then the shape says as many as may be.
    """

def Python(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    module: str = ...,
    param_str: str = ...,
    share_in_parallel: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Runs `setup`, `reshape`, `forward` and `backward` of a class, on numpy arrays, as pycaffe does.

    A net can name any module, so only those in `allowed` are imported. A module that says `import caffe` where no
    Caffe is installed gets netdsl.pycaffe. Exceptions of the class pass through as they are.
    """

def RNN(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter = ...,
    debug_info: bool = ...,
    expose_hidden: bool = ...,
    forget_bias: float = ...,
    tf_rnn: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """h = tanh(W_hh h' + W_xh x + b_h), and the top is tanh(W_ho h + b_o)."""

def ROIPooling(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    pooled_h: int = ...,
    pooled_w: int = ...,
    spatial_scale: float = ...,
    pooled_size: int | Sequence[int] = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Regions are (image, x1, y1, x2, y2) in the image, which `spatial_scale` brings to the feature map.

    Bins round outward, so that neighbours can overlap. One that is outside of the map gives 0. A region that ends
    before it begins is taken as one place; Faster R-CNN's rule, but not Intel's: that place gets no gradient.
    """

def ReLU(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    negative_slope: float = ...,
    engine: ReLUParameterEngineName = ...,
    fuse: bool = ...,
    relu6: bool = ...,
    maximum: float = ...,
    minimum: float = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """max(x, 0) + slope * min(x, 0), between the bounds that the Synopsys fork can set."""

def ReLU6(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    negative_slope: float = ...,
    engine: ReLUParameterEngineName = ...,
    fuse: bool = ...,
    relu6: bool = ...,
    maximum: float = ...,
    minimum: float = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """min(max(x, 0) + slope * min(x, 0), 6); nothing flows back from where the six was reached."""

def Reduction(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    operation: ReductionParameterReductionOpName = ...,
    axis: int = ...,
    coeff: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """`coeff` times the sum of the values, of their absolutes or of their squares, or times their mean."""

def RegionLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    side: int = ...,
    num_class: int = ...,
    bias_match: int = ...,
    coords: int = ...,
    num: int = ...,
    softmax: int = ...,
    jitter: float = ...,
    rescore: int = ...,
    object_scale: float = ...,
    class_scale: float = ...,
    noobject_scale: float = ...,
    coord_scale: float = ...,
    absolute: int = ...,
    thresh: float = ...,
    random: int = ...,
    biases: float | Sequence[float] = ...,
    softmax_tree: str = ...,
    class_map: str = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The sum of squares of what is sent back: objectness, and box and class where a truth's best anchor is.

    Labels with rows of five (class, x, y, width, height, until a zero) are MobileNet-YOLO's. Labels with rows of
    eight, as SSD's data layer gives them, are Intel's, whose formulas differ: boxes are clipped as in a smooth L1
    loss, objectness is focal, and the loss isn't divided by the number of items.
    """

def Reorg(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    stride: int = ...,
    reverse: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Blocks of stride x stride pixels and the channels change places.

    Darknet's rule: going down, the numbers are read as if they were an image of fewer channels and more pixels, so
    that channels are mixed; that image's blocks become channels, and only their count and not their shape is kept.
    """

def Reshape(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    shape: BlobShapeDict | pb.BlobShape = ...,
    axis: int = ...,
    num_axes: int = ...,
    pixelshuffler: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """`num_axes` axes from `axis` on become those of `shape`: 0 keeps the bottom's, -1 is what is left.

    Intel's `pixelshuffler` moves r x r channels into r times the height and width instead.
    """

def ResizeBilinear(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    align_corners: bool = ...,
    output_height: int = ...,
    output_width: int = ...,
    data_format: str = ...,
    scale_height: float = ...,
    scale_width: float = ...,
    half_pixel_centers: bool = ...,
    pytorch_half_pixel: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The neighbours weighed by how near they are."""

def ResizeNearestNeighbor(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    align_corners: bool = ...,
    output_height: int = ...,
    output_width: int = ...,
    data_format: str = ...,
    scale_height: float = ...,
    scale_width: float = ...,
    half_pixel_centers: bool = ...,
    half_pixel_onnx: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The pixel at the place rounded down, or with `align_corners` to the nearest."""

def RoIData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Images, their sizes and objects for a net that proposes regions; otherwise images, regions, labels, box targets.

    What it reads and how is in param_str, by py-faster-rcnn's names. Until the data are open nothing says how large
    images are, so the shapes are those that py-faster-rcnn begins with: 600 x 1000, one image and an object for a net
    with proposals, two images and 128 regions for one without.
    """

def RpnAnchorTarget(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Labels of all anchors (1 object, 0 background, -1 neither), box targets, and their inside and outside weights.

    Bottoms are scores, of which only the size is read, objects (x1, y1, x2, y2, label), the image's height, width and
    scale, and the image. An anchor is an object if it overlaps with one enough, or more than any other anchor does.
    """

def RpnProposal(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Regions (0, x1, y1, x2, y2) and their scores, best first, without those that overlap with better ones.

    Bottoms are scores (background first), box predictions, and the image's height, width and scale. How many regions
    there are is known only when it runs; until then the shape says as many as there may be.
    """

def RpnProposalTarget(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Regions, their labels, and the box targets of each region's class with inside and outside weights.

    Bottoms are regions of one image and objects (x1, y1, x2, y2, label), which are regions too. Regions are chosen by
    chance; how many is known only when it runs, and until then the shapes say a full batch. With two classes, as in
    R-FCN, all objects are of the second as far as boxes go. py-faster-rcnn's rule: a net that proposes regions has
    means and deviations that are known beforehand, unless it learns box targets as they are.
    """

def SPP(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    pyramid_height: int = ...,
    pool: SPPParameterPoolMethodName = ...,
    engine: SPPParameterEngineName = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Pooling into 1 x 1, 2 x 2, 4 x 4 ... bins, all in a row."""

def Scale(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    axis: int = ...,
    num_axes: int = ...,
    filler: FillerParameterDict | pb.FillerParameter = ...,
    bias_term: bool = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter = ...,
    min_value: float = ...,
    max_value: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """x * scale + bias, where the scale is learned or is the second bottom, and lies along the axes from `axis` on."""

def SeLU(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    alpha: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """lambda * x where x is positive, and lambda * alpha * (exp(x) - 1) elsewhere."""

def SeLUDropout(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    dropout_ratio: float = ...,
    alpha: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """While training, values left out become alpha, and all are scaled and shifted to make up for it."""

def SeLu(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    alpha: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """lambda * x where x is positive, and lambda * alpha * (exp(x) - 1) elsewhere."""

def SeLuDropout(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    dropout_ratio: float = ...,
    alpha: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """While training, values left out become alpha, and all are scaled and shifted to make up for it."""

def SegAccuracy(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    metric: SegAccuracyParameterAccuracyMetricName = ...,
    ignore_label: int | Sequence[int] = ...,
    reset: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Three numbers: accuracy, mean recall of the classes that are there, mean intersection over union of all classes.

    With `reset: false` pixels are counted from the first batch on. A class that is neither labelled nor found has an
    intersection over union of 1.
    """

def SegmentationEvaluate(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_classes: int = ...,
    threshold: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Intersection over union of each channel of the first item, where both are above a threshold.

    A prediction of another size is resized as an image of bytes; a class that is neither labelled nor found has -1
    then, and 0 otherwise.
    """

def ShuffleChannel(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    group: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Channel k of group g goes to place k * groups + g. The top has four axes: those that are missing are 1 long."""

def Sigmoid(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: SigmoidParameterEngineName = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """1 / (1 + exp(-x))."""

def SigmoidCrossEntropyLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: SigmoidParameterEngineName = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """-t log s(x) - (1 - t) log(1 - s(x)), summed; unless told otherwise it is divided by the batch size only.

    In HED's fork the edges of an image, of which there are few, weigh as much as all else: each is multiplied by the
    share of the places with 0, and each of these by the share of those with 1.
    """

def Silence(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """It has no top."""

def Slice(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    axis: int = ...,
    slice_point: int | Sequence[int] = ...,
    slice_dim: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Cut at every `slice_point`, or into equal parts."""

def SmoothL1Loss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    sigma: float = ...,
    abssum: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The sum of smooth L1 of the differences of two bottoms, divided by the batch.

    A third bottom weighs the differences, a fourth the losses. Caffe's rule: without the fourth the gradient doesn't
    have the weights of the third, unless `abssum: false` says so. The first R-FCN has a second top, the sums over
    channels, which gets no gradient, and normalises as SmoothL1LossOHEM. Intel's `normalization: NONE` divides by
    nothing; others know none. Without a `loss_weight` it weighs 1, and 0 in forks that are made from Faster R-CNN.
    """

def SmoothL1LossOHEM(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The sum of smooth L1 of the differences of two bottoms, which a third may weigh, normalised.

    The second top has the sums over channels; it gets no gradient. Caffe's rule: the gradient doesn't have the weights,
    and without a `loss_weight` the loss weighs 0.
    """

def Softmax(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: SoftmaxParameterEngineName = ...,
    axis: int = ...,
    hard_ratio: float = ...,
    class_weight: float | Sequence[float] = ...,
    hard_mining_label: int = ...,
    cutting_point: float = ...,
    normalize_type: str = ...,
    label_smooth_factor: float = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """exp(x), divided by its sum along an axis."""

def SoftmaxWithLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: SoftmaxParameterEngineName = ...,
    axis: int = ...,
    hard_ratio: float = ...,
    class_weight: float | Sequence[float] = ...,
    hard_mining_label: int = ...,
    cutting_point: float = ...,
    normalize_type: str = ...,
    label_smooth_factor: float = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """-log softmax(x)[label], times the weight that SegNet's `class_weighting` gives to the class, then normalised.

    The first R-FCN has a third top, the loss of every place before it is normalised, without a gradient. It has the
    labels' shape; or if labels have but one axis, 4 axes, as SmoothL1Loss has them: R-FCN's own labels have 4.
    """

def SoftmaxWithLossOHEM(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: SoftmaxParameterEngineName = ...,
    axis: int = ...,
    hard_ratio: float = ...,
    class_weight: float | Sequence[float] = ...,
    hard_mining_label: int = ...,
    cutting_point: float = ...,
    normalize_type: str = ...,
    label_smooth_factor: float = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """SoftmaxWithLoss, whose third top has the losses to be added to those of SmoothL1LossOHEM."""

def SpaceToBatchND(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    block_shape: int | Sequence[int] = ...,
    paddings: int | Sequence[int] = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The axes after the batch are padded with 0, and taken apart in blocks of `block_shape`.

    Item `place * batch + n` has what is at that place of every block of item n.
    """

def SpatialDropout(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    dropout_ratio: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """x * mask / (1 - ratio), with one random bit for every channel of every item; in TEST the bottom itself.

    The ratio is in `spatial_dropout_param` or, in Intel's fork, in `dropout_param`. The Python layer of ENet is this
    one too; its `param_str` has the ratio and a phase of its own, and in TEST it multiplies all the same.
    """

def Split(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Every top is the bottom."""

def Squeeze(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    axis: int | Sequence[int] = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Takes away the axes that are named, or all of size one if none is."""

def Swish(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    beta: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """x * sigmoid(beta * x)."""

def Switch(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The last bottom. rtpose's program can choose another one while it runs; a net can't."""

def TanH(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: TanHParameterEngineName = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """tanh(x)."""

def Threshold(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    threshold: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """1 where x > threshold, else 0."""

def Tile(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    axis: int = ...,
    tiles: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """`tiles` copies of the bottom, one behind the other."""

def Unpooling(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    unpool: UnPoolingParameterUnPoolMethodName = ...,
    out_pad: int = ...,
    out_pad_h: int = ...,
    out_pad_w: int = ...,
    out_kernel_size: int = ...,
    out_kernel_h: int = ...,
    out_kernel_w: int = ...,
    out_stride: int = ...,
    out_stride_h: int = ...,
    out_stride_w: int = ...,
    engine: UnPoolingParameterEngineName = ...,
    unpool_size: int = ...,
    unpool_h: int = ...,
    unpool_w: int = ...,
    kernel_size: int = ...,
    stride: int = ...,
    pad: int = ...,
    kernel_h: int = ...,
    kernel_w: int = ...,
    stride_h: int = ...,
    stride_w: int = ...,
    pad_h: int = ...,
    pad_w: int = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Zeros with the bottom's values at the places that a pooling's mask says, the second bottom; without one at the
    corners of the windows.

    AVE spreads a value over its window in equal parts, and TILE repeats it there; where windows overlap, they add up.
    The fork's rule: the gradient of TILE is that of AVE.
    """

def Upsample(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    scale: int = ...,
    scale_h: int = ...,
    scale_w: int = ...,
    pad_out_h: bool = ...,
    pad_out_w: bool = ...,
    upsample_h: int = ...,
    upsample_w: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """SegNet's undoes a pooling whose mask is the second bottom; YOLO's has one bottom and repeats every pixel.

    Without a `scale`, SegNet's doubles the size, and YOLO's keeps it.
    """

def UpsampleDarknet(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    stride: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Height and width become `stride` times as large."""

def VideoData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    video_type: VideoDataParameterVideoTypeName = ...,
    device_id: int = ...,
    video_file: str = ...,
    skip_frames: int = ...,
    source: str = ...,
    batch_size: int = ...,
    rand_skip: int = ...,
    shuffle: bool = ...,
    new_height: int = ...,
    new_width: int = ...,
    new_length: int = ...,
    num_segments: int = ...,
    modality: VideoDataParameterModalityName = ...,
    name_pattern: str = ...,
    encoded: bool = ...,
    grayscale: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """A frame, and a number if there is a second top.

    SSD's has its batch_size in data_param. The type of this name in TSN has it among its own settings; its items are
    `num_segments` times `new_length` frames of a video, one behind the other in the channels. Such a frame is an image
    if the modality is RGB, and how far things move across and down if it is FLOW, as it is where nothing is said.
    """

def WindowData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    source: str = ...,
    scale: float = ...,
    mean_file: str = ...,
    batch_size: int = ...,
    crop_size: int = ...,
    mirror: bool = ...,
    fg_threshold: float = ...,
    bg_threshold: float = ...,
    fg_fraction: float = ...,
    context_pad: int = ...,
    crop_mode: str = ...,
    cache_images: bool = ...,
    root_folder: str = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """An image of crop_size, and a number."""

def WindowSegData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    source: str = ...,
    batch_size: int = ...,
    rand_skip: int = ...,
    shuffle: bool = ...,
    new_height: int = ...,
    new_width: int = ...,
    is_color: bool = ...,
    scale: float = ...,
    mean_file: str = ...,
    crop_size: int = ...,
    mirror: bool = ...,
    root_folder: str = ...,
    ignore_label: int = ...,
    label_type: ImageDataParameterLabelTypeName = ...,
    min_height: int = ...,
    min_width: int = ...,
    short_side: int = ...,
    threads: int = ...,
    cache: bool = ...,
    precache: bool = ...,
    dataset_share_per_node: float = ...,
    face_transform: bool = ...,
    max_shear_ratio: float = ...,
    max_aspect_ratio: float = ...,
    max_rotate_angle: float = ...,
    min_random_scale: float = ...,
    max_random_scale: float = ...,
    max_random_shift: int = ...,
    face_mirror: bool = ...,
    face_point_num: int = ...,
    balance_class: bool = ...,
    balance_by: int = ...,
    label_cut_start: int = ...,
    label_cut_end: int = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """A part of an image, and a map of its size. A line of the list ends with the part's corners, x1 y1 x2 y2."""

def YoloDetectionOutput(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    side: int = ...,
    num_classes: int = ...,
    num_box: int = ...,
    coords: int = ...,
    confidence_threshold: float = ...,
    nms_threshold: float = ...,
    biases: float | Sequence[float] = ...,
    label_map_file: str = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Every box has its likeliest class; a box that a better one of any class overlaps is left out.

    A box's score is its objectness times its class's probability. Each bottom is a grid with the same anchors. Caffe
    mixes the items of a batch; here each has its own detections.
    """

def YoloSeg(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_class: int = ...,
    object_scale: float = ...,
    class_scale: float = ...,
    use_logic_gradient: bool = ...,
    use_hardsigmoid: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The sum of squares of sigmoid(x) - label, weighed, over the number of items; that difference is sent back.

    The third bottom has how many pixels each class has in each item; what is labelled then weighs more the rarer its
    class is.
    """

def Yolov3(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    side: int = ...,
    num_class: int = ...,
    num: int = ...,
    object_scale: float = ...,
    class_scale: float = ...,
    noobject_scale: float = ...,
    coord_scale: float = ...,
    thresh: float = ...,
    anchors_scale: int = ...,
    biases: float | Sequence[float] = ...,
    mask: int | Sequence[int] = ...,
    use_logic_gradient: bool = ...,
    use_focal_loss: bool = ...,
    iou_loss: Yolov3ParameterIOU_LOSSName = ...,
    iou_normalizer: float = ...,
    iou_thresh: float = ...,
    max_delta: float = ...,
    accumulate: bool = ...,
    label_smooth_eps: float = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """The sum of squares of what is sent back: objectness, and box and classes where truths match anchors.

    A truth matches the anchor that fits its size best, and every other one that fits better than `iou_thresh`, as far
    as `mask` says that they are this layer's. Labels have rows of class, x, y, width and height, until a zero.
    With an `iou_loss` other than MSE, boxes add how far they are from their truths instead of squares.
    """

def Yolov3DetectionOutput(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_classes: int = ...,
    num_box: int = ...,
    confidence_threshold: float = ...,
    nms_threshold: float = ...,
    biases: float | Sequence[float] = ...,
    anchors_scale: int | Sequence[int] = ...,
    mask_group_num: int = ...,
    mask: int | Sequence[int] = ...,
    gaussian_box: bool = ...,
    engine: str = ...,
    nms_param: NmsParameterDict | pb.NmsParameter = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """A box may have several classes; one that a better one of any class overlaps is left out.

    A score is objectness times a class's own probability. Bottom number i has the anchors of the i-th part of `mask`
    and cells of `anchors_scale` number i pixels. With `gaussian_box` every coordinate is followed by how uncertain it
    is, which lowers the score. Caffe mixes the items of a batch; here each has its own detections.
    """
