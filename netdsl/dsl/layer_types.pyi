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
    "CropCenter",
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
    "PriorBoxClustered",
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
    top_height: int | None
    top_width: int | None
    size_divisible_by: int | None
    have_reference: bool | None

class AccuracyParameterDict(TypedDict, total=False):
    top_k: int | None
    axis: int | None
    ignore_label: int | None
    min_is_better: bool | None
    denominator: float | None

class AccuracyRegressionParameterDict(TypedDict, total=False):
    top_k: int | None

class AdaptiveBiasChannelParameterDict(TypedDict, total=False):
    num_iter: int | None
    bg_portion: float | None
    fg_portion: float | None
    suppress_others: bool | None
    margin_others: float | None

class AffinityParameterDict(TypedDict, total=False):
    offset: int | Sequence[int] | None

class AnnotatedDataParameterDict(TypedDict, total=False):
    batch_sampler: BatchSamplerDict | pb.BatchSampler | Sequence[BatchSamplerDict | pb.BatchSampler] | None
    label_map_file: str | None
    anno_type: AnnotatedDatumAnnotationTypeName | None
    yolo_data_type: int | None
    yolo_data_jitter: float | None
    train_diffcult: bool | None
    single_class: bool | None
    seg_scales: int | None
    seg_resize_width: int | None
    seg_resize_height: int | None
    difficult_label_warmup: bool | None

class ArgMaxParameterDict(TypedDict, total=False):
    out_max_val: bool | None
    top_k: int | None
    axis: int | None
    min_first: bool | None

class AugmentationParameterDict(TypedDict, total=False):
    crop_width: int | None
    crop_height: int | None
    write_augmented: str | None
    max_multiplier: float | None
    augment_during_test: bool | None
    recompute_mean: int | None
    write_mean: str | None
    mean_per_pixel: bool | None
    mean: float | Sequence[float] | None
    mode: str | None
    bottomwidth: int | None
    bottomheight: int | None
    num: int | None
    chromatic_eigvec: float | Sequence[float] | None
    mirror: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    translate: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    rotate: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    zoom: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    squeeze: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    translate_x: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    translate_y: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    gamma: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    brightness: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    contrast: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    color: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    lmult_pow: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    lmult_mult: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    lmult_add: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    sat_pow: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    sat_mult: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    sat_add: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    col_pow: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    col_mult: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    col_add: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    ladd_pow: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    ladd_mult: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    ladd_add: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    col_rotate: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    fog_amount: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    fog_size: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    motion_blur_angle: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    motion_blur_size: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    shadow_angle: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    shadow_distance: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    shadow_strength: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    noise: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None

class BNParameterDict(TypedDict, total=False):
    slope_filler: FillerParameterDict | pb.FillerParameter | None
    bias_filler: FillerParameterDict | pb.FillerParameter | None
    momentum: float | None
    eps: float | None
    frozen: bool | None
    engine: BNParameterEngineName | None
    bn_mode: BNParameterBNModeName | None
    scale_filler: FillerParameterDict | pb.FillerParameter | None
    shift_filler: FillerParameterDict | pb.FillerParameter | None
    var_eps: float | None
    moving_average: bool | None
    decay: float | None
    across_spatial: bool | None
    icnet: bool | None

class BatchContrastiveParameterDict(TypedDict, total=False):
    positive_margin: float | None
    negative_margin: float | None
    positive_weight: float | None
    negative_weight: float | None
    max_only: bool | None

class BatchNormParameterDict(TypedDict, total=False):
    use_global_stats: bool | None
    moving_average_fraction: float | None
    eps: float | None
    update_global_stats: bool | None
    engine: BatchNormParameterEngineName | None
    use_weight_bias: bool | None
    bias_term: bool | None
    filler: FillerParameterDict | pb.FillerParameter | None
    bias_filler: FillerParameterDict | pb.FillerParameter | None
    stats_batch_size: int | None
    relu: bool | None
    scale_filler: FillerParameterDict | pb.FillerParameter | None
    scale_bias: bool | None
    disable_mean: bool | None
    disable_variance: bool | None
    fused_relu: bool | None
    add_eps_before_sqrt: bool | None
    icnet: bool | None

class BatchReductionParameterDict(TypedDict, total=False):
    pass

class BatchSamplerDict(TypedDict, total=False):
    use_original_image: bool | None
    sampler: SamplerDict | pb.Sampler | None
    sample_constraint: SampleConstraintDict | pb.SampleConstraint | None
    max_sample: int | None
    max_trials: int | None

class BatchToSpaceNDParameterDict(TypedDict, total=False):
    block_shape: int | Sequence[int] | None
    crops: int | Sequence[int] | None

class BiasChannelParameterDict(TypedDict, total=False):
    bg_bias: float | None
    fg_bias: float | None
    ignore_label: int | Sequence[int] | None
    label_type: BiasChannelParameterLabelTypeName | None
    background_label: int | None

class BiasParameterDict(TypedDict, total=False):
    axis: int | None
    num_axes: int | None
    filler: FillerParameterDict | pb.FillerParameter | None

class BinaryAccuracyParameterDict(TypedDict, total=False):
    accuracy_mode: BinaryAccuracyParameterAccuracyModeName | None

class BlackAugmentationParameterDict(TypedDict, total=False):
    black: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None
    border: RandomGeneratorParameterDict | pb.RandomGeneratorParameter | None

class BlobProtoDict(TypedDict, total=False):
    shape: BlobShapeDict | pb.BlobShape | None
    data: float | Sequence[float] | None
    diff: float | Sequence[float] | None
    double_data: float | Sequence[float] | None
    double_diff: float | Sequence[float] | None
    num: int | None
    channels: int | None
    height: int | None
    width: int | None
    raw_data_type: TypeName | None
    raw_diff_type: TypeName | None
    raw_data: bytes | None
    raw_diff: bytes | None
    data_type: DataTypeName | None
    shape_stride: BlobShapeDict | pb.BlobShape | None
    packed_data: bytes | None
    packed_diff: bytes | None

class BlobShapeDict(TypedDict, total=False):
    dim: int | Sequence[int] | None

class BoxAnnotatorOHEMParameterDict(TypedDict, total=False):
    roi_per_img: int | None
    ignore_label: int | None

class BroadcastToParameterDict(TypedDict, total=False):
    pass

class CPMDataParameterDict(TypedDict, total=False):
    source: str | None
    scale: float | None
    mean_file: str | None
    batch_size: int | None
    crop_size: int | None
    mirror: bool | None
    rand_skip: int | None
    backend: CPMDataParameterDBName | None
    force_encoded_color: bool | None
    prefetch: int | None
    lbl_source: str | None

class CPMTransformationParameterDict(TypedDict, total=False):
    scale: float | None
    mirror: bool | None
    crop_size: int | None
    mean_file: str | None
    mean_value: float | Sequence[float] | None
    stride: int | None
    scale_cvg: float | None
    max_cvg_len: int | None
    min_cvg_len: int | None
    opaque_coverage: bool | None
    coverage: str | None
    flip_prob: float | None
    max_rotate_degree: float | None
    visualize: bool | None
    crop_size_x: int | None
    crop_size_y: int | None
    scale_prob: float | None
    scale_min: float | None
    scale_max: float | None
    bbox_norm_factor: float | None
    img_header: str | None
    force_color: bool | None
    force_gray: bool | None
    target_dist: float | None
    center_perterb_max: float | None
    sigma: float | None
    sigma_center: float | None
    clahe_tile_size: float | None
    clahe_clip_limit: float | None
    do_clahe: bool | None
    num_parts: int | None
    num_total_augs: int | None
    aug_way: str | None
    gray: int | None
    np_in_lmdb: int | None
    transform_body_joint: bool | None

class CenterLossParameterDict(TypedDict, total=False):
    num_output: int | None
    center_filler: FillerParameterDict | pb.FillerParameter | None
    axis: int | None
    distance_type: str | None

class ChannelScaleParameterDict(TypedDict, total=False):
    do_forward: bool | None
    do_backward_feature: bool | None
    do_backward_scale: bool | None
    global_scale: bool | None
    max_global_scale: float | None
    min_global_scale: float | None
    init_global_scale: float | None

class ClipParameterDict(TypedDict, total=False):
    min: float | None
    max: float | None

class CoeffScheduleParameterDict(TypedDict, total=False):
    half_life: float | None
    initial_coeff: float | None
    final_coeff: float | None

class ColorConvParameterDict(TypedDict, total=False):
    pass

class CompileNetStateDict(TypedDict, total=False):
    is_init: bool | None
    bn_scale_remove: bool | None
    bn_scale_merge: bool | None
    kept_bn_layers: str | Sequence[str] | None
    negative_conv_names: str | Sequence[str] | None
    negative_conv_indexes: int | Sequence[int] | None

class ConcatParameterDict(TypedDict, total=False):
    axis: int | None
    concat_dim: int | None
    per_fla_fuse: bool | None
    engine: ConcatParameterEngineName | None

class ConfidencePenaltyLossParameterDict(TypedDict, total=False):
    beta: float | None

class ContrastiveLossParameterDict(TypedDict, total=False):
    margin: float | None
    legacy_version: bool | None

class ConvolutionParameterDict(TypedDict, total=False):
    num_output: int | None
    bias_term: bool | None
    pad: int | Sequence[int] | None
    kernel_size: int | Sequence[int] | None
    stride: int | Sequence[int] | None
    dilation: int | Sequence[int] | None
    pad_h: int | None
    pad_w: int | None
    kernel_h: int | None
    kernel_w: int | None
    stride_h: int | None
    stride_w: int | None
    group: int | None
    weight_filler: FillerParameterDict | pb.FillerParameter | None
    bias_filler: FillerParameterDict | pb.FillerParameter | None
    engine: ConvolutionParameterEngineName | None
    axis: int | None
    force_nd_im2col: bool | None
    relu: bool | None
    negative_slope: float | None
    conv_algorithm: str | None
    coeff: float | Sequence[float] | None
    fusion_type: ConvolutionParameterFusionTypeName | None
    cudnn_convolution_algo_seeker: ConvolutionParameterCuDNNConvolutionAlgorithmSeekerName | None
    conv_algos_override: str | None
    filter_stride: int | None
    filter_stride_h: int | None
    filter_stride_w: int | None
    shape_offset: int | Sequence[int] | None
    fuse_type: ConvolutionParameterFuseTypeName | None
    eltwise_param: EltwiseParameterDict | pb.EltwiseParameter | None
    relu_param: ReLUParameterDict | pb.ReLUParameter | None
    dilation_h: int | None
    dilation_w: int | None
    pad_type: int | None
    pad_l: int | None
    pad_r: int | None
    pad_t: int | None
    pad_b: int | None
    input_scale: float | None
    output_scale: float | None
    saturate: ConvolutionParameterSaturateMethodName | None
    weight_fixed: bool | None
    dis_mode: bool | None
    gen_mode: bool | None
    mem_group_size: int | None

class CorrelationParameterDict(TypedDict, total=False):
    pad: int | None
    kernel_size: int | None
    max_displacement: int | None
    stride_1: int | None
    stride_2: int | None
    single_direction: int | None
    do_abs: bool | None
    correlation_type: CorrelationParameterCorrelationTypeName | None

class CropAndResizeParameterDict(TypedDict, total=False):
    pass

class CropCenterParameterDict(TypedDict, total=False):
    crop_size: int | Sequence[int] | None

class CropParameterDict(TypedDict, total=False):
    axis: int | None
    offset: int | Sequence[int] | None

class DataParameterDict(TypedDict, total=False):
    source: str | None
    batch_size: int | None
    rand_skip: int | None
    backend: DataParameterDBName | None
    scale: float | None
    mean_file: str | None
    crop_size: int | None
    mirror: bool | None
    force_encoded_color: bool | None
    prefetch: int | None
    shuffle: bool | None
    side: int | Sequence[int] | None
    threads: int | None
    parser_threads: int | None
    cache: bool | None
    precache: bool | None
    shuffle_buffer_size: int | None
    disk_reader_threads: int | None
    huge_video_dataset: bool | None
    limit_samples: int | None
    preselection_file: str | None
    preselection_label: int | None
    range_start: int | None
    range_end: int | None
    rand_permute: bool | None
    rand_permute_order: DataParameterRANDPERMORDERName | None
    rand_permute_seed: int | None
    slice_point: int | Sequence[int] | None
    encoding: DataParameterCHANNELENCODINGName | Sequence[DataParameterCHANNELENCODINGName] | None
    verbose: bool | None
    subtract: float | Sequence[float] | None
    permute_every_iter: int | None
    block_size: int | None
    transform_param: TransformationParameterDict | pb.TransformationParameter | None

class DenseCRFParameterDict(TypedDict, total=False):
    max_iter: int | None
    pos_xy_std: float | Sequence[float] | None
    pos_w: float | Sequence[float] | None
    bi_xy_std: float | Sequence[float] | None
    bi_rgb_std: float | Sequence[float] | None
    bi_w: float | Sequence[float] | None
    output_probability: bool | None

class DenseImageDataParameterDict(TypedDict, total=False):
    source: str | None
    batch_size: int | None
    rand_skip: int | None
    shuffle: bool | None
    new_height: int | None
    new_width: int | None
    is_color: bool | None
    mean_file: str | None
    root_folder: str | None
    mirror: bool | None
    crop_width: int | None
    crop_height: int | None

class DepthToSpaceParameterDict(TypedDict, total=False):
    block_size: int | None
    data_format: str | None

class DetectNetAugmentationParameterDict(TypedDict, total=False):
    crop_prob: float | None
    shift_x: int | None
    shift_y: int | None
    scale_prob: float | None
    scale_min: float | None
    scale_max: float | None
    flip_prob: float | None
    rotation_prob: float | None
    max_rotate_degree: float | None
    hue_rotation_prob: float | None
    hue_rotation: float | None
    desaturation_prob: float | None
    desaturation_max: float | None
    resize_param: ResizeParameterDict | pb.ResizeParameter | None
    noise_param: NoiseParameterDict | pb.NoiseParameter | None
    distort_param: DistortionParameterDict | pb.DistortionParameter | None
    expand_param: ExpansionParameterDict | pb.ExpansionParameter | None
    emit_constraint: EmitConstraintDict | pb.EmitConstraint | None

class DetectNetGroundTruthParameterDict(TypedDict, total=False):
    stride: int | None
    scale_cvg: float | None
    gridbox_type: DetectNetGroundTruthParameterGridboxTypeName | None
    max_cvg_len: int | None
    min_cvg_len: int | None
    coverage_type: DetectNetGroundTruthParameterCoverageTypeName | None
    image_size_x: int | None
    image_size_y: int | None
    obj_norm: bool | None
    crop_bboxes: bool | None
    object_class: DetectNetGroundTruthParameterClassMappingDict | pb.DetectNetGroundTruthParameter.ClassMapping | Sequence[DetectNetGroundTruthParameterClassMappingDict | pb.DetectNetGroundTruthParameter.ClassMapping] | None

class DetectNetGroundTruthParameterClassMappingDict(TypedDict, total=False):
    src: int | None
    dst: int | None

class DetectionEvaluateParameterDict(TypedDict, total=False):
    num_classes: int | None
    background_label_id: int | None
    overlap_threshold: float | None
    evaluate_difficult_gt: bool | None
    name_size_file: str | None
    resize_param: ResizeParameterDict | pb.ResizeParameter | None

class DetectionOutputParameterDict(TypedDict, total=False):
    num_classes: int | None
    share_location: bool | None
    background_label_id: int | None
    nms_param: NonMaximumSuppressionParameterDict | pb.NonMaximumSuppressionParameter | None
    save_output_param: SaveOutputParameterDict | pb.SaveOutputParameter | None
    code_type: PriorBoxParameterCodeTypeName | None
    variance_encoded_in_target: bool | None
    keep_top_k: int | None
    confidence_threshold: float | None
    visualize: bool | None
    visualize_threshold: float | None
    save_file: str | None
    objectness_score: float | None

class DistortionParameterDict(TypedDict, total=False):
    brightness_prob: float | None
    brightness_delta: float | None
    contrast_prob: float | None
    contrast_lower: float | None
    contrast_upper: float | None
    hue_prob: float | None
    hue_delta: float | None
    saturation_prob: float | None
    saturation_lower: float | None
    saturation_upper: float | None
    random_order_prob: float | None

class DomainTransformParameterDict(TypedDict, total=False):
    num_iter: int | None
    spatial_sigma: float | None
    range_sigma: float | None
    min_weight: float | None

class DownsampleParameterDict(TypedDict, total=False):
    top_height: int | None
    top_width: int | None

class DropoutParameterDict(TypedDict, total=False):
    dropout_ratio: float | None
    scale_train: bool | None
    sample_weights_test: bool | None
    engine: DropoutParameterEngineName | None
    random_seed: int | None
    sqrt_scale: bool | None

class DummyDataParameterDict(TypedDict, total=False):
    data_filler: FillerParameterDict | pb.FillerParameter | Sequence[FillerParameterDict | pb.FillerParameter] | None
    shape: BlobShapeDict | pb.BlobShape | Sequence[BlobShapeDict | pb.BlobShape] | None
    num: int | Sequence[int] | None
    channels: int | Sequence[int] | None
    height: int | Sequence[int] | None
    width: int | Sequence[int] | None

ELUParameterDict = TypedDict(
    "ELUParameterDict",
    {
        "alpha": float | None,
        "lambda": float | None,
    },
    total=False,
)

class EltwiseAccuracyParameterDict(TypedDict, total=False):
    top_k: int | None
    ignore_label: int | None

class EltwiseAffineParameterDict(TypedDict, total=False):
    slope_filler: FillerParameterDict | pb.FillerParameter | None
    bias_filler: FillerParameterDict | pb.FillerParameter | None
    channel_shared: bool | None

class EltwiseParameterDict(TypedDict, total=False):
    operation: EltwiseParameterEltwiseOpName | None
    coeff: float | Sequence[float] | None
    stable_prod_grad: bool | None
    engine: EltwiseParameterEngineName | None
    coeff_blob: bool | None

class EmbedParameterDict(TypedDict, total=False):
    num_output: int | None
    input_dim: int | None
    bias_term: bool | None
    weight_filler: FillerParameterDict | pb.FillerParameter | None
    bias_filler: FillerParameterDict | pb.FillerParameter | None

class EmbeddingLookupParameterDict(TypedDict, total=False):
    pass

class EmbeddingLookupSparseParameterDict(TypedDict, total=False):
    pass

class EmitConstraintDict(TypedDict, total=False):
    emit_type: EmitConstraintEmitTypeName | None
    emit_overlap: float | None

class EvalDetectionParameterDict(TypedDict, total=False):
    side: int | None
    num_class: int | None
    num_object: int | None
    threshold: float | None
    sqrt: bool | None
    constriant: bool | None
    score_type: EvalDetectionParameterScoreTypeName | None
    nms: float | None
    biases: float | Sequence[float] | None

class ExpParameterDict(TypedDict, total=False):
    base: float | None
    scale: float | None
    shift: float | None

class ExpandDimsNDParameterDict(TypedDict, total=False):
    pass

class ExpansionParameterDict(TypedDict, total=False):
    prob: float | None
    max_expand_ratio: float | None

class FCNDataParameterDict(TypedDict, total=False):
    template_h: int | None
    template_w: int | None
    expand_left: float | None
    expand_right: float | None
    expand_top: float | None
    expand_bottom: float | None
    roi_multiply_h: float | None
    roi_multiply_w: float | None
    scale_step: float | None
    scale_step_num: int | None
    gaussian_size_h: int | None
    gaussian_size_w: int | None
    gaussian_std_h: float | None
    gaussian_std_w: float | None
    use_hog: bool | None
    hog_cell_size: int | None
    min_iou: float | None

class FeatureDecayLossParameterDict(TypedDict, total=False):
    decay_threshold: float | None
    force_decay: bool | None

class FillerParameterDict(TypedDict, total=False):
    type: str | None
    value: float | None
    min: float | None
    max: float | None
    mean: float | None
    std: float | None
    sparse: int | None
    variance_norm: FillerParameterVarianceNormName | None
    scale: float | None
    diag_val: float | Sequence[float] | None
    alpha: float | None

class FlattenParameterDict(TypedDict, total=False):
    axis: int | None
    end_axis: int | None

class FlipParameterDict(TypedDict, total=False):
    flip_width: bool | None
    flip_height: bool | None

class FlowWarpParameterDict(TypedDict, total=False):
    fill_value: FlowWarpParameterFillParameterName | None

class FocalLossParameterDict(TypedDict, total=False):
    type: FocalLossParameterTypeName | None
    gamma: float | None
    alpha: float | None
    beta: float | None

class GANLossParameterDict(TypedDict, total=False):
    pass

class GatherNdParameterDict(TypedDict, total=False):
    pass

class GatherParameterDict(TypedDict, total=False):
    pass

class GemmParameterDict(TypedDict, total=False):
    pass

class GeneralContrastiveParameterDict(TypedDict, total=False):
    positive_margin: float | None
    negative_margin: float | None
    positive_weight: float | None
    negative_weight: float | None
    normalize_negative: float | None
    positive_outlier_thresh: float | None
    square: bool | None
    max_negative_only: bool | None
    max_positive_only: bool | None
    positive_first: bool | None
    positive_upper_bound: float | None
    exp_negative_weight: bool | None
    add_intra_mae: bool | None
    max_negative_margin: float | None

class GeneralTripletParameterDict(TypedDict, total=False):
    margin: float | None
    add_center_loss: bool | None
    hardest_only: bool | None
    positive_first: bool | None
    positive_upper_bound: float | None
    positive_weight: float | None
    negative_weight: float | None

class HDF5DataParameterDict(TypedDict, total=False):
    source: str | None
    batch_size: int | None
    shuffle: bool | None

class HDF5OutputParameterDict(TypedDict, total=False):
    file_name: str | None

class HardSigmoidParameterDict(TypedDict, total=False):
    pass

class HeatmapDataParameterDict(TypedDict, total=False):
    segmentation: bool | None
    multfact: int | None
    num_channels: int | None
    batchsize: int | None
    root_img_dir: str | None
    random_crop: bool | None
    sample_per_cluster: bool | None
    labelinds: str | None
    source: str | None
    meanfile: str | None
    crop_meanfile: str | None
    cropsize: int | None
    outsize: int | None
    scale: float | None
    label_width: int | None
    label_height: int | None
    dont_flip_first: bool | None
    angle_max: float | None
    flip_joint_labels: bool | None

class HingeLossParameterDict(TypedDict, total=False):
    norm: HingeLossParameterNormName | None

class HotspotParameterDict(TypedDict, total=False):
    gaussian_std: float | None
    output_height: int | None
    output_width: int | None
    data_height: int | None
    data_width: int | None
    mean_removed: bool | None

class ImResizeParameterDict(TypedDict, total=False):
    target_spatial_width: int | None
    target_spatial_height: int | None
    factor: float | None
    start_scale: float | None
    scale_gap: float | None

class ImageDataParameterDict(TypedDict, total=False):
    source: str | None
    batch_size: int | None
    rand_skip: int | None
    shuffle: bool | None
    new_height: int | None
    new_width: int | None
    is_color: bool | None
    scale: float | None
    mean_file: str | None
    crop_size: int | None
    mirror: bool | None
    root_folder: str | None
    ignore_label: int | None
    label_type: ImageDataParameterLabelTypeName | None
    min_height: int | None
    min_width: int | None
    short_side: int | None
    threads: int | None
    cache: bool | None
    precache: bool | None
    dataset_share_per_node: float | None
    face_transform: bool | None
    max_shear_ratio: float | None
    max_aspect_ratio: float | None
    max_rotate_angle: float | None
    min_random_scale: float | None
    max_random_scale: float | None
    max_random_shift: int | None
    face_mirror: bool | None
    face_point_num: int | None
    balance_class: bool | None
    balance_by: int | None
    label_cut_start: int | None
    label_cut_end: int | None
    transform_param: TransformationParameterDict | pb.TransformationParameter | None

class ImportParameterDict(TypedDict, total=False):
    net: str | None
    var: ImportVariableDict | pb.ImportVariable | Sequence[ImportVariableDict | pb.ImportVariable] | None

class ImportVariableDict(TypedDict, total=False):
    name: str | None
    value: str | None

class InfimumLossParamterDict(TypedDict, total=False):
    infimum: float | None

class InfogainLossParameterDict(TypedDict, total=False):
    source: str | None
    axis: int | None

class InnerDistanceParameterDict(TypedDict, total=False):
    num_output: int | None
    bias_term: bool | None
    weight_filler: FillerParameterDict | pb.FillerParameter | None
    bias_filler: FillerParameterDict | pb.FillerParameter | None
    axis: int | None
    transpose: bool | None
    distance_type: str | None
    normalize: bool | None
    update_center_only: bool | None

class InnerProductParameterDict(TypedDict, total=False):
    num_output: int | None
    bias_term: bool | None
    weight_filler: FillerParameterDict | pb.FillerParameter | None
    bias_filler: FillerParameterDict | pb.FillerParameter | None
    axis: int | None
    transpose: bool | None
    engine: InnerProductParameterEngineName | None
    relu: bool | None
    negative_slope: float | None
    normalize: bool | None

class InputParameterDict(TypedDict, total=False):
    shape: BlobShapeDict | pb.BlobShape | Sequence[BlobShapeDict | pb.BlobShape] | None

class InsanityParameterDict(TypedDict, total=False):
    lb: float | None
    ub: float | None

class InterpParameterDict(TypedDict, total=False):
    height: int | None
    width: int | None
    zoom_factor: int | None
    shrink_factor: int | None
    pad_beg: int | None
    pad_end: int | None
    full_zoom_factor: int | None

class L1LossParameterDict(TypedDict, total=False):
    l2_per_location: bool | None
    l2_prescale_by_channels: bool | None
    normalize_by_num_entries: bool | None
    epsilon: float | None
    plateau: float | None

class LRNMapParameterDict(TypedDict, total=False):
    local_size: int | None
    alpha: float | None
    beta: float | None

class LRNParameterDict(TypedDict, total=False):
    local_size: int | None
    alpha: float | None
    beta: float | None
    norm_region: LRNParameterNormRegionName | None
    k: float | None
    engine: LRNParameterEngineName | None
    fuse_type: LRNParameterFuseTypeName | None
    pooling_param: PoolingParameterDict | pb.PoolingParameter | None
    unit_test_mode: bool | None
    unit_test_fuse_kernel: bool | None

class LSTMUnitParameterDict(TypedDict, total=False):
    forget_bias: float | None

class LabelSpecificAddParameterDict(TypedDict, total=False):
    bias: float | None
    transform_test: bool | None
    bias_base: float | None
    bias_gamma: float | None
    bias_power: float | None
    bias_min: float | None
    bias_max: float | None
    iteration: int | None

class LabelSpecificAffineParameterDict(TypedDict, total=False):
    scale_base: float | None
    scale_gamma: float | None
    scale_power: float | None
    scale_max: float | None
    transform_test: bool | None
    iteration: int | None
    bias_base: float | None
    bias_gamma: float | None
    bias_power: float | None
    bias_max: float | None
    power_base: float | None
    power_gamma: float | None
    power_power: float | None
    power_min: float | None
    auto_tune: bool | None
    reset: bool | None

class LabelSpecificHardMarginParameterDict(TypedDict, total=False):
    positive_weight: float | None

class LabelSpecificMarginParameterDict(TypedDict, total=False):
    type: LabelSpecificMarginParameterMarginTypeName | None
    margin_base: float | None
    margin_max: float | None
    power: float | None
    gamma: float | None
    iteration: int | None
    reset_margin: bool | None
    margin_on_test: bool | None
    auto_tune: bool | None

class LabelSpecificRescaleParameterDict(TypedDict, total=False):
    positive_weight: float | None
    negative_weight: float | None
    positive_lower_bound: float | None
    negative_upper_bound: float | None
    rescale_test: bool | None
    for_ip: bool | None
    positive_weight_base: float | None
    gamma: float | None
    power: float | None
    positive_weight_min: float | None
    positive_weight_max: float | None
    iteration: int | None
    bias_fix: bool | None
    power_on_positive: bool | None

class LargeMarginInnerProductParameterDict(TypedDict, total=False):
    num_output: int | None
    type: LargeMarginInnerProductParameterLargeMarginTypeName | None
    weight_filler: FillerParameterDict | pb.FillerParameter | None
    axis: int | None
    base: float | None
    gamma: float | None
    power: float | None
    iteration: int | None
    lambda_min: float | None

class LayerParameterDict(TypedDict, total=False):
    name: str | None
    type: str | None
    bottom: str | Sequence[str] | None
    top: str | Sequence[str] | None
    phase: PhaseName | None
    loss_weight: float | Sequence[float] | None
    param: ParamSpecDict | pb.ParamSpec | Sequence[ParamSpecDict | pb.ParamSpec] | None
    blobs: BlobProtoDict | pb.BlobProto | Sequence[BlobProtoDict | pb.BlobProto] | None
    propagate_down: bool | Sequence[bool] | None
    include: NetStateRuleDict | pb.NetStateRule | Sequence[NetStateRuleDict | pb.NetStateRule] | None
    exclude: NetStateRuleDict | pb.NetStateRule | Sequence[NetStateRuleDict | pb.NetStateRule] | None
    transform_param: TransformationParameterDict | pb.TransformationParameter | None
    loss_param: LossParameterDict | pb.LossParameter | None
    accuracy_param: AccuracyParameterDict | pb.AccuracyParameter | None
    argmax_param: ArgMaxParameterDict | pb.ArgMaxParameter | None
    batch_norm_param: BatchNormParameterDict | pb.BatchNormParameter | None
    bias_param: BiasParameterDict | pb.BiasParameter | None
    clip_param: ClipParameterDict | pb.ClipParameter | None
    concat_param: ConcatParameterDict | pb.ConcatParameter | None
    contrastive_loss_param: ContrastiveLossParameterDict | pb.ContrastiveLossParameter | None
    convolution_param: ConvolutionParameterDict | pb.ConvolutionParameter | None
    crop_param: CropParameterDict | pb.CropParameter | None
    data_param: DataParameterDict | pb.DataParameter | None
    dropout_param: DropoutParameterDict | pb.DropoutParameter | None
    dummy_data_param: DummyDataParameterDict | pb.DummyDataParameter | None
    eltwise_param: EltwiseParameterDict | pb.EltwiseParameter | None
    elu_param: ELUParameterDict | pb.ELUParameter | None
    embed_param: EmbedParameterDict | pb.EmbedParameter | None
    exp_param: ExpParameterDict | pb.ExpParameter | None
    flatten_param: FlattenParameterDict | pb.FlattenParameter | None
    hdf5_data_param: HDF5DataParameterDict | pb.HDF5DataParameter | None
    hdf5_output_param: HDF5OutputParameterDict | pb.HDF5OutputParameter | None
    hinge_loss_param: HingeLossParameterDict | pb.HingeLossParameter | None
    image_data_param: ImageDataParameterDict | pb.ImageDataParameter | None
    infogain_loss_param: InfogainLossParameterDict | pb.InfogainLossParameter | None
    inner_product_param: InnerProductParameterDict | pb.InnerProductParameter | None
    input_param: InputParameterDict | pb.InputParameter | None
    log_param: LogParameterDict | pb.LogParameter | None
    lrn_param: LRNParameterDict | pb.LRNParameter | None
    memory_data_param: MemoryDataParameterDict | pb.MemoryDataParameter | None
    mvn_param: MVNParameterDict | pb.MVNParameter | None
    parameter_param: ParameterParameterDict | pb.ParameterParameter | None
    pooling_param: PoolingParameterDict | pb.PoolingParameter | None
    power_param: PowerParameterDict | pb.PowerParameter | None
    prelu_param: PReLUParameterDict | pb.PReLUParameter | None
    python_param: PythonParameterDict | pb.PythonParameter | None
    recurrent_param: RecurrentParameterDict | pb.RecurrentParameter | None
    reduction_param: ReductionParameterDict | pb.ReductionParameter | None
    relu_param: ReLUParameterDict | pb.ReLUParameter | None
    reshape_param: ReshapeParameterDict | pb.ReshapeParameter | None
    scale_param: ScaleParameterDict | pb.ScaleParameter | None
    sigmoid_param: SigmoidParameterDict | pb.SigmoidParameter | None
    softmax_param: SoftmaxParameterDict | pb.SoftmaxParameter | None
    spp_param: SPPParameterDict | pb.SPPParameter | None
    slice_param: SliceParameterDict | pb.SliceParameter | None
    swish_param: SwishParameterDict | pb.SwishParameter | None
    tanh_param: TanHParameterDict | pb.TanHParameter | None
    threshold_param: ThresholdParameterDict | pb.ThresholdParameter | None
    tile_param: TileParameterDict | pb.TileParameter | None
    window_data_param: WindowDataParameterDict | pb.WindowDataParameter | None
    annotated_data_param: AnnotatedDataParameterDict | pb.AnnotatedDataParameter | None
    detection_evaluate_param: DetectionEvaluateParameterDict | pb.DetectionEvaluateParameter | None
    detection_output_param: DetectionOutputParameterDict | pb.DetectionOutputParameter | None
    multibox_loss_param: MultiBoxLossParameterDict | pb.MultiBoxLossParameter | None
    norm_param: NormalizeParameterDict | pb.NormalizeParameter | None
    permute_param: PermuteParameterDict | pb.PermuteParameter | None
    prior_box_param: PriorBoxParameterDict | pb.PriorBoxParameter | None
    video_data_param: VideoDataParameterDict | pb.VideoDataParameter | None
    roi_pooling_param: ROIPoolingParameterDict | pb.ROIPoolingParameter | None
    smooth_l1_loss_param: SmoothL1LossParameterDict | pb.SmoothL1LossParameter | None
    box_annotator_ohem_param: BoxAnnotatorOHEMParameterDict | pb.BoxAnnotatorOHEMParameter | None
    psroi_pooling_param: PSROIPoolingParameterDict | pb.PSROIPoolingParameter | None
    adaptive_bias_channel_param: AdaptiveBiasChannelParameterDict | pb.AdaptiveBiasChannelParameter | None
    bn_param: BNParameterDict | pb.BNParameter | None
    bias_channel_param: BiasChannelParameterDict | pb.BiasChannelParameter | None
    dense_crf_param: DenseCRFParameterDict | pb.DenseCRFParameter | None
    domain_transform_param: DomainTransformParameterDict | pb.DomainTransformParameter | None
    interp_param: InterpParameterDict | pb.InterpParameter | None
    mat_read_param: MatReadParameterDict | pb.MatReadParameter | None
    mat_write_param: MatWriteParameterDict | pb.MatWriteParameter | None
    seg_accuracy_param: SegAccuracyParameterDict | pb.SegAccuracyParameter | None
    unique_label_param: UniqueLabelParameterDict | pb.UniqueLabelParameter | None
    dense_image_data_param: DenseImageDataParameterDict | pb.DenseImageDataParameter | None
    upsample_param: UpsampleParameterDict | pb.UpsampleParameter | None
    region_loss_param: RegionLossParameterDict | pb.RegionLossParameter | None
    yolov3_param: Yolov3ParameterDict | pb.Yolov3Parameter | None
    yolo_seg_param: YoloSegParameterDict | pb.YoloSegParameter | None
    segmentation_evaluate_param: SegmentationEvaluateParameterDict | pb.SegmentationEvaluateParameter | None
    yolo_detection_output_param: YoloDetectionOutputParameterDict | pb.YoloDetectionOutputParameter | None
    yolov3_detection_output_param: Yolov3DetectionOutputParameterDict | pb.Yolov3DetectionOutputParameter | None
    relu6_param: ReLUParameterDict | pb.ReLUParameter | None
    reorg_param: ReorgParameterDict | pb.ReorgParameter | None
    split_param: SplitParameterDict | pb.SplitParameter | None
    spatial_dropout_param: SpatialDropoutParameterDict | pb.SpatialDropoutParameter | None
    engine: str | None
    multinode: MultinodeLayerParameterDict | pb.MultinodeLayerParameter | None
    mn_activation_param: MnActivationParameterDict | pb.MnActivationParameter | None
    mn_grad_compress_param: MnParamGradCompressParameterDict | pb.MnParamGradCompressParameter | None
    quantization_param: QuantizationParameterDict | pb.QuantizationParameter | None
    eval_detection_param: EvalDetectionParameterDict | pb.EvalDetectionParameter | None
    forward_type: TypeName | None
    backward_type: TypeName | None
    forward_math: TypeName | None
    backward_math: TypeName | None
    debug: bool | None
    cudnn_math_override: int | None
    trt_param: TRTParameterDict | pb.TRTParameter | None
    detectnet_groundtruth_param: DetectNetGroundTruthParameterDict | pb.DetectNetGroundTruthParameter | None
    detectnet_augmentation_param: DetectNetAugmentationParameterDict | pb.DetectNetAugmentationParameter | None
    imresize_param: ImResizeParameterDict | pb.ImResizeParameter | None
    nms_param: NmsParameterDict | pb.NmsParameter | None
    parse_evaluate_param: ParseEvaluateParameterDict | pb.ParseEvaluateParameter | None
    unpooling_param: UnPoolingParameterDict | pb.UnPoolingParameter | None
    coeff_schedule_param: CoeffScheduleParameterDict | pb.CoeffScheduleParameter | None
    augmentation_param: AugmentationParameterDict | pb.AugmentationParameter | None
    correlation_param: CorrelationParameterDict | pb.CorrelationParameter | None
    l1_loss_param: L1LossParameterDict | pb.L1LossParameter | None
    writer_param: WriterParameterDict | pb.WriterParameter | None
    reader_param: ReaderParameterDict | pb.ReaderParameter | None
    mean_param: MeanParameterDict | pb.MeanParameter | None
    resample_param: ResampleParameterDict | pb.ResampleParameter | None
    downsample_param: DownsampleParameterDict | pb.DownsampleParameter | None
    lpq_loss_param: LpqLossParameterDict | pb.LpqLossParameter | None
    flow_warp_param: FlowWarpParameterDict | pb.FlowWarpParameter | None
    accum_param: AccumParameterDict | pb.AccumParameter | None
    black_augmentation_param: BlackAugmentationParameterDict | pb.BlackAugmentationParameter | None
    reshape_every_iter: bool | None
    margin_inner_product_param: MarginInnerProductParameterDict | pb.MarginInnerProductParameter | None
    center_loss_param: CenterLossParameterDict | pb.CenterLossParameter | None
    local_param: LocalParameterDict | pb.LocalParameter | None
    insanity_param: InsanityParameterDict | pb.InsanityParameter | None
    triplet_loss_param: TripletLossParameterDict | pb.TripletLossParameter | None
    eltwise_affine_param: EltwiseAffineParameterDict | pb.EltwiseAffineParameter | None
    sub_region_param: SubRegionParameterDict | pb.SubRegionParameter | None
    noise_param: NoiseParameterDict | pb.NoiseParameter | None
    hotspot_param: HotspotParameterDict | pb.HotspotParameter | None
    predict_box_param: PredictBoxParameterDict | pb.PredictBoxParameter | None
    mil_data_param: MILDataParameterDict | pb.MILDataParameter | None
    mil_param: MILParameterDict | pb.MILParameter | None
    fcn_data_param: FCNDataParameterDict | pb.FCNDataParameter | None
    flip_param: FlipParameterDict | pb.FlipParameter | None
    inner_distance_param: InnerDistanceParameterDict | pb.InnerDistanceParameter | None
    normalize_param: NormalizeParameterDict | pb.NormalizeParameter | None
    general_contrastive_loss_param: GeneralContrastiveParameterDict | pb.GeneralContrastiveParameter | None
    soft_contrastive_loss_param: SoftContrastiveParameterDict | pb.SoftContrastiveParameter | None
    general_triplet_loss_param: GeneralTripletParameterDict | pb.GeneralTripletParameter | None
    soft_truncation_param: SoftTruncationParameterDict | pb.SoftTruncationParameter | None
    proposal_param: ProposalParameterDict | pb.ProposalParameter | None
    pairwise_param: PairwiseParameterDict | pb.PairwiseParameter | None
    smoothl1_param: SmoothL1ParameterDict | pb.SmoothL1Parameter | None
    batch_contrastive_loss_param: BatchContrastiveParameterDict | pb.BatchContrastiveParameter | None
    truncation_param: TruncationParameterDict | pb.TruncationParameter | None
    nca_param: NCAParameterDict | pb.NCAParameter | None
    largemargin_inner_product_param: LargeMarginInnerProductParameterDict | pb.LargeMarginInnerProductParameter | None
    label_specific_rescale_param: LabelSpecificRescaleParameterDict | pb.LabelSpecificRescaleParameter | None
    infimum_loss_param: InfimumLossParamterDict | pb.InfimumLossParamter | None
    ordinal_regression_loss_param: OrdinalRegressionParameterDict | pb.OrdinalRegressionParameter | None
    resize_param: ResizeParameterDict | pb.ResizeParameter | None
    feature_decay_loss_param: FeatureDecayLossParameterDict | pb.FeatureDecayLossParameter | None
    confidence_penalty_loss_param: ConfidencePenaltyLossParameterDict | pb.ConfidencePenaltyLossParameter | None
    focal_loss_param: FocalLossParameterDict | pb.FocalLossParameter | None
    label_specific_margin_param: LabelSpecificMarginParameterDict | pb.LabelSpecificMarginParameter | None
    channel_scale_param: ChannelScaleParameterDict | pb.ChannelScaleParameter | None
    label_specific_affine_param: LabelSpecificAffineParameterDict | pb.LabelSpecificAffineParameter | None
    label_specific_hard_margin_param: LabelSpecificHardMarginParameterDict | pb.LabelSpecificHardMarginParameter | None
    label_specific_add_param: LabelSpecificAddParameterDict | pb.LabelSpecificAddParameter | None
    multi_stage_meanfield_param: MultiStageMeanfieldParameterDict | pb.MultiStageMeanfieldParameter | None
    bottom_data_type: DataTypeName | None
    compute_data_type: DataTypeName | None
    top_data_type: DataTypeName | None
    bottom_quantizer: QuantizerParameterDict | pb.QuantizerParameter | Sequence[QuantizerParameterDict | pb.QuantizerParameter] | None
    top_quantizer: QuantizerParameterDict | pb.QuantizerParameter | Sequence[QuantizerParameterDict | pb.QuantizerParameter] | None
    net_quantizer: QuantizerParameterDict | pb.QuantizerParameter | None
    blobs_quantizer: QuantizerParameterDict | pb.QuantizerParameter | Sequence[QuantizerParameterDict | pb.QuantizerParameter] | None
    autotune: AutotuneName | None
    device: int | None
    bottom_shared_index: int | Sequence[int] | None
    top_shared_index: int | Sequence[int] | None
    mergecrop_param: MergeCropParameterDict | pb.MergeCropParameter | None
    affinity_param: AffinityParameterDict | pb.AffinityParameter | None
    moe_param: MOEParameterDict | pb.MOEParameter | None
    seg_data_param: SegDataParameterDict | pb.SegDataParameter | None
    batch_reduction_param: BatchReductionParameterDict | pb.BatchReductionParameter | None
    color_conv_param: ColorConvParameterDict | pb.ColorConvParameter | None
    gan_loss_param: GANLossParameterDict | pb.GANLossParameter | None
    lstm_unit_param: LSTMUnitParameterDict | pb.LSTMUnitParameter | None
    xlu_param: XLUParameterDict | pb.XLUParameter | None
    roi_align_param: ROIAlignParameterDict | pb.ROIAlignParameter | None
    shuffle_channel_param: ShuffleChannelParameterDict | pb.ShuffleChannelParameter | None
    squeeze_convolution_param: SqueezeConvolutionParameterDict | pb.SqueezeConvolutionParameter | None
    squeeze_inner_product_param: SqueezeInnerProductParameterDict | pb.SqueezeInnerProductParameter | None
    yolo_v2_loss_param: YoloV2LossParameterDict | pb.YoloV2LossParameter | None
    yolo_v3_loss_param: YoloV3LossParameterDict | pb.YoloV3LossParameter | None
    upsample_darknet_param: UpsampleDarknetParameterDict | pb.UpsampleDarknetParameter | None
    depth_to_space_param: DepthToSpaceParameterDict | pb.DepthToSpaceParameter | None
    resize_nearest_neighbor_param: ResizeNearestNeighborParameterDict | pb.ResizeNearestNeighborParameter | None
    gather_param: GatherParameterDict | pb.GatherParameter | None
    topk_gather_param: TopkGatherParameterDict | pb.TopkGatherParameter | None
    nms_gather_param: NMSGatherParameterDict | pb.NMSGatherParameter | None
    gather_nd_param: GatherNdParameterDict | pb.GatherNdParameter | None
    where4_param: Where4ParameterDict | pb.Where4Parameter | None
    where4_gathernd_param: Where4GatherndParameterDict | pb.Where4GatherndParameter | None
    crop_and_resize_param: CropAndResizeParameterDict | pb.CropAndResizeParameter | None
    where4_gathernd_crop_param: Where4GatherndCropParameterDict | pb.Where4GatherndCropParameter | None
    pyramid_roi_align_param: PyramidRoiAlignParameterDict | pb.PyramidRoiAlignParameter | None
    space_to_depth_param: SpaceToDepthParameterDict | pb.SpaceToDepthParameter | None
    pad_param: PadParameterDict | pb.PadParameter | None
    stack_param: StackParameterDict | pb.StackParameter | None
    resize_bilinear_param: ResizeBilinearParameterDict | pb.ResizeBilinearParameter | None
    reduce_sum_param: ReduceSumParameterDict | pb.ReduceSumParameter | None
    reduce_max_param: ReduceMaxParameterDict | pb.ReduceMaxParameter | None
    reduce_min_param: ReduceMinParameterDict | pb.ReduceMinParameter | None
    reduce_prod_param: ReduceProdParameterDict | pb.ReduceProdParameter | None
    reduce_mean_param: ReduceMeanParameterDict | pb.ReduceMeanParameter | None
    selu_param: SeLuParameterDict | pb.SeLuParameter | None
    selu_dropout_param: SeLuDropoutParameterDict | pb.SeLuDropoutParameter | None
    unstack_param: UnstackParameterDict | pb.UnstackParameter | None
    batch_to_space_nd_param: BatchToSpaceNDParameterDict | pb.BatchToSpaceNDParameter | None
    space_to_batch_nd_param: SpaceToBatchNDParameterDict | pb.SpaceToBatchNDParameter | None
    mirror_pad_param: MirrorPadParameterDict | pb.MirrorPadParameter | None
    tile_nd_param: TileNDParameterDict | pb.TileNDParameter | None
    expand_dims_nd_param: ExpandDimsNDParameterDict | pb.ExpandDimsNDParameter | None
    squeeze_param: SqueezeParameterDict | pb.SqueezeParameter | None
    broadcast_to_param: BroadcastToParameterDict | pb.BroadcastToParameter | None
    strided_slice_param: StridedSliceParameterDict | pb.StridedSliceParameter | None
    piece_param: PieceParameterDict | pb.PieceParameter | None
    range_param: RangeParameterDict | pb.RangeParameter | None
    sparse_to_dense_param: SparseToDenseParameterDict | pb.SparseToDenseParameter | None
    embedding_lookup_param: EmbeddingLookupParameterDict | pb.EmbeddingLookupParameter | None
    embedding_lookup_sparse_param: EmbeddingLookupSparseParameterDict | pb.EmbeddingLookupSparseParameter | None
    gemm_param: GemmParameterDict | pb.GemmParameter | None
    reduce_l1_param: ReduceL1ParameterDict | pb.ReduceL1Parameter | None
    reduce_l2_param: ReduceL2ParameterDict | pb.ReduceL2Parameter | None
    reduce_logsumexp_param: ReduceLogsumexpParameterDict | pb.ReduceLogsumexpParameter | None
    reduce_all_param: ReduceAllParameterDict | pb.ReduceAllParameter | None
    reduce_any_param: ReduceAnyParameterDict | pb.ReduceAnyParameter | None
    reverse_sequence_param: ReverseSequenceParameterDict | pb.ReverseSequenceParameter | None
    hard_sigmoid_param: HardSigmoidParameterDict | pb.HardSigmoidParameter | None
    thresholded_relu_param: ThresholdedReLUParameterDict | pb.ThresholdedReLUParameter | None
    eltwise_accuracy_param: EltwiseAccuracyParameterDict | pb.EltwiseAccuracyParameter | None
    cpm_transform_param: CPMTransformationParameterDict | pb.CPMTransformationParameter | None
    cpmdata_param: CPMDataParameterDict | pb.CPMDataParameter | None
    heatmap_data_param: HeatmapDataParameterDict | pb.HeatmapDataParameter | None
    visualise: bool | None
    visualise_channel: int | None
    crop_center_param: CropCenterParameterDict | pb.CropCenterParameter | None

class LocalParameterDict(TypedDict, total=False):
    num_output: int | None
    bias_term: bool | None
    pad: int | None
    kernel_size: int | None
    stride: int | None
    weight_filler: FillerParameterDict | pb.FillerParameter | None
    bias_filler: FillerParameterDict | pb.FillerParameter | None

class LocalWeightedConvolutionParameterDict(TypedDict, total=False):
    num_output: int | None
    bias_term: bool | None
    pad: int | None
    kernel_size: int | None
    stride: int | None
    weight_filler: FillerParameterDict | pb.FillerParameter | None
    bias_filler: FillerParameterDict | pb.FillerParameter | None

class LogParameterDict(TypedDict, total=False):
    base: float | None
    scale: float | None
    shift: float | None

class LossParameterDict(TypedDict, total=False):
    ignore_label: int | None
    normalization: LossParameterNormalizationModeName | None
    normalize: bool | None
    pre_fixed_normalizer: float | None
    weight_by_label_freqs: bool | None
    class_weighting: float | Sequence[float] | None
    label_smoothing: float | None

class LpqLossParameterDict(TypedDict, total=False):
    l2_prescale_by_channels: bool | None
    normalize_by_num_entries: bool | None
    p_epsilon: float | None
    q_epsilon: float | None
    pq_episode_starts_at_iter: int | Sequence[int] | None
    p: float | Sequence[float] | None
    q: float | Sequence[float] | None

class MILDataParameterDict(TypedDict, total=False):
    source: str | None
    num_scales: int | None
    scale_factor: float | None
    channels: int | None
    images_per_batch: int | None
    n_classes: int | None
    label_file: str | None
    root_dir: str | None
    ext: str | None
    randomize: bool | None

class MILParameterDict(TypedDict, total=False):
    type: MILParameterMILTypeName | None

class MOEParameterDict(TypedDict, total=False):
    gating_net: NetParameterDict | pb.NetParameter | None
    expert_net: NetParameterDict | pb.NetParameter | Sequence[NetParameterDict | pb.NetParameter] | None
    expert_instances: int | Sequence[int] | None
    select_experts: int | None
    full_forward: bool | None
    map_bottom: MOEParameterBottomMappingName | Sequence[MOEParameterBottomMappingName] | None

class MVNParameterDict(TypedDict, total=False):
    normalize_variance: bool | None
    across_channels: bool | None
    eps: float | None
    add_eps_before_sqrt: bool | None

class MarginInnerProductParameterDict(TypedDict, total=False):
    num_output: int | None
    type: MarginInnerProductParameterMarginTypeName | None
    weight_filler: FillerParameterDict | pb.FillerParameter | None
    axis: int | None
    base: float | None
    gamma: float | None
    power: float | None
    iteration: int | None
    lambda_min: float | None

class MatReadParameterDict(TypedDict, total=False):
    prefix: str | None
    source: str | None
    strip: int | None
    batch_size: int | None

class MatWriteParameterDict(TypedDict, total=False):
    prefix: str | None
    source: str | None
    strip: int | None
    period: int | None

class MeanParameterDict(TypedDict, total=False):
    operation: MeanParameterMeanOperationName | None
    file: str | None
    value: float | Sequence[float] | None
    mean_scale: float | None
    input_scale: float | None
    output_scale: float | None

class MemoryDataParameterDict(TypedDict, total=False):
    batch_size: int | None
    channels: int | None
    height: int | None
    width: int | None
    transpose: bool | None
    dim: int | Sequence[int] | None

class MergeCropParameterDict(TypedDict, total=False):
    operation: MergeCropParameterMergeOpName | None
    forward: bool | Sequence[bool] | None
    backward: bool | Sequence[bool] | None

class MirrorPadParameterDict(TypedDict, total=False):
    pass

class MnActivationParameterDict(TypedDict, total=False):
    num_nodes_in: int | None
    num_nodes_out: int | None
    model_parts_in: int | None
    model_parts_out: int | None
    need_reduce: bool | None

class MnModelParallelParameterDict(TypedDict, total=False):
    layer_from: str | None
    layer_to: str | None
    num_nodes: int | None
    model_parts: int | None

class MnParamGradCompressLayerTypeListDict(TypedDict, total=False):
    layer_type: str | Sequence[str] | None

class MnParamGradCompressParameterDict(TypedDict, total=False):
    param_grad_compress_enable: bool | Sequence[bool] | None

class MultiBoxLossParameterDict(TypedDict, total=False):
    loc_loss_type: MultiBoxLossParameterLocLossTypeName | None
    conf_loss_type: MultiBoxLossParameterConfLossTypeName | None
    loc_weight: float | None
    num_classes: int | None
    share_location: bool | None
    match_type: MultiBoxLossParameterMatchTypeName | None
    overlap_threshold: float | None
    use_prior_for_matching: bool | None
    background_label_id: int | None
    use_difficult_gt: bool | None
    do_neg_mining: bool | None
    neg_pos_ratio: float | None
    neg_overlap: float | None
    code_type: PriorBoxParameterCodeTypeName | None
    encode_variance_in_target: bool | None
    map_object_to_agnostic: bool | None
    ignore_cross_boundary_bbox: bool | None
    bp_inside: bool | None
    mining_type: MultiBoxLossParameterMiningTypeName | None
    nms_param: NonMaximumSuppressionParameterDict | pb.NonMaximumSuppressionParameter | None
    sample_size: int | None
    use_prior_for_nms: bool | None
    ignore_difficult_gt: bool | None
    objectness_score: float | None

class MultiStageMeanfieldParameterDict(TypedDict, total=False):
    compatibility_mode: MultiStageMeanfieldParameterModeName | None
    threshold: float | None
    theta_alpha: float | None
    theta_beta: float | None
    theta_gamma: float | None
    num_iterations: int | None
    spatial_filter_weight: float | None
    bilateral_filter_weight: float | None
    forced_spatial_filter_weight: float | None
    forced_bilateral_filter_weight: float | None
    spatial_filter_weights_str: str | None
    bilateral_filter_weights_str: str | None
    force_cpu: bool | None

class MultinodeLayerParameterDict(TypedDict, total=False):
    num_nodes: int | None
    model_parts: int | None

class MultinodeParameterDict(TypedDict, total=False):
    model_parallel: MnModelParallelParameterDict | pb.MnModelParallelParameter | Sequence[MnModelParallelParameterDict | pb.MnModelParallelParameter] | None
    compress_layer_type_list: MnParamGradCompressLayerTypeListDict | pb.MnParamGradCompressLayerTypeList | None

class NCAParameterDict(TypedDict, total=False):
    min_negative_only: bool | None

class NMSGatherParameterDict(TypedDict, total=False):
    pass

class NetParameterDict(TypedDict, total=False):
    name: str | None
    input: str | Sequence[str] | None
    input_shape: BlobShapeDict | pb.BlobShape | Sequence[BlobShapeDict | pb.BlobShape] | None
    input_dim: int | Sequence[int] | None
    force_backward: bool | None
    state: NetStateDict | pb.NetState | None
    debug_info: bool | None
    layer: LayerParameterDict | pb.LayerParameter | Sequence[LayerParameterDict | pb.LayerParameter] | None
    layers: V1LayerParameterDict | pb.V1LayerParameter | Sequence[V1LayerParameterDict | pb.V1LayerParameter] | None
    compile_net_state: CompileNetStateDict | pb.CompileNetState | None
    engine: str | None
    bn_stats_batch_size: int | None
    multinode: MultinodeParameterDict | pb.MultinodeParameter | None
    default_forward_type: TypeName | None
    default_backward_type: TypeName | None
    default_forward_math: TypeName | None
    default_backward_math: TypeName | None
    global_grad_scale: float | None
    global_grad_scale_adaptive: bool | None
    default_conv_algos_override: str | None
    reduce_buckets: int | None
    default_cudnn_math_override: int | None
    eltwise_mem_sharing: bool | None
    data_type: DataTypeName | None
    quantizer: QuantizerParameterDict | pb.QuantizerParameter | Sequence[QuantizerParameterDict | pb.QuantizerParameter] | None
    reduced_memory_inference: bool | None
    autotune: AutotuneName | None
    version: int | None
    bottom: str | Sequence[str] | None

class NetStateDict(TypedDict, total=False):
    phase: PhaseName | None
    level: int | None
    stage: str | Sequence[str] | None
    quantizer_mode: QuantizerModeName | None

class NetStateRuleDict(TypedDict, total=False):
    phase: PhaseName | None
    min_level: int | None
    max_level: int | None
    stage: str | Sequence[str] | None
    not_stage: str | Sequence[str] | None

class NmsParameterDict(TypedDict, total=False):
    threshold: float | None
    num_peak: int | None
    max_peaks: int | None
    num_parts: int | None

class NoiseParameterDict(TypedDict, total=False):
    prob: float | None
    hist_eq: bool | None
    inverse: bool | None
    decolorize: bool | None
    gauss_blur: bool | None
    jpeg: float | None
    posterize: bool | None
    erode: bool | None
    saltpepper: bool | None
    saltpepper_param: SaltPepperParameterDict | pb.SaltPepperParameter | None
    clahe: bool | None
    convert_to_hsv: bool | None
    convert_to_lab: bool | None
    gaussian_std: float | None
    uniform_range: float | None
    bias: float | None
    mu: float | None
    sigma: float | None

class NonMaximumSuppressionParameterDict(TypedDict, total=False):
    nms_threshold: float | None
    top_k: int | None
    eta: float | None

class NormalizeParameterDict(TypedDict, total=False):
    across_spatial: bool | None
    scale_filler: FillerParameterDict | pb.FillerParameter | None
    channel_shared: bool | None
    eps: float | None
    fix_scale: bool | None
    normalize_type: str | None
    fix_gradient: bool | None
    bp_norm: bool | None
    add_eps_before_sqrt: bool | None

class OrdinalRegressionParameterDict(TypedDict, total=False):
    k: int | None
    weight_file: str | None

class PReLUParameterDict(TypedDict, total=False):
    filler: FillerParameterDict | pb.FillerParameter | None
    channel_shared: bool | None

class PSROIPoolingParameterDict(TypedDict, total=False):
    spatial_scale: float | None
    output_dim: int | None
    group_size: int | None

class PadParameterDict(TypedDict, total=False):
    paddings: int | Sequence[int] | None
    constant_values: float | None

class PairwiseParameterDict(TypedDict, total=False):
    operation: PairwiseParameterPairwiseOpName | None
    coeff: float | Sequence[float] | None

class ParamSpecDict(TypedDict, total=False):
    name: str | None
    share_mode: ParamSpecDimCheckModeName | None
    lr_mult: float | None
    decay_mult: float | None

class ParameterParameterDict(TypedDict, total=False):
    shape: BlobShapeDict | pb.BlobShape | None
    blob_filler: FillerParameterDict | pb.FillerParameter | None

class ParseEvaluateParameterDict(TypedDict, total=False):
    num_labels: int | None
    ignore_label: int | Sequence[int] | None

class PermuteParameterDict(TypedDict, total=False):
    order: int | Sequence[int] | None

class PieceParameterDict(TypedDict, total=False):
    pass

class PoolingParameterDict(TypedDict, total=False):
    pool: PoolingParameterPoolMethodName | None
    pad: int | None
    pad_h: int | None
    pad_w: int | None
    kernel_size: int | None
    kernel_h: int | None
    kernel_w: int | None
    stride: int | None
    stride_h: int | None
    stride_w: int | None
    engine: PoolingParameterEngineName | None
    global_pooling: bool | None
    round_mode: PoolingParameterRoundModeName | None
    ceil_mode: bool | None
    pad_3d: int | Sequence[int] | None
    kernel_size_3d: int | Sequence[int] | None
    stride_3d: int | Sequence[int] | None
    avg_include_pad: bool | None
    axis: int | None
    torch_pooling: bool | None
    bin_size: int | None
    bin_h: int | None
    bin_w: int | None
    blobs_lr: float | None
    blobs_a_min: float | None
    dilation: int | Sequence[int] | None
    pad_type: int | None
    pad_l: int | None
    pad_r: int | None
    pad_t: int | None
    pad_b: int | None
    output_shift_instead_division: int | None
    saturate: PoolingParameterSaturateMethodName | None

class PowerParameterDict(TypedDict, total=False):
    power: float | None
    scale: float | None
    shift: float | None

class PredictBoxParameterDict(TypedDict, total=False):
    stride: int | None
    receptive_field: int | None
    nms: bool | None
    output_vector: bool | None
    positive_thresh: float | None
    bbreg_exp: bool | None

class PriorBoxParameterDict(TypedDict, total=False):
    min_size: float | Sequence[float] | None
    max_size: float | Sequence[float] | None
    aspect_ratio: float | Sequence[float] | None
    flip: bool | None
    clip: bool | None
    variance: float | Sequence[float] | None
    img_size: int | None
    img_h: int | None
    img_w: int | None
    step: float | None
    step_h: float | None
    step_w: float | None
    offset: float | None
    faceboxes: bool | None
    box_width: float | Sequence[float] | None
    box_height: float | Sequence[float] | None
    tf: bool | None
    yx_order: bool | None
    width: float | Sequence[float] | None
    height: float | Sequence[float] | None

class ProposalParameterDict(TypedDict, total=False):
    feat_stride: int | None
    base_size: int | None
    min_size: int | None
    ratio: float | Sequence[float] | None
    scale: float | Sequence[float] | None
    pre_nms_topn: int | None
    post_nms_topn: int | None
    nms_thresh: float | None
    anchor_base_size: int | None
    anchor_scale: int | None
    anchor_ratio: int | None
    max_rois: int | None

class PyramidRoiAlignParameterDict(TypedDict, total=False):
    pass

class PythonParameterDict(TypedDict, total=False):
    module: str | None
    layer: str | None
    param_str: str | None
    share_in_parallel: bool | None

class QuantizationParameterDict(TypedDict, total=False):
    precision: QuantizationParameterPrecisionName | None
    rounding_scheme: QuantizationParameterRoundingName | None
    bw_layer_in: int | None
    bw_layer_out: int | None
    bw_params: int | None
    fl_layer_in: int | Sequence[int] | None
    fl_layer_out: int | Sequence[int] | None
    fl_params: int | Sequence[int] | None
    scale_in: float | Sequence[float] | None
    scale_out: float | Sequence[float] | None
    scale_params: float | Sequence[float] | None
    is_negative_input: bool | None
    force_u8_input: bool | None

class QuantizerParameterDict(TypedDict, total=False):
    name: str | None
    zone: int | None
    input_data_type: DataTypeName | None
    output_data_type: DataTypeName | None
    observed_max: float | None
    observed_min: float | None
    max_in: float | None
    min_in: float | None
    max_out: float | None
    min_out: float | None
    mode: QuantizerModeName | None
    pseudo_target_type: DataTypeName | None
    pseudo_reset_observed: bool | None
    device: int | None

class ROIAlignParameterDict(TypedDict, total=False):
    pooled_h: int | None
    pooled_w: int | None
    spatial_scale: float | None

class ROIPoolingParameterDict(TypedDict, total=False):
    pooled_h: int | None
    pooled_w: int | None
    spatial_scale: float | None
    pooled_size: int | Sequence[int] | None

class RandomAspectRatioParameterDict(TypedDict, total=False):
    min_area_ratio: float | None
    max_area_ratio: float | None
    aspect_ratio_change: float | None
    max_attempt: int | None
    resize_param: ResizeParameterDict | pb.ResizeParameter | None

class RandomGeneratorParameterDict(TypedDict, total=False):
    rand_type: str | None
    exp: bool | None
    mean: float | None
    spread: float | None
    prob: float | None
    apply_schedule: bool | None
    discretize: bool | None
    multiplier: float | None

class RandomResizeParameterDict(TypedDict, total=False):
    min_size: int | None
    max_size: int | None
    resize_param: ResizeParameterDict | pb.ResizeParameter | None

class RangeParameterDict(TypedDict, total=False):
    pass

class ReLUParameterDict(TypedDict, total=False):
    negative_slope: float | None
    engine: ReLUParameterEngineName | None
    fuse: bool | None
    relu6: bool | None
    maximum: float | None
    minimum: float | None

class ReaderParameterDict(TypedDict, total=False):
    file: str | None
    num: int | None

class RecurrentParameterDict(TypedDict, total=False):
    num_output: int | None
    weight_filler: FillerParameterDict | pb.FillerParameter | None
    bias_filler: FillerParameterDict | pb.FillerParameter | None
    debug_info: bool | None
    expose_hidden: bool | None
    forget_bias: float | None
    tf_rnn: bool | None

class RedAccuracyParameterDict(TypedDict, total=False):
    top_k: int | None
    ignore_label: int | None
    class_num: int | None

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
    operation: ReductionParameterReductionOpName | None
    axis: int | None
    coeff: float | None

class RegionLossParameterDict(TypedDict, total=False):
    side: int | None
    num_class: int | None
    bias_match: int | None
    coords: int | None
    num: int | None
    softmax: int | None
    jitter: float | None
    rescore: int | None
    object_scale: float | None
    class_scale: float | None
    noobject_scale: float | None
    coord_scale: float | None
    absolute: int | None
    thresh: float | None
    random: int | None
    biases: float | Sequence[float] | None
    softmax_tree: str | None
    class_map: str | None

class ReorgParameterDict(TypedDict, total=False):
    stride: int | None
    reverse: bool | None

class ResampleParameterDict(TypedDict, total=False):
    antialias: bool | None
    width: int | None
    height: int | None
    type: ResampleParameterResampleTypeName | None
    factor: float | None

class ReshapeParameterDict(TypedDict, total=False):
    shape: BlobShapeDict | pb.BlobShape | None
    axis: int | None
    num_axes: int | None
    pixelshuffler: int | None

class ResizeBilinearParameterDict(TypedDict, total=False):
    align_corners: bool | None
    output_height: int | None
    output_width: int | None
    data_format: str | None
    scale_height: float | None
    scale_width: float | None
    half_pixel_centers: bool | None
    pytorch_half_pixel: bool | None

class ResizeNearestNeighborParameterDict(TypedDict, total=False):
    align_corners: bool | None
    output_height: int | None
    output_width: int | None
    data_format: str | None
    scale_height: float | None
    scale_width: float | None
    half_pixel_centers: bool | None
    half_pixel_onnx: bool | None

class ResizeParameterDict(TypedDict, total=False):
    prob: float | None
    resize_mode: ResizeParameterResize_modeName | None
    height: int | None
    width: int | None
    height_scale: int | None
    width_scale: int | None
    pad_mode: ResizeParameterPad_modeName | None
    pad_value: float | Sequence[float] | None
    interp_mode: ResizeParameterInterp_modeName | Sequence[ResizeParameterInterp_modeName] | None
    center_object: bool | None
    max_angle: float | None
    is_pyramid_test: bool | None
    out_height_scale: float | None
    out_width_scale: float | None

class ReverseSequenceParameterDict(TypedDict, total=False):
    pass

class SPPParameterDict(TypedDict, total=False):
    pyramid_height: int | None
    pool: SPPParameterPoolMethodName | None
    engine: SPPParameterEngineName | None

class SaltPepperParameterDict(TypedDict, total=False):
    fraction: float | None
    value: float | Sequence[float] | None
    type: SaltPepperParameterSaltTypeName | None

class SampleConstraintDict(TypedDict, total=False):
    min_jaccard_overlap: float | None
    max_jaccard_overlap: float | None
    min_sample_coverage: float | None
    max_sample_coverage: float | None
    min_object_coverage: float | None
    max_object_coverage: float | None

class SamplerDict(TypedDict, total=False):
    min_scale: float | None
    max_scale: float | None
    min_aspect_ratio: float | None
    max_aspect_ratio: float | None

class SaveOutputParameterDict(TypedDict, total=False):
    output_directory: str | None
    output_name_prefix: str | None
    output_format: str | None
    label_map_file: str | None
    name_size_file: str | None
    num_test_image: int | None
    resize_param: ResizeParameterDict | pb.ResizeParameter | None

class ScaleParameterDict(TypedDict, total=False):
    axis: int | None
    num_axes: int | None
    filler: FillerParameterDict | pb.FillerParameter | None
    bias_term: bool | None
    bias_filler: FillerParameterDict | pb.FillerParameter | None
    min_value: float | None
    max_value: float | None

class SeLuDropoutParameterDict(TypedDict, total=False):
    dropout_ratio: float | None
    alpha: float | None

SeLuParameterDict = TypedDict(
    "SeLuParameterDict",
    {
        "lambda": float | None,
        "alpha": float | None,
    },
    total=False,
)

class SegAccuracyParameterDict(TypedDict, total=False):
    metric: SegAccuracyParameterAccuracyMetricName | None
    ignore_label: int | Sequence[int] | None
    reset: bool | None

class SegDataParameterDict(TypedDict, total=False):
    pass

class SegmentationEvaluateParameterDict(TypedDict, total=False):
    num_classes: int | None
    threshold: float | None

class ShuffleChannelParameterDict(TypedDict, total=False):
    group: int | None

class SigmoidParameterDict(TypedDict, total=False):
    engine: SigmoidParameterEngineName | None

class SliceParameterDict(TypedDict, total=False):
    axis: int | None
    slice_point: int | Sequence[int] | None
    slice_dim: int | None

class SmoothL1LossParameterDict(TypedDict, total=False):
    sigma: float | None
    abssum: bool | None

class SmoothL1ParameterDict(TypedDict, total=False):
    turn_point: float | None

class SoftContrastiveParameterDict(TypedDict, total=False):
    positive_margin: float | None
    negative_margin: float | None
    positive_weight: float | None
    negative_weight: float | None
    exponent_scale: float | None
    square: bool | None

class SoftTruncationParameterDict(TypedDict, total=False):
    c: float | None

class SoftmaxParameterDict(TypedDict, total=False):
    engine: SoftmaxParameterEngineName | None
    axis: int | None
    hard_ratio: float | None
    class_weight: float | Sequence[float] | None
    hard_mining_label: int | None
    cutting_point: float | None
    normalize_type: str | None
    label_smooth_factor: float | None

class SpaceToBatchNDParameterDict(TypedDict, total=False):
    block_shape: int | Sequence[int] | None
    paddings: int | Sequence[int] | None

class SpaceToDepthParameterDict(TypedDict, total=False):
    block_size: int | None
    data_format: str | None

class SparseToDenseParameterDict(TypedDict, total=False):
    pass

class SpatialDropoutParameterDict(TypedDict, total=False):
    dropout_ratio: float | None

class SplitParameterDict(TypedDict, total=False):
    engine: SplitParameterEngineName | None

class SqueezeConvolutionParameterDict(TypedDict, total=False):
    pass

class SqueezeInnerProductParameterDict(TypedDict, total=False):
    pass

class SqueezeParameterDict(TypedDict, total=False):
    axis: int | Sequence[int] | None

class StackParameterDict(TypedDict, total=False):
    pass

class StridedSliceParameterDict(TypedDict, total=False):
    pass

class SubRegionParameterDict(TypedDict, total=False):
    region_height: int | None
    region_width: int | None
    data_height: int | None
    data_width: int | None
    as_dim: int | None

class SwishParameterDict(TypedDict, total=False):
    beta: float | None

class TRTParameterDict(TypedDict, total=False):
    trt_mode: TRTParameterTRTModeName | None
    top_k: int | None
    deploy: str | None
    model: str | None
    deploy_outputs: str | Sequence[str] | None
    calibrator: str | None

class TanHParameterDict(TypedDict, total=False):
    engine: TanHParameterEngineName | None

class ThresholdParameterDict(TypedDict, total=False):
    threshold: float | None

class ThresholdedReLUParameterDict(TypedDict, total=False):
    pass

class TileNDParameterDict(TypedDict, total=False):
    pass

class TileParameterDict(TypedDict, total=False):
    axis: int | None
    tiles: int | None

class TopkGatherParameterDict(TypedDict, total=False):
    pass

class TransformationParameterDict(TypedDict, total=False):
    scale: float | None
    mirror: bool | None
    crop_size: int | None
    mean_file: str | None
    mean_value: float | Sequence[float] | None
    force_color: bool | None
    force_gray: bool | None
    crop_h: int | None
    crop_w: int | None
    resize_param: ResizeParameterDict | pb.ResizeParameter | Sequence[ResizeParameterDict | pb.ResizeParameter] | None
    noise_param: NoiseParameterDict | pb.NoiseParameter | Sequence[NoiseParameterDict | pb.NoiseParameter] | None
    distort_param: DistortionParameterDict | pb.DistortionParameter | None
    expand_param: ExpansionParameterDict | pb.ExpansionParameter | None
    emit_constraint: EmitConstraintDict | pb.EmitConstraint | None
    scale_factors: float | Sequence[float] | None
    crop_width: int | None
    crop_height: int | None
    enable_classf_aug: bool | None
    min_scaling_factor: float | None
    max_scaling_factor: float | None
    max_rotation_angle: int | None
    contrast_brightness_adjustment: bool | None
    smooth_filtering: bool | None
    min_contrast: float | None
    max_contrast: float | None
    max_brightness_shift: int | None
    max_smooth: float | None
    max_color_shift: int | None
    min_side_min: int | None
    min_side_max: int | None
    min_side: int | None
    apply_probability: float | None
    debug_params: bool | None
    cvt_bgr2rgb: bool | None
    random_resize_param: RandomResizeParameterDict | pb.RandomResizeParameter | None
    random_aspect_ratio_param: RandomAspectRatioParameterDict | pb.RandomAspectRatioParameter | None
    flow: bool | None
    bgr2rgb: bool | None
    pad: int | None
    img_rand_resize_lower: int | None
    img_rand_resize_upper: int | None
    rand_resize_ratio_lower: float | None
    rand_resize_ratio_upper: float | None
    vertical_stretch_lower: float | None
    vertical_stretch_upper: float | None
    horizontal_stretch_lower: float | None
    horizontal_stretch_upper: float | None
    interpolation_algo_down: TransformationParameterInterpolationAlgoName | None
    interpolation_algo_up: TransformationParameterInterpolationAlgoName | None
    allow_upscale: bool | None
    forward_packing: PackingName | None
    use_gpu_transform: bool | None
    random_seed: int | None
    display: bool | None
    num_labels: int | None
    stride: int | None
    scale_cvg: float | None
    max_cvg_len: int | None
    min_cvg_len: int | None
    opaque_coverage: bool | None
    coverage: str | None
    flip_prob: float | None
    max_rotate_degree: float | None
    visualize: bool | None
    crop_size_x: int | None
    crop_size_y: int | None
    scale_prob: float | None
    scale_min: float | None
    scale_max: float | None
    bbox_norm_factor: float | None
    img_header: str | None
    target_dist: float | None
    center_perterb_max: float | None
    sigma: float | None
    sigma_center: float | None
    clahe_tile_size: float | None
    clahe_clip_limit: float | None
    do_clahe: bool | None
    num_parts: int | None
    num_total_augs: int | None
    aug_way: str | None
    gray: int | None
    np_in_lmdb: int | None
    transform_body_joint: bool | None
    vertical_mirror: bool | None
    random_90_deg_rot: bool | None
    center_crop: bool | None
    erase_ratio: float | None
    aspect_min: float | None
    aspect_max: float | None
    fix_crop: bool | None
    more_fix_crop: bool | None
    multi_scale: bool | None
    scale_ratios: float | Sequence[float] | None
    max_distort: int | None
    is_flow: bool | None
    original_image: bool | None
    upper_size: int | None
    upper_height: int | None
    upper_width: int | None
    put_gaussian: bool | None
    visualize_label: bool | None

class TripletLossParameterDict(TypedDict, total=False):
    margin: float | None

class TruncationParameterDict(TypedDict, total=False):
    lower_bound: float | None
    upper_bound: float | None

class UnPoolingParameterDict(TypedDict, total=False):
    unpool: UnPoolingParameterUnPoolMethodName | None
    out_pad: int | None
    out_pad_h: int | None
    out_pad_w: int | None
    out_kernel_size: int | None
    out_kernel_h: int | None
    out_kernel_w: int | None
    out_stride: int | None
    out_stride_h: int | None
    out_stride_w: int | None
    engine: UnPoolingParameterEngineName | None
    unpool_size: int | None
    unpool_h: int | None
    unpool_w: int | None
    kernel_size: int | None
    stride: int | None
    pad: int | None
    kernel_h: int | None
    kernel_w: int | None
    stride_h: int | None
    stride_w: int | None
    pad_h: int | None
    pad_w: int | None

class UniqueLabelParameterDict(TypedDict, total=False):
    max_labels: int | None
    ignore_label: int | Sequence[int] | None
    force_label: float | Sequence[float] | None

class UnstackParameterDict(TypedDict, total=False):
    pass

class UpsampleDarknetParameterDict(TypedDict, total=False):
    stride: int | None

class UpsampleParameterDict(TypedDict, total=False):
    scale: int | None
    scale_h: int | None
    scale_w: int | None
    pad_out_h: bool | None
    pad_out_w: bool | None
    upsample_h: int | None
    upsample_w: int | None

class V0LayerParameterDict(TypedDict, total=False):
    name: str | None
    type: str | None
    num_output: int | None
    biasterm: bool | None
    weight_filler: FillerParameterDict | pb.FillerParameter | None
    bias_filler: FillerParameterDict | pb.FillerParameter | None
    pad: int | None
    kernelsize: int | None
    group: int | None
    stride: int | None
    pool: V0LayerParameterPoolMethodName | None
    dropout_ratio: float | None
    local_size: int | None
    alpha: float | None
    beta: float | None
    k: float | None
    source: str | None
    scale: float | None
    meanfile: str | None
    batchsize: int | None
    cropsize: int | None
    mirror: bool | None
    blobs: BlobProtoDict | pb.BlobProto | Sequence[BlobProtoDict | pb.BlobProto] | None
    blobs_lr: float | Sequence[float] | None
    weight_decay: float | Sequence[float] | None
    rand_skip: int | None
    det_fg_threshold: float | None
    det_bg_threshold: float | None
    det_fg_fraction: float | None
    det_context_pad: int | None
    det_crop_mode: str | None
    new_num: int | None
    new_channels: int | None
    new_height: int | None
    new_width: int | None
    shuffle_images: bool | None
    concat_dim: int | None
    hdf5_output_param: HDF5OutputParameterDict | pb.HDF5OutputParameter | None
    subtraction: float | None
    can_clobber: bool | None
    context_pad: int | None
    crop_mode: str | None

class V1LayerParameterDict(TypedDict, total=False):
    bottom: str | Sequence[str] | None
    top: str | Sequence[str] | None
    name: str | None
    include: NetStateRuleDict | pb.NetStateRule | Sequence[NetStateRuleDict | pb.NetStateRule] | None
    exclude: NetStateRuleDict | pb.NetStateRule | Sequence[NetStateRuleDict | pb.NetStateRule] | None
    type: V1LayerParameterLayerTypeName | None
    blobs: BlobProtoDict | pb.BlobProto | Sequence[BlobProtoDict | pb.BlobProto] | None
    param: str | Sequence[str] | None
    blob_share_mode: V1LayerParameterDimCheckModeName | Sequence[V1LayerParameterDimCheckModeName] | None
    blobs_lr: float | Sequence[float] | None
    weight_decay: float | Sequence[float] | None
    loss_weight: float | Sequence[float] | None
    accuracy_param: AccuracyParameterDict | pb.AccuracyParameter | None
    argmax_param: ArgMaxParameterDict | pb.ArgMaxParameter | None
    concat_param: ConcatParameterDict | pb.ConcatParameter | None
    contrastive_loss_param: ContrastiveLossParameterDict | pb.ContrastiveLossParameter | None
    convolution_param: ConvolutionParameterDict | pb.ConvolutionParameter | None
    data_param: DataParameterDict | pb.DataParameter | None
    dropout_param: DropoutParameterDict | pb.DropoutParameter | None
    dummy_data_param: DummyDataParameterDict | pb.DummyDataParameter | None
    eltwise_param: EltwiseParameterDict | pb.EltwiseParameter | None
    exp_param: ExpParameterDict | pb.ExpParameter | None
    hdf5_data_param: HDF5DataParameterDict | pb.HDF5DataParameter | None
    hdf5_output_param: HDF5OutputParameterDict | pb.HDF5OutputParameter | None
    hinge_loss_param: HingeLossParameterDict | pb.HingeLossParameter | None
    image_data_param: ImageDataParameterDict | pb.ImageDataParameter | None
    infogain_loss_param: InfogainLossParameterDict | pb.InfogainLossParameter | None
    inner_product_param: InnerProductParameterDict | pb.InnerProductParameter | None
    lrn_param: LRNParameterDict | pb.LRNParameter | None
    memory_data_param: MemoryDataParameterDict | pb.MemoryDataParameter | None
    mvn_param: MVNParameterDict | pb.MVNParameter | None
    pooling_param: PoolingParameterDict | pb.PoolingParameter | None
    power_param: PowerParameterDict | pb.PowerParameter | None
    relu_param: ReLUParameterDict | pb.ReLUParameter | None
    sigmoid_param: SigmoidParameterDict | pb.SigmoidParameter | None
    softmax_param: SoftmaxParameterDict | pb.SoftmaxParameter | None
    slice_param: SliceParameterDict | pb.SliceParameter | None
    tanh_param: TanHParameterDict | pb.TanHParameter | None
    threshold_param: ThresholdParameterDict | pb.ThresholdParameter | None
    window_data_param: WindowDataParameterDict | pb.WindowDataParameter | None
    transform_param: TransformationParameterDict | pb.TransformationParameter | None
    loss_param: LossParameterDict | pb.LossParameter | None
    layer: V0LayerParameterDict | pb.V0LayerParameter | None
    relu6_param: ReLUParameterDict | pb.ReLUParameter | None
    bn_param: BNParameterDict | pb.BNParameter | None
    local_param: LocalParameterDict | pb.LocalParameter | None
    prelu_param: PReLUParameterDict | pb.PReLUParameter | None
    insanity_param: InsanityParameterDict | pb.InsanityParameter | None
    triplet_loss_param: TripletLossParameterDict | pb.TripletLossParameter | None
    roi_pooling_param: ROIPoolingParameterDict | pb.ROIPoolingParameter | None
    eltwise_affine_param: EltwiseAffineParameterDict | pb.EltwiseAffineParameter | None
    sub_region_param: SubRegionParameterDict | pb.SubRegionParameter | None
    noise_param: NoiseParameterDict | pb.NoiseParameter | None
    multi_stage_meanfield_param: MultiStageMeanfieldParameterDict | pb.MultiStageMeanfieldParameter | None
    affinity_param: AffinityParameterDict | pb.AffinityParameter | None
    binary_accuracy_param: BinaryAccuracyParameterDict | pb.BinaryAccuracyParameter | None
    eltwise_accuracy_param: EltwiseAccuracyParameterDict | pb.EltwiseAccuracyParameter | None
    red_softmax_loss_param: RedSoftmaxWithLossParameterDict | pb.RedSoftmaxWithLossParameter | None
    red_accuracy_param: RedAccuracyParameterDict | pb.RedAccuracyParameter | None
    unpooling_param: UnPoolingParameterDict | pb.UnPoolingParameter | None
    accuracy_regression_param: AccuracyRegressionParameterDict | pb.AccuracyRegressionParameter | None
    import_param: ImportParameterDict | pb.ImportParameter | None
    local_weighted_convolution_param: LocalWeightedConvolutionParameterDict | pb.LocalWeightedConvolutionParameter | None
    lrn_map_param: LRNMapParameterDict | pb.LRNMapParameter | None

class VideoDataParameterDict(TypedDict, total=False):
    video_type: VideoDataParameterVideoTypeName | None
    device_id: int | None
    video_file: str | None
    skip_frames: int | None
    source: str | None
    batch_size: int | None
    rand_skip: int | None
    shuffle: bool | None
    new_height: int | None
    new_width: int | None
    new_length: int | None
    num_segments: int | None
    modality: VideoDataParameterModalityName | None
    name_pattern: str | None
    encoded: bool | None
    grayscale: bool | None

class Where4GatherndCropParameterDict(TypedDict, total=False):
    pass

class Where4GatherndParameterDict(TypedDict, total=False):
    pass

class Where4ParameterDict(TypedDict, total=False):
    pass

class WindowDataParameterDict(TypedDict, total=False):
    source: str | None
    scale: float | None
    mean_file: str | None
    batch_size: int | None
    crop_size: int | None
    mirror: bool | None
    fg_threshold: float | None
    bg_threshold: float | None
    fg_fraction: float | None
    context_pad: int | None
    crop_mode: str | None
    cache_images: bool | None
    root_folder: str | None

class WriterParameterDict(TypedDict, total=False):
    file: str | None
    folder: str | None
    prefix: str | None
    suffix: str | None
    normalize: bool | None
    scale: float | None

class XLUParameterDict(TypedDict, total=False):
    pass

class YoloDetectionOutputParameterDict(TypedDict, total=False):
    side: int | None
    num_classes: int | None
    num_box: int | None
    coords: int | None
    confidence_threshold: float | None
    nms_threshold: float | None
    biases: float | Sequence[float] | None
    label_map_file: str | None

class YoloSegParameterDict(TypedDict, total=False):
    num_class: int | None
    object_scale: float | None
    class_scale: float | None
    use_logic_gradient: bool | None
    use_hardsigmoid: bool | None

class YoloV2LossParameterDict(TypedDict, total=False):
    pass

class YoloV3LossParameterDict(TypedDict, total=False):
    pass

class Yolov3DetectionOutputParameterDict(TypedDict, total=False):
    num_classes: int | None
    num_box: int | None
    confidence_threshold: float | None
    nms_threshold: float | None
    biases: float | Sequence[float] | None
    anchors_scale: int | Sequence[int] | None
    mask_group_num: int | None
    mask: int | Sequence[int] | None
    gaussian_box: bool | None

class Yolov3ParameterDict(TypedDict, total=False):
    side: int | None
    num_class: int | None
    num: int | None
    object_scale: float | None
    class_scale: float | None
    noobject_scale: float | None
    coord_scale: float | None
    thresh: float | None
    anchors_scale: int | None
    biases: float | Sequence[float] | None
    mask: int | Sequence[int] | None
    use_logic_gradient: bool | None
    use_focal_loss: bool | None
    iou_loss: Yolov3ParameterIOU_LOSSName | None
    iou_normalizer: float | None
    iou_thresh: float | None
    max_delta: float | None
    accumulate: bool | None
    label_smooth_eps: float | None

class LayerSettings(TypedDict, total=False):
    phase: PhaseName | None
    loss_weight: float | Sequence[float] | None
    param: ParamSpecDict | pb.ParamSpec | Sequence[ParamSpecDict | pb.ParamSpec] | None
    propagate_down: bool | Sequence[bool] | None
    include: NetStateRuleDict | pb.NetStateRule | Sequence[NetStateRuleDict | pb.NetStateRule] | None
    exclude: NetStateRuleDict | pb.NetStateRule | Sequence[NetStateRuleDict | pb.NetStateRule] | None
    transform_param: TransformationParameterDict | pb.TransformationParameter | None
    loss_param: LossParameterDict | pb.LossParameter | None
    accuracy_param: AccuracyParameterDict | pb.AccuracyParameter | None
    argmax_param: ArgMaxParameterDict | pb.ArgMaxParameter | None
    batch_norm_param: BatchNormParameterDict | pb.BatchNormParameter | None
    bias_param: BiasParameterDict | pb.BiasParameter | None
    clip_param: ClipParameterDict | pb.ClipParameter | None
    concat_param: ConcatParameterDict | pb.ConcatParameter | None
    contrastive_loss_param: ContrastiveLossParameterDict | pb.ContrastiveLossParameter | None
    convolution_param: ConvolutionParameterDict | pb.ConvolutionParameter | None
    crop_param: CropParameterDict | pb.CropParameter | None
    data_param: DataParameterDict | pb.DataParameter | None
    dropout_param: DropoutParameterDict | pb.DropoutParameter | None
    dummy_data_param: DummyDataParameterDict | pb.DummyDataParameter | None
    eltwise_param: EltwiseParameterDict | pb.EltwiseParameter | None
    elu_param: ELUParameterDict | pb.ELUParameter | None
    embed_param: EmbedParameterDict | pb.EmbedParameter | None
    exp_param: ExpParameterDict | pb.ExpParameter | None
    flatten_param: FlattenParameterDict | pb.FlattenParameter | None
    hdf5_data_param: HDF5DataParameterDict | pb.HDF5DataParameter | None
    hdf5_output_param: HDF5OutputParameterDict | pb.HDF5OutputParameter | None
    hinge_loss_param: HingeLossParameterDict | pb.HingeLossParameter | None
    image_data_param: ImageDataParameterDict | pb.ImageDataParameter | None
    infogain_loss_param: InfogainLossParameterDict | pb.InfogainLossParameter | None
    inner_product_param: InnerProductParameterDict | pb.InnerProductParameter | None
    input_param: InputParameterDict | pb.InputParameter | None
    log_param: LogParameterDict | pb.LogParameter | None
    lrn_param: LRNParameterDict | pb.LRNParameter | None
    memory_data_param: MemoryDataParameterDict | pb.MemoryDataParameter | None
    mvn_param: MVNParameterDict | pb.MVNParameter | None
    parameter_param: ParameterParameterDict | pb.ParameterParameter | None
    pooling_param: PoolingParameterDict | pb.PoolingParameter | None
    power_param: PowerParameterDict | pb.PowerParameter | None
    prelu_param: PReLUParameterDict | pb.PReLUParameter | None
    python_param: PythonParameterDict | pb.PythonParameter | None
    recurrent_param: RecurrentParameterDict | pb.RecurrentParameter | None
    reduction_param: ReductionParameterDict | pb.ReductionParameter | None
    relu_param: ReLUParameterDict | pb.ReLUParameter | None
    reshape_param: ReshapeParameterDict | pb.ReshapeParameter | None
    scale_param: ScaleParameterDict | pb.ScaleParameter | None
    sigmoid_param: SigmoidParameterDict | pb.SigmoidParameter | None
    softmax_param: SoftmaxParameterDict | pb.SoftmaxParameter | None
    spp_param: SPPParameterDict | pb.SPPParameter | None
    slice_param: SliceParameterDict | pb.SliceParameter | None
    swish_param: SwishParameterDict | pb.SwishParameter | None
    tanh_param: TanHParameterDict | pb.TanHParameter | None
    threshold_param: ThresholdParameterDict | pb.ThresholdParameter | None
    tile_param: TileParameterDict | pb.TileParameter | None
    window_data_param: WindowDataParameterDict | pb.WindowDataParameter | None
    annotated_data_param: AnnotatedDataParameterDict | pb.AnnotatedDataParameter | None
    detection_evaluate_param: DetectionEvaluateParameterDict | pb.DetectionEvaluateParameter | None
    detection_output_param: DetectionOutputParameterDict | pb.DetectionOutputParameter | None
    multibox_loss_param: MultiBoxLossParameterDict | pb.MultiBoxLossParameter | None
    norm_param: NormalizeParameterDict | pb.NormalizeParameter | None
    permute_param: PermuteParameterDict | pb.PermuteParameter | None
    prior_box_param: PriorBoxParameterDict | pb.PriorBoxParameter | None
    video_data_param: VideoDataParameterDict | pb.VideoDataParameter | None
    roi_pooling_param: ROIPoolingParameterDict | pb.ROIPoolingParameter | None
    smooth_l1_loss_param: SmoothL1LossParameterDict | pb.SmoothL1LossParameter | None
    box_annotator_ohem_param: BoxAnnotatorOHEMParameterDict | pb.BoxAnnotatorOHEMParameter | None
    psroi_pooling_param: PSROIPoolingParameterDict | pb.PSROIPoolingParameter | None
    adaptive_bias_channel_param: AdaptiveBiasChannelParameterDict | pb.AdaptiveBiasChannelParameter | None
    bn_param: BNParameterDict | pb.BNParameter | None
    bias_channel_param: BiasChannelParameterDict | pb.BiasChannelParameter | None
    dense_crf_param: DenseCRFParameterDict | pb.DenseCRFParameter | None
    domain_transform_param: DomainTransformParameterDict | pb.DomainTransformParameter | None
    interp_param: InterpParameterDict | pb.InterpParameter | None
    mat_read_param: MatReadParameterDict | pb.MatReadParameter | None
    mat_write_param: MatWriteParameterDict | pb.MatWriteParameter | None
    seg_accuracy_param: SegAccuracyParameterDict | pb.SegAccuracyParameter | None
    unique_label_param: UniqueLabelParameterDict | pb.UniqueLabelParameter | None
    dense_image_data_param: DenseImageDataParameterDict | pb.DenseImageDataParameter | None
    upsample_param: UpsampleParameterDict | pb.UpsampleParameter | None
    region_loss_param: RegionLossParameterDict | pb.RegionLossParameter | None
    yolov3_param: Yolov3ParameterDict | pb.Yolov3Parameter | None
    yolo_seg_param: YoloSegParameterDict | pb.YoloSegParameter | None
    segmentation_evaluate_param: SegmentationEvaluateParameterDict | pb.SegmentationEvaluateParameter | None
    yolo_detection_output_param: YoloDetectionOutputParameterDict | pb.YoloDetectionOutputParameter | None
    yolov3_detection_output_param: Yolov3DetectionOutputParameterDict | pb.Yolov3DetectionOutputParameter | None
    relu6_param: ReLUParameterDict | pb.ReLUParameter | None
    reorg_param: ReorgParameterDict | pb.ReorgParameter | None
    split_param: SplitParameterDict | pb.SplitParameter | None
    spatial_dropout_param: SpatialDropoutParameterDict | pb.SpatialDropoutParameter | None
    multinode: MultinodeLayerParameterDict | pb.MultinodeLayerParameter | None
    mn_activation_param: MnActivationParameterDict | pb.MnActivationParameter | None
    mn_grad_compress_param: MnParamGradCompressParameterDict | pb.MnParamGradCompressParameter | None
    quantization_param: QuantizationParameterDict | pb.QuantizationParameter | None
    eval_detection_param: EvalDetectionParameterDict | pb.EvalDetectionParameter | None
    forward_type: TypeName | None
    backward_type: TypeName | None
    forward_math: TypeName | None
    backward_math: TypeName | None
    debug: bool | None
    cudnn_math_override: int | None
    trt_param: TRTParameterDict | pb.TRTParameter | None
    detectnet_groundtruth_param: DetectNetGroundTruthParameterDict | pb.DetectNetGroundTruthParameter | None
    detectnet_augmentation_param: DetectNetAugmentationParameterDict | pb.DetectNetAugmentationParameter | None
    imresize_param: ImResizeParameterDict | pb.ImResizeParameter | None
    parse_evaluate_param: ParseEvaluateParameterDict | pb.ParseEvaluateParameter | None
    unpooling_param: UnPoolingParameterDict | pb.UnPoolingParameter | None
    coeff_schedule_param: CoeffScheduleParameterDict | pb.CoeffScheduleParameter | None
    augmentation_param: AugmentationParameterDict | pb.AugmentationParameter | None
    correlation_param: CorrelationParameterDict | pb.CorrelationParameter | None
    l1_loss_param: L1LossParameterDict | pb.L1LossParameter | None
    writer_param: WriterParameterDict | pb.WriterParameter | None
    reader_param: ReaderParameterDict | pb.ReaderParameter | None
    mean_param: MeanParameterDict | pb.MeanParameter | None
    resample_param: ResampleParameterDict | pb.ResampleParameter | None
    downsample_param: DownsampleParameterDict | pb.DownsampleParameter | None
    lpq_loss_param: LpqLossParameterDict | pb.LpqLossParameter | None
    flow_warp_param: FlowWarpParameterDict | pb.FlowWarpParameter | None
    accum_param: AccumParameterDict | pb.AccumParameter | None
    black_augmentation_param: BlackAugmentationParameterDict | pb.BlackAugmentationParameter | None
    reshape_every_iter: bool | None
    margin_inner_product_param: MarginInnerProductParameterDict | pb.MarginInnerProductParameter | None
    center_loss_param: CenterLossParameterDict | pb.CenterLossParameter | None
    local_param: LocalParameterDict | pb.LocalParameter | None
    insanity_param: InsanityParameterDict | pb.InsanityParameter | None
    triplet_loss_param: TripletLossParameterDict | pb.TripletLossParameter | None
    eltwise_affine_param: EltwiseAffineParameterDict | pb.EltwiseAffineParameter | None
    sub_region_param: SubRegionParameterDict | pb.SubRegionParameter | None
    noise_param: NoiseParameterDict | pb.NoiseParameter | None
    hotspot_param: HotspotParameterDict | pb.HotspotParameter | None
    predict_box_param: PredictBoxParameterDict | pb.PredictBoxParameter | None
    mil_data_param: MILDataParameterDict | pb.MILDataParameter | None
    mil_param: MILParameterDict | pb.MILParameter | None
    fcn_data_param: FCNDataParameterDict | pb.FCNDataParameter | None
    flip_param: FlipParameterDict | pb.FlipParameter | None
    inner_distance_param: InnerDistanceParameterDict | pb.InnerDistanceParameter | None
    normalize_param: NormalizeParameterDict | pb.NormalizeParameter | None
    general_contrastive_loss_param: GeneralContrastiveParameterDict | pb.GeneralContrastiveParameter | None
    soft_contrastive_loss_param: SoftContrastiveParameterDict | pb.SoftContrastiveParameter | None
    general_triplet_loss_param: GeneralTripletParameterDict | pb.GeneralTripletParameter | None
    soft_truncation_param: SoftTruncationParameterDict | pb.SoftTruncationParameter | None
    proposal_param: ProposalParameterDict | pb.ProposalParameter | None
    pairwise_param: PairwiseParameterDict | pb.PairwiseParameter | None
    smoothl1_param: SmoothL1ParameterDict | pb.SmoothL1Parameter | None
    batch_contrastive_loss_param: BatchContrastiveParameterDict | pb.BatchContrastiveParameter | None
    truncation_param: TruncationParameterDict | pb.TruncationParameter | None
    nca_param: NCAParameterDict | pb.NCAParameter | None
    largemargin_inner_product_param: LargeMarginInnerProductParameterDict | pb.LargeMarginInnerProductParameter | None
    label_specific_rescale_param: LabelSpecificRescaleParameterDict | pb.LabelSpecificRescaleParameter | None
    infimum_loss_param: InfimumLossParamterDict | pb.InfimumLossParamter | None
    ordinal_regression_loss_param: OrdinalRegressionParameterDict | pb.OrdinalRegressionParameter | None
    feature_decay_loss_param: FeatureDecayLossParameterDict | pb.FeatureDecayLossParameter | None
    confidence_penalty_loss_param: ConfidencePenaltyLossParameterDict | pb.ConfidencePenaltyLossParameter | None
    focal_loss_param: FocalLossParameterDict | pb.FocalLossParameter | None
    label_specific_margin_param: LabelSpecificMarginParameterDict | pb.LabelSpecificMarginParameter | None
    channel_scale_param: ChannelScaleParameterDict | pb.ChannelScaleParameter | None
    label_specific_affine_param: LabelSpecificAffineParameterDict | pb.LabelSpecificAffineParameter | None
    label_specific_hard_margin_param: LabelSpecificHardMarginParameterDict | pb.LabelSpecificHardMarginParameter | None
    label_specific_add_param: LabelSpecificAddParameterDict | pb.LabelSpecificAddParameter | None
    multi_stage_meanfield_param: MultiStageMeanfieldParameterDict | pb.MultiStageMeanfieldParameter | None
    bottom_data_type: DataTypeName | None
    compute_data_type: DataTypeName | None
    top_data_type: DataTypeName | None
    bottom_quantizer: QuantizerParameterDict | pb.QuantizerParameter | Sequence[QuantizerParameterDict | pb.QuantizerParameter] | None
    top_quantizer: QuantizerParameterDict | pb.QuantizerParameter | Sequence[QuantizerParameterDict | pb.QuantizerParameter] | None
    net_quantizer: QuantizerParameterDict | pb.QuantizerParameter | None
    blobs_quantizer: QuantizerParameterDict | pb.QuantizerParameter | Sequence[QuantizerParameterDict | pb.QuantizerParameter] | None
    autotune: AutotuneName | None
    device: int | None
    bottom_shared_index: int | Sequence[int] | None
    top_shared_index: int | Sequence[int] | None
    mergecrop_param: MergeCropParameterDict | pb.MergeCropParameter | None
    affinity_param: AffinityParameterDict | pb.AffinityParameter | None
    moe_param: MOEParameterDict | pb.MOEParameter | None
    seg_data_param: SegDataParameterDict | pb.SegDataParameter | None
    batch_reduction_param: BatchReductionParameterDict | pb.BatchReductionParameter | None
    color_conv_param: ColorConvParameterDict | pb.ColorConvParameter | None
    gan_loss_param: GANLossParameterDict | pb.GANLossParameter | None
    lstm_unit_param: LSTMUnitParameterDict | pb.LSTMUnitParameter | None
    xlu_param: XLUParameterDict | pb.XLUParameter | None
    roi_align_param: ROIAlignParameterDict | pb.ROIAlignParameter | None
    shuffle_channel_param: ShuffleChannelParameterDict | pb.ShuffleChannelParameter | None
    squeeze_convolution_param: SqueezeConvolutionParameterDict | pb.SqueezeConvolutionParameter | None
    squeeze_inner_product_param: SqueezeInnerProductParameterDict | pb.SqueezeInnerProductParameter | None
    yolo_v2_loss_param: YoloV2LossParameterDict | pb.YoloV2LossParameter | None
    yolo_v3_loss_param: YoloV3LossParameterDict | pb.YoloV3LossParameter | None
    upsample_darknet_param: UpsampleDarknetParameterDict | pb.UpsampleDarknetParameter | None
    depth_to_space_param: DepthToSpaceParameterDict | pb.DepthToSpaceParameter | None
    resize_nearest_neighbor_param: ResizeNearestNeighborParameterDict | pb.ResizeNearestNeighborParameter | None
    gather_param: GatherParameterDict | pb.GatherParameter | None
    topk_gather_param: TopkGatherParameterDict | pb.TopkGatherParameter | None
    nms_gather_param: NMSGatherParameterDict | pb.NMSGatherParameter | None
    gather_nd_param: GatherNdParameterDict | pb.GatherNdParameter | None
    where4_param: Where4ParameterDict | pb.Where4Parameter | None
    where4_gathernd_param: Where4GatherndParameterDict | pb.Where4GatherndParameter | None
    crop_and_resize_param: CropAndResizeParameterDict | pb.CropAndResizeParameter | None
    where4_gathernd_crop_param: Where4GatherndCropParameterDict | pb.Where4GatherndCropParameter | None
    pyramid_roi_align_param: PyramidRoiAlignParameterDict | pb.PyramidRoiAlignParameter | None
    space_to_depth_param: SpaceToDepthParameterDict | pb.SpaceToDepthParameter | None
    pad_param: PadParameterDict | pb.PadParameter | None
    stack_param: StackParameterDict | pb.StackParameter | None
    resize_bilinear_param: ResizeBilinearParameterDict | pb.ResizeBilinearParameter | None
    reduce_sum_param: ReduceSumParameterDict | pb.ReduceSumParameter | None
    reduce_max_param: ReduceMaxParameterDict | pb.ReduceMaxParameter | None
    reduce_min_param: ReduceMinParameterDict | pb.ReduceMinParameter | None
    reduce_prod_param: ReduceProdParameterDict | pb.ReduceProdParameter | None
    reduce_mean_param: ReduceMeanParameterDict | pb.ReduceMeanParameter | None
    selu_param: SeLuParameterDict | pb.SeLuParameter | None
    selu_dropout_param: SeLuDropoutParameterDict | pb.SeLuDropoutParameter | None
    unstack_param: UnstackParameterDict | pb.UnstackParameter | None
    batch_to_space_nd_param: BatchToSpaceNDParameterDict | pb.BatchToSpaceNDParameter | None
    space_to_batch_nd_param: SpaceToBatchNDParameterDict | pb.SpaceToBatchNDParameter | None
    mirror_pad_param: MirrorPadParameterDict | pb.MirrorPadParameter | None
    tile_nd_param: TileNDParameterDict | pb.TileNDParameter | None
    expand_dims_nd_param: ExpandDimsNDParameterDict | pb.ExpandDimsNDParameter | None
    squeeze_param: SqueezeParameterDict | pb.SqueezeParameter | None
    broadcast_to_param: BroadcastToParameterDict | pb.BroadcastToParameter | None
    strided_slice_param: StridedSliceParameterDict | pb.StridedSliceParameter | None
    piece_param: PieceParameterDict | pb.PieceParameter | None
    range_param: RangeParameterDict | pb.RangeParameter | None
    sparse_to_dense_param: SparseToDenseParameterDict | pb.SparseToDenseParameter | None
    embedding_lookup_param: EmbeddingLookupParameterDict | pb.EmbeddingLookupParameter | None
    embedding_lookup_sparse_param: EmbeddingLookupSparseParameterDict | pb.EmbeddingLookupSparseParameter | None
    gemm_param: GemmParameterDict | pb.GemmParameter | None
    reduce_l1_param: ReduceL1ParameterDict | pb.ReduceL1Parameter | None
    reduce_l2_param: ReduceL2ParameterDict | pb.ReduceL2Parameter | None
    reduce_logsumexp_param: ReduceLogsumexpParameterDict | pb.ReduceLogsumexpParameter | None
    reduce_all_param: ReduceAllParameterDict | pb.ReduceAllParameter | None
    reduce_any_param: ReduceAnyParameterDict | pb.ReduceAnyParameter | None
    reverse_sequence_param: ReverseSequenceParameterDict | pb.ReverseSequenceParameter | None
    hard_sigmoid_param: HardSigmoidParameterDict | pb.HardSigmoidParameter | None
    thresholded_relu_param: ThresholdedReLUParameterDict | pb.ThresholdedReLUParameter | None
    eltwise_accuracy_param: EltwiseAccuracyParameterDict | pb.EltwiseAccuracyParameter | None
    cpm_transform_param: CPMTransformationParameterDict | pb.CPMTransformationParameter | None
    cpmdata_param: CPMDataParameterDict | pb.CPMDataParameter | None
    heatmap_data_param: HeatmapDataParameterDict | pb.HeatmapDataParameter | None
    visualise: bool | None
    visualise_channel: int | None
    crop_center_param: CropCenterParameterDict | pb.CropCenterParameter | None

class AllLayerSettings(LayerSettings, total=False):
    engine: str | None
    nms_param: NmsParameterDict | pb.NmsParameter | None
    resize_param: ResizeParameterDict | pb.ResizeParameter | None

class NetSettings(TypedDict, total=False):
    force_backward: bool | None
    state: NetStateDict | pb.NetState | None
    debug_info: bool | None
    compile_net_state: CompileNetStateDict | pb.CompileNetState | None
    engine: str | None
    bn_stats_batch_size: int | None
    multinode: MultinodeParameterDict | pb.MultinodeParameter | None
    default_forward_type: TypeName | None
    default_backward_type: TypeName | None
    default_forward_math: TypeName | None
    default_backward_math: TypeName | None
    global_grad_scale: float | None
    global_grad_scale_adaptive: bool | None
    default_conv_algos_override: str | None
    reduce_buckets: int | None
    default_cudnn_math_override: int | None
    eltwise_mem_sharing: bool | None
    data_type: DataTypeName | None
    quantizer: QuantizerParameterDict | pb.QuantizerParameter | Sequence[QuantizerParameterDict | pb.QuantizerParameter] | None
    reduced_memory_inference: bool | None
    autotune: AutotuneName | None
    version: int | None
    bottom: str | Sequence[str] | None

def AbsVal(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the absolute value: |x|."""

def Accuracy(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    top_k: int | None = ...,
    axis: int | None = ...,
    ignore_label: int | None = ...,
    min_is_better: bool | None = ...,
    denominator: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the share of labels for which fewer than `top_k` other classes score at least as high.

    The second top contains the share for each class.
    """

def Add(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes a + b. Axes of length 1 are broadcast."""

def AnnotatedData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    batch_sampler: BatchSamplerDict | pb.BatchSampler | Sequence[BatchSamplerDict | pb.BatchSampler] | None = ...,
    label_map_file: str | None = ...,
    anno_type: AnnotatedDatumAnnotationTypeName | None = ...,
    yolo_data_type: int | None = ...,
    yolo_data_jitter: float | None = ...,
    train_diffcult: bool | None = ...,
    single_class: bool | None = ...,
    seg_scales: int | None = ...,
    seg_resize_width: int | None = ...,
    seg_resize_height: int | None = ...,
    difficult_label_warmup: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Reads images and rows of (image, label, instance, x1, y1, x2, y2, difficult).

    In MobileNet-YOLO, it also reads class maps. The number of rows differs from batch to batch. The shapes assume one
    row for each image. A batch without objects has one row of -1. With `yolo_data_type: 1`, there are 300 rows of
    (class, x, y, width, height) for each image. The maps have one channel for each number in the label map, or a single
    channel for all classes. Without a label map, the shapes assume a single channel.
    """

def ArgMax(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    out_max_val: bool | None = ...,
    top_k: int | None = ...,
    axis: int | None = ...,
    min_first: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the indices of the `top_k` largest values along an axis, or over all values of each item.

    `out_max_val` outputs the values instead of the indices if there is an axis, and otherwise the values after the
    indices.
    """

def AssistedExcitation(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes x + alpha * mean inside the true boxes. The third bottom is the mean over channels and gets no gradient.

    Alpha falls from 1 to 0 along a cosine during the training. The solver sets `iteration` and `max_iteration`. A label
    has rows of class, x, y, width and height, and ends at the first zero. Caffe changes only the first item of a batch.
    """

def Axpy(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes a * x + y. `a` has one number for each channel of each item."""

def BN(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    slope_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    momentum: float | None = ...,
    eps: float | None = ...,
    frozen: bool | None = ...,
    engine: BNParameterEngineName | None = ...,
    bn_mode: BNParameterBNModeName | None = ...,
    scale_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    shift_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    var_eps: float | None = ...,
    moving_average: bool | None = ...,
    decay: float | None = ...,
    across_spatial: bool | None = ...,
    icnet: bool | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes slope * (x - mean) / sqrt(variance + eps) + bias for each channel.

    Several forks have a type of this name. SegNet's has two blobs, slope and bias. It uses the batch's mean and
    variance in both phases, or none with `bn_mode: INFERENCE`. PSPNet's also has running averages as two more blobs and
    uses them in TEST and when frozen. So does happynear's, but its fourth blob averages 1 / sqrt(variance + eps). Its
    first version averaged variances and added eps only in training.

    A layer with a `scale_filler`, a `shift_filler`, a `bn_mode` or more than one top (the batch's mean and variance) is
    SegNet's or happynear's first version. Other layers are PSPNet's or happynear's. The net's dialect decides between
    the two. Synopsys has SegNet's, and PSPNet's if `icnet` is set.
    """

def BNLL(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes log(1 + exp(x))."""

def BatchNorm(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    use_global_stats: bool | None = ...,
    moving_average_fraction: float | None = ...,
    eps: float | None = ...,
    update_global_stats: bool | None = ...,
    engine: BatchNormParameterEngineName | None = ...,
    use_weight_bias: bool | None = ...,
    bias_term: bool | None = ...,
    filler: FillerParameterDict | pb.FillerParameter | None = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    stats_batch_size: int | None = ...,
    relu: bool | None = ...,
    scale_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    scale_bias: bool | None = ...,
    disable_mean: bool | None = ...,
    disable_variance: bool | None = ...,
    fused_relu: bool | None = ...,
    add_eps_before_sqrt: bool | None = ...,
    icnet: bool | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes (x - mean) / sqrt(variance + eps) for each channel.

    The mean and the variance are the batch's in training, and running averages in TEST. The blobs are sums of means, of
    variances and of weights. An average is a sum divided by the sum of the weights. In NVCaffe and with Intel's
    engines, the layer can also have a scale and a bias.
    """

def BatchReindex(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Selects items of the first bottom by the indices in the second bottom.

    An index can occur several times or not at all.
    """

def BatchToSpaceND(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    block_shape: int | Sequence[int] | None = ...,
    crops: int | Sequence[int] | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Moves items of the batch to the positions of blocks of `block_shape`, and removes `crops` from the borders."""

def Bias(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    axis: int | None = ...,
    num_axes: int | None = ...,
    filler: FillerParameterDict | pb.FillerParameter | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes x + bias along the axes from `axis` on. The bias is learned, or is the second bottom."""

def BoxAnnotatorOHEM(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    roi_per_img: int | None = ...,
    ignore_label: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Keeps the labels and box weights of the `roi_per_img` regions with the largest losses in each image.

    Other regions get the ignored label and a weight of 0. The bottoms are regions, losses, labels and box weights. Of
    the regions, only the image index is read.
    """

def CPMData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    scale: float | None = ...,
    mirror: bool | None = ...,
    crop_size: int | None = ...,
    mean_file: str | None = ...,
    mean_value: float | Sequence[float] | None = ...,
    stride: int | None = ...,
    scale_cvg: float | None = ...,
    max_cvg_len: int | None = ...,
    min_cvg_len: int | None = ...,
    opaque_coverage: bool | None = ...,
    coverage: str | None = ...,
    flip_prob: float | None = ...,
    max_rotate_degree: float | None = ...,
    visualize: bool | None = ...,
    crop_size_x: int | None = ...,
    crop_size_y: int | None = ...,
    scale_prob: float | None = ...,
    scale_min: float | None = ...,
    scale_max: float | None = ...,
    bbox_norm_factor: float | None = ...,
    img_header: str | None = ...,
    force_color: bool | None = ...,
    force_gray: bool | None = ...,
    target_dist: float | None = ...,
    center_perterb_max: float | None = ...,
    sigma: float | None = ...,
    sigma_center: float | None = ...,
    clahe_tile_size: float | None = ...,
    clahe_clip_limit: float | None = ...,
    do_clahe: bool | None = ...,
    num_parts: int | None = ...,
    num_total_augs: int | None = ...,
    aug_way: str | None = ...,
    gray: int | None = ...,
    np_in_lmdb: int | None = ...,
    transform_body_joint: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Reads images, and weights and maps for the joints and limbs of all people in them.

    `cpm_transform_param` has the settings. The older type of this name has a `cpmdata_param` and its settings in
    `transform_param`. It is for a single person, whose position is marked in the image's fourth channel. The maps show
    this person's joints first, and then the joints of all people.
    """

def CenterLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int | None = ...,
    center_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    axis: int | None = ...,
    distance_type: str | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes half the mean squared distance between items and the centers of their classes.

    With happynear's `distance_type: "L1"`, it is the mean absolute distance instead. The centers don't follow the
    gradient of the loss. Each moves to the mean of its items and its current place, whatever the loss_weight is. In
    happynear's Caffe, it moves by that step for each of these items. Without a `loss_weight`, the weight is 0.
    """

def ChannelScale(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    do_forward: bool | None = ...,
    do_backward_feature: bool | None = ...,
    do_backward_scale: bool | None = ...,
    global_scale: bool | None = ...,
    max_global_scale: float | None = ...,
    min_global_scale: float | None = ...,
    init_global_scale: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the product of the first bottom and the second one, which has one number for each item and position."""

def Clip(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    min: float | None = ...,
    max: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes max(min, min(x, max)). The gradient passes at the bounds themselves."""

def Concat(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    axis: int | None = ...,
    concat_dim: int | None = ...,
    per_fla_fuse: bool | None = ...,
    engine: ConcatParameterEngineName | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Joins all bottoms along `axis`.

    Intel's `per_fla_fuse` first permutes each bottom so that channels are last, then flattens it. The blobs are joined
    on axis 1, and the top has two more axes of length 1.
    """

def ContrastiveLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    margin: float | None = ...,
    legacy_version: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the mean of d^2 / 2 for similar pairs and max(margin - d, 0)^2 / 2 for other pairs with the distance d.

    The legacy version has max(margin - d^2, 0) / 2 for other pairs.
    """

def Convolution(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int | None = ...,
    bias_term: bool | None = ...,
    pad: int | Sequence[int] | None = ...,
    kernel_size: int | Sequence[int] | None = ...,
    stride: int | Sequence[int] | None = ...,
    dilation: int | Sequence[int] | None = ...,
    pad_h: int | None = ...,
    pad_w: int | None = ...,
    kernel_h: int | None = ...,
    kernel_w: int | None = ...,
    stride_h: int | None = ...,
    stride_w: int | None = ...,
    group: int | None = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    engine: ConvolutionParameterEngineName | None = ...,
    axis: int | None = ...,
    force_nd_im2col: bool | None = ...,
    relu: bool | None = ...,
    negative_slope: float | None = ...,
    conv_algorithm: str | None = ...,
    coeff: float | Sequence[float] | None = ...,
    fusion_type: ConvolutionParameterFusionTypeName | None = ...,
    cudnn_convolution_algo_seeker: ConvolutionParameterCuDNNConvolutionAlgorithmSeekerName | None = ...,
    conv_algos_override: str | None = ...,
    filter_stride: int | None = ...,
    filter_stride_h: int | None = ...,
    filter_stride_w: int | None = ...,
    shape_offset: int | Sequence[int] | None = ...,
    fuse_type: ConvolutionParameterFuseTypeName | None = ...,
    dilation_h: int | None = ...,
    dilation_w: int | None = ...,
    pad_type: int | None = ...,
    pad_l: int | None = ...,
    pad_r: int | None = ...,
    pad_t: int | None = ...,
    pad_b: int | None = ...,
    input_scale: float | None = ...,
    output_scale: float | None = ...,
    saturate: ConvolutionParameterSaturateMethodName | None = ...,
    weight_fixed: bool | None = ...,
    dis_mode: bool | None = ...,
    gen_mode: bool | None = ...,
    mem_group_size: int | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Convolves the bottom with learned filters and adds a bias.

    At each position, a filter's value is the sum of its products with a window of the bottom.
    """

def ConvolutionDepthwise(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int | None = ...,
    bias_term: bool | None = ...,
    pad: int | Sequence[int] | None = ...,
    kernel_size: int | Sequence[int] | None = ...,
    stride: int | Sequence[int] | None = ...,
    dilation: int | Sequence[int] | None = ...,
    pad_h: int | None = ...,
    pad_w: int | None = ...,
    kernel_h: int | None = ...,
    kernel_w: int | None = ...,
    stride_h: int | None = ...,
    stride_w: int | None = ...,
    group: int | None = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    engine: ConvolutionParameterEngineName | None = ...,
    axis: int | None = ...,
    force_nd_im2col: bool | None = ...,
    relu: bool | None = ...,
    negative_slope: float | None = ...,
    conv_algorithm: str | None = ...,
    coeff: float | Sequence[float] | None = ...,
    fusion_type: ConvolutionParameterFusionTypeName | None = ...,
    cudnn_convolution_algo_seeker: ConvolutionParameterCuDNNConvolutionAlgorithmSeekerName | None = ...,
    conv_algos_override: str | None = ...,
    filter_stride: int | None = ...,
    filter_stride_h: int | None = ...,
    filter_stride_w: int | None = ...,
    shape_offset: int | Sequence[int] | None = ...,
    fuse_type: ConvolutionParameterFuseTypeName | None = ...,
    dilation_h: int | None = ...,
    dilation_w: int | None = ...,
    pad_type: int | None = ...,
    pad_l: int | None = ...,
    pad_r: int | None = ...,
    pad_t: int | None = ...,
    pad_b: int | None = ...,
    input_scale: float | None = ...,
    output_scale: float | None = ...,
    saturate: ConvolutionParameterSaturateMethodName | None = ...,
    weight_fixed: bool | None = ...,
    dis_mode: bool | None = ...,
    gen_mode: bool | None = ...,
    mem_group_size: int | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Convolves each channel with its own filters. `num_output` may be left out."""

def Crop(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    axis: int | None = ...,
    offset: int | Sequence[int] | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Crops the first bottom to the size of the second one from `axis` on. The part starts at `offset`."""

def CropCenter(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    crop_size: int | Sequence[int] | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Removes `crop_size` values at both ends of each axis."""

def Data(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    source: str | None = ...,
    batch_size: int | None = ...,
    rand_skip: int | None = ...,
    backend: DataParameterDBName | None = ...,
    scale: float | None = ...,
    mean_file: str | None = ...,
    crop_size: int | None = ...,
    mirror: bool | None = ...,
    force_encoded_color: bool | None = ...,
    prefetch: int | None = ...,
    shuffle: bool | None = ...,
    side: int | Sequence[int] | None = ...,
    threads: int | None = ...,
    parser_threads: int | None = ...,
    cache: bool | None = ...,
    precache: bool | None = ...,
    shuffle_buffer_size: int | None = ...,
    disk_reader_threads: int | None = ...,
    huge_video_dataset: bool | None = ...,
    limit_samples: int | None = ...,
    preselection_file: str | None = ...,
    preselection_label: int | None = ...,
    range_start: int | None = ...,
    range_end: int | None = ...,
    rand_permute: bool | None = ...,
    rand_permute_order: DataParameterRANDPERMORDERName | None = ...,
    rand_permute_seed: int | None = ...,
    slice_point: int | Sequence[int] | None = ...,
    encoding: DataParameterCHANNELENCODINGName | Sequence[DataParameterCHANNELENCODINGName] | None = ...,
    verbose: bool | None = ...,
    subtract: float | Sequence[float] | None = ...,
    permute_every_iter: int | None = ...,
    block_size: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Reads images from a database, and labels if there is a second top."""

def DataHeatmap(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    segmentation: bool | None = ...,
    multfact: int | None = ...,
    num_channels: int | None = ...,
    batchsize: int | None = ...,
    root_img_dir: str | None = ...,
    random_crop: bool | None = ...,
    sample_per_cluster: bool | None = ...,
    labelinds: str | None = ...,
    source: str | None = ...,
    meanfile: str | None = ...,
    crop_meanfile: str | None = ...,
    cropsize: int | None = ...,
    outsize: int | None = ...,
    scale: float | None = ...,
    label_width: int | None = ...,
    label_height: int | None = ...,
    dont_flip_first: bool | None = ...,
    angle_max: float | None = ...,
    flip_joint_labels: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Reads square parts of RGB images, and a map with a Gaussian for each joint."""

def Deconvolution(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int | None = ...,
    bias_term: bool | None = ...,
    pad: int | Sequence[int] | None = ...,
    kernel_size: int | Sequence[int] | None = ...,
    stride: int | Sequence[int] | None = ...,
    dilation: int | Sequence[int] | None = ...,
    pad_h: int | None = ...,
    pad_w: int | None = ...,
    kernel_h: int | None = ...,
    kernel_w: int | None = ...,
    stride_h: int | None = ...,
    stride_w: int | None = ...,
    group: int | None = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    engine: ConvolutionParameterEngineName | None = ...,
    axis: int | None = ...,
    force_nd_im2col: bool | None = ...,
    relu: bool | None = ...,
    negative_slope: float | None = ...,
    conv_algorithm: str | None = ...,
    coeff: float | Sequence[float] | None = ...,
    fusion_type: ConvolutionParameterFusionTypeName | None = ...,
    cudnn_convolution_algo_seeker: ConvolutionParameterCuDNNConvolutionAlgorithmSeekerName | None = ...,
    conv_algos_override: str | None = ...,
    filter_stride: int | None = ...,
    filter_stride_h: int | None = ...,
    filter_stride_w: int | None = ...,
    shape_offset: int | Sequence[int] | None = ...,
    fuse_type: ConvolutionParameterFuseTypeName | None = ...,
    dilation_h: int | None = ...,
    dilation_w: int | None = ...,
    pad_type: int | None = ...,
    pad_l: int | None = ...,
    pad_r: int | None = ...,
    pad_t: int | None = ...,
    pad_b: int | None = ...,
    input_scale: float | None = ...,
    output_scale: float | None = ...,
    saturate: ConvolutionParameterSaturateMethodName | None = ...,
    weight_fixed: bool | None = ...,
    dis_mode: bool | None = ...,
    gen_mode: bool | None = ...,
    mem_group_size: int | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes a transposed convolution with learned filters and adds a bias.

    Each value of the bottom scales the filters, which are added to a window of the top. The padding is cut off the
    result.
    """

def DenseImageData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    source: str | None = ...,
    batch_size: int | None = ...,
    rand_skip: int | None = ...,
    shuffle: bool | None = ...,
    new_height: int | None = ...,
    new_width: int | None = ...,
    is_color: bool | None = ...,
    mean_file: str | None = ...,
    root_folder: str | None = ...,
    mirror: bool | None = ...,
    crop_width: int | None = ...,
    crop_height: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Reads images and label maps of the same size. The default size is that of CamVid, SegNet's data set."""

def DepthToSpace(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    block_size: int | None = ...,
    data_format: str | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Multiplies height and width by `block_size` and divides the channels by its square.

    A channel's index consists of a position in the block and an output channel. With NHWC, NCHW and DCR, the output
    channel varies faster. With CRD, the position varies faster.
    """

def DepthwiseConvolution(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int | None = ...,
    bias_term: bool | None = ...,
    pad: int | Sequence[int] | None = ...,
    kernel_size: int | Sequence[int] | None = ...,
    stride: int | Sequence[int] | None = ...,
    dilation: int | Sequence[int] | None = ...,
    pad_h: int | None = ...,
    pad_w: int | None = ...,
    kernel_h: int | None = ...,
    kernel_w: int | None = ...,
    stride_h: int | None = ...,
    stride_w: int | None = ...,
    group: int | None = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    engine: ConvolutionParameterEngineName | None = ...,
    axis: int | None = ...,
    force_nd_im2col: bool | None = ...,
    relu: bool | None = ...,
    negative_slope: float | None = ...,
    conv_algorithm: str | None = ...,
    coeff: float | Sequence[float] | None = ...,
    fusion_type: ConvolutionParameterFusionTypeName | None = ...,
    cudnn_convolution_algo_seeker: ConvolutionParameterCuDNNConvolutionAlgorithmSeekerName | None = ...,
    conv_algos_override: str | None = ...,
    filter_stride: int | None = ...,
    filter_stride_h: int | None = ...,
    filter_stride_w: int | None = ...,
    shape_offset: int | Sequence[int] | None = ...,
    fuse_type: ConvolutionParameterFuseTypeName | None = ...,
    dilation_h: int | None = ...,
    dilation_w: int | None = ...,
    pad_type: int | None = ...,
    pad_l: int | None = ...,
    pad_r: int | None = ...,
    pad_t: int | None = ...,
    pad_b: int | None = ...,
    input_scale: float | None = ...,
    output_scale: float | None = ...,
    saturate: ConvolutionParameterSaturateMethodName | None = ...,
    weight_fixed: bool | None = ...,
    dis_mode: bool | None = ...,
    gen_mode: bool | None = ...,
    mem_group_size: int | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Convolves each channel with its own filters."""

def DetectNetCluster(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes for each class up to 50 boxes (left, top, right, bottom, confidence) on which several cells agree.

    The first bottom is each cell's coverage by objects of each class. The second one contains the corners of a box
    relative to the cell. Similar boxes are merged as in OpenCV's groupRectangles. The confidence is the logarithm of
    their number.
    """

def DetectNetGroundtruth(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Lists for each class up to 50 different boxes (left, top, right, bottom, 0) that cover a cell.

    The first bottom is each cell's coverage by objects of each class. The second one contains the corners of the box
    relative to the cell.
    """

def DetectNetPrecision(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes precision times recall, precision, and recall in percent, from boxes that DetectNetScore has marked.

    The fork calls the first number mAP, although it isn't a mean over thresholds.
    """

def DetectNetScore(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Marks boxes with 1 for a correct detection, 2 for a false one and 3 for a missed object.

    The bottoms are lists of objects and of detections. Each object in turn is matched to the first free detection that
    overlaps it enough.
    """

def DetectNetTransformation(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    stride: int | None = ...,
    scale_cvg: float | None = ...,
    gridbox_type: DetectNetGroundTruthParameterGridboxTypeName | None = ...,
    max_cvg_len: int | None = ...,
    min_cvg_len: int | None = ...,
    coverage_type: DetectNetGroundTruthParameterCoverageTypeName | None = ...,
    image_size_x: int | None = ...,
    image_size_y: int | None = ...,
    obj_norm: bool | None = ...,
    crop_bboxes: bool | None = ...,
    object_class: DetectNetGroundTruthParameterClassMappingDict | pb.DetectNetGroundTruthParameter.ClassMapping | Sequence[DetectNetGroundTruthParameterClassMappingDict | pb.DetectNetGroundTruthParameter.ClassMapping] | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Transforms images to DetectNet's size, subtracts the mean, and computes coverage maps from the boxes.

    The maps of an image are: which cells an object covers, four for the corners of that object, two for its inverse
    size, one for the inverse of the covered area, and one for each class. Images are randomly augmented in TRAIN and
    only scaled in TEST. `object_class` numbers the classes.
    """

def DetectionEvaluate(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_classes: int | None = ...,
    background_label_id: int | None = ...,
    overlap_threshold: float | None = ...,
    evaluate_difficult_gt: bool | None = ...,
    name_size_file: str | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Outputs rows (-1, label, objects, -1, -1) for classes, then (image, label, score, true, false) for detections.

    The bottoms are the rows of DetectionOutput and of AnnotatedData. A detection is true if the object with the largest
    overlap has its label, overlaps it enough, and has no better detection. It is neither true nor false if that object
    is difficult and doesn't count. With `name_size_file`, which lists the images in order, boxes are measured in
    pixels.
    """

def DetectionOutput(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_classes: int | None = ...,
    share_location: bool | None = ...,
    background_label_id: int | None = ...,
    nms_param: NonMaximumSuppressionParameterDict | pb.NonMaximumSuppressionParameter | None = ...,
    save_output_param: SaveOutputParameterDict | pb.SaveOutputParameter | None = ...,
    code_type: PriorBoxParameterCodeTypeName | None = ...,
    variance_encoded_in_target: bool | None = ...,
    keep_top_k: int | None = ...,
    confidence_threshold: float | None = ...,
    visualize: bool | None = ...,
    visualize_threshold: float | None = ...,
    save_file: str | None = ...,
    objectness_score: float | None = ...,
    engine: str | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Outputs a row (image, label, score, x1, y1, x2, y2) for each detection, by image, label and falling score.

    The number of rows is known only when the layer runs. Until then, the shape has one row, as in Caffe. An image
    without detections has no row, but if no image has any, each gets a row of -1. The layer doesn't save or show
    anything: programs that read the top use `save_output_param` and `visualize`.

    Synopsys' version has more bottoms: the scores of each feature map (batch, classes, ratios, positions), then the
    locations of each feature map as a convolution outputs them, then the priors.
    """

def Dropout(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    dropout_ratio: float | None = ...,
    scale_train: bool | None = ...,
    sample_weights_test: bool | None = ...,
    engine: DropoutParameterEngineName | None = ...,
    random_seed: int | None = ...,
    sqrt_scale: bool | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Sets values to zero with probability `dropout_ratio` and scales the others up to compensate.

    Faster R-CNN's `scale_train: false` scales all values down in TEST instead. Bayesian SegNet's `sample_weights_test`
    also drops values in TEST.
    """

def DummyData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    data_filler: FillerParameterDict | pb.FillerParameter | Sequence[FillerParameterDict | pb.FillerParameter] | None = ...,
    shape: BlobShapeDict | pb.BlobShape | Sequence[BlobShapeDict | pb.BlobShape] | None = ...,
    num: int | Sequence[int] | None = ...,
    channels: int | Sequence[int] | None = ...,
    height: int | Sequence[int] | None = ...,
    width: int | Sequence[int] | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Fills each top with its `data_filler`: once if the filler is constant, and otherwise in each forward pass."""

def ELU(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    alpha: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes max(x, 0) + alpha * (exp(min(x, 0)) - 1). NVCaffe's `lambda` scales the result, which makes it a
    SELU.
    """

def Eltwise(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    operation: EltwiseParameterEltwiseOpName | None = ...,
    coeff: float | Sequence[float] | None = ...,
    stable_prod_grad: bool | None = ...,
    engine: EltwiseParameterEngineName | None = ...,
    coeff_blob: bool | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the sum of the bottoms times their `coeff`, their product, or their maximum.

    Caffe's rule for a sum in place: the top's memory, which is also the first bottom's, is set to 0 first. The first
    bottom is therefore missing from the sum, although it gets its gradient.
    """

def EltwiseAccuracy(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    top_k: int | None = ...,
    ignore_label: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the share of pixels whose label is among the `top_k` best classes.

    Among equal scores, the last class ranks first. If no label counts, the result is NaN.
    """

def Embed(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int | None = ...,
    input_dim: int | None = ...,
    bias_term: bool | None = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Outputs the row of the weights that each value of the bottom selects, plus a bias."""

def EuclideanLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes sum (x - y)^2 / (2 N). Both bottoms get a gradient."""

def EuclideanLossHeatmap(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the mean of (x - y)^2. The third bottom is only for visualisation.

    As in the fork, the gradient is x - y, whatever the divisor and the loss_weight are.
    """

def EvalDetection(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    side: int | None = ...,
    num_class: int | None = ...,
    num_object: int | None = ...,
    threshold: float | None = ...,
    sqrt: bool | None = ...,
    constriant: bool | None = ...,
    score_type: EvalDetectionParameterScoreTypeName | None = ...,
    nms: float | None = ...,
    biases: float | Sequence[float] | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Outputs for each item the number of truths per class, then class, score, right and wrong for each detection.

    Detections are sorted by class and then by score. Unused rows are 0. A detection is right if no better one is
    matched to the truth of its class that it overlaps most. It is wrong if a better one is, or if there is no truth of
    its class. It is neither if it overlaps the truth by less than `threshold`. Truths are rows of eight numbers, as in
    SSD's data layer. Without `nms`, there are no detections, as in Caffe.
    """

def Exp(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    base: float | None = ...,
    scale: float | None = ...,
    shift: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes base ** (shift + scale * x)."""

def FCNSegData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Reads one image of any size at a time, and maps of its size: labels, or in NYUD the ones that `tops` names.

    Images come in random order if the split's name contains `train` and `randomize` isn't off, and otherwise in the
    list's order.
    """

def Filter(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Keeps the items of each bottom for which the last bottom, the selector, isn't 0."""

def Flatten(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    axis: int | None = ...,
    end_axis: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Combines the axes from `axis` to `end_axis`, both included, into one."""

def Flip(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    flip_width: bool | None = ...,
    flip_height: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Mirrors images left to right with `flip_width`, and top to bottom with `flip_height`."""

def HDF5Data(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    source: str | None = ...,
    batch_size: int | None = ...,
    shuffle: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Reads each top from the data set of the same name in HDF5 files. Only the files contain the shapes."""

def HDF5Output(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    file_name: str | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Writes the data sets `data` and `label` with the rows of all batches. Caffe fails at the second batch."""

def HardSwish(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes x * min(max(x + 3, 0), 6) / 6."""

def HingeLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    norm: HingeLossParameterNormName | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the sum of max(0, 1 - x) for true classes and max(0, 1 + x) for all others, or of their squares, over
    N.
    """

def Im2col(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int | None = ...,
    bias_term: bool | None = ...,
    pad: int | Sequence[int] | None = ...,
    kernel_size: int | Sequence[int] | None = ...,
    stride: int | Sequence[int] | None = ...,
    dilation: int | Sequence[int] | None = ...,
    pad_h: int | None = ...,
    pad_w: int | None = ...,
    kernel_h: int | None = ...,
    kernel_w: int | None = ...,
    stride_h: int | None = ...,
    stride_w: int | None = ...,
    group: int | None = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    engine: ConvolutionParameterEngineName | None = ...,
    axis: int | None = ...,
    force_nd_im2col: bool | None = ...,
    relu: bool | None = ...,
    negative_slope: float | None = ...,
    conv_algorithm: str | None = ...,
    coeff: float | Sequence[float] | None = ...,
    fusion_type: ConvolutionParameterFusionTypeName | None = ...,
    cudnn_convolution_algo_seeker: ConvolutionParameterCuDNNConvolutionAlgorithmSeekerName | None = ...,
    conv_algos_override: str | None = ...,
    filter_stride: int | None = ...,
    filter_stride_h: int | None = ...,
    filter_stride_w: int | None = ...,
    shape_offset: int | Sequence[int] | None = ...,
    fuse_type: ConvolutionParameterFuseTypeName | None = ...,
    dilation_h: int | None = ...,
    dilation_w: int | None = ...,
    pad_type: int | None = ...,
    pad_l: int | None = ...,
    pad_r: int | None = ...,
    pad_t: int | None = ...,
    pad_b: int | None = ...,
    input_scale: float | None = ...,
    output_scale: float | None = ...,
    saturate: ConvolutionParameterSaturateMethodName | None = ...,
    weight_fixed: bool | None = ...,
    dis_mode: bool | None = ...,
    gen_mode: bool | None = ...,
    mem_group_size: int | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Copies each window of the bottom to the channels of one position.

    Each bottom channel has a top channel per window position.
    """

def ImResize(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    target_spatial_width: int | None = ...,
    target_spatial_height: int | None = ...,
    factor: float | None = ...,
    start_scale: float | None = ...,
    scale_gap: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the mean of all items after each is cropped at the borders and resized.

    The first item is cropped to `start_scale` of its size, and each further one to `scale_gap` less.
    """

def ImageData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    source: str | None = ...,
    batch_size: int | None = ...,
    rand_skip: int | None = ...,
    shuffle: bool | None = ...,
    new_height: int | None = ...,
    new_width: int | None = ...,
    is_color: bool | None = ...,
    scale: float | None = ...,
    mean_file: str | None = ...,
    crop_size: int | None = ...,
    mirror: bool | None = ...,
    root_folder: str | None = ...,
    ignore_label: int | None = ...,
    label_type: ImageDataParameterLabelTypeName | None = ...,
    min_height: int | None = ...,
    min_width: int | None = ...,
    short_side: int | None = ...,
    threads: int | None = ...,
    cache: bool | None = ...,
    precache: bool | None = ...,
    dataset_share_per_node: float | None = ...,
    face_transform: bool | None = ...,
    max_shear_ratio: float | None = ...,
    max_aspect_ratio: float | None = ...,
    max_rotate_angle: float | None = ...,
    min_random_scale: float | None = ...,
    max_random_scale: float | None = ...,
    max_random_shift: int | None = ...,
    face_mirror: bool | None = ...,
    face_point_num: int | None = ...,
    balance_class: bool | None = ...,
    balance_by: int | None = ...,
    label_cut_start: int | None = ...,
    label_cut_end: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Reads images and labels from the files in a list."""

def ImageLabelmapData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    source: str | None = ...,
    batch_size: int | None = ...,
    rand_skip: int | None = ...,
    shuffle: bool | None = ...,
    new_height: int | None = ...,
    new_width: int | None = ...,
    is_color: bool | None = ...,
    scale: float | None = ...,
    mean_file: str | None = ...,
    crop_size: int | None = ...,
    mirror: bool | None = ...,
    root_folder: str | None = ...,
    ignore_label: int | None = ...,
    label_type: ImageDataParameterLabelTypeName | None = ...,
    min_height: int | None = ...,
    min_width: int | None = ...,
    short_side: int | None = ...,
    threads: int | None = ...,
    cache: bool | None = ...,
    precache: bool | None = ...,
    dataset_share_per_node: float | None = ...,
    face_transform: bool | None = ...,
    max_shear_ratio: float | None = ...,
    max_aspect_ratio: float | None = ...,
    max_rotate_angle: float | None = ...,
    min_random_scale: float | None = ...,
    max_random_scale: float | None = ...,
    max_random_shift: int | None = ...,
    face_mirror: bool | None = ...,
    face_point_num: int | None = ...,
    balance_class: bool | None = ...,
    balance_by: int | None = ...,
    label_cut_start: int | None = ...,
    label_cut_end: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Reads images and edge maps of the same size. A pixel's label is 1 if the map is at least half as bright as
    white.
    """

def ImageSegData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    source: str | None = ...,
    batch_size: int | None = ...,
    rand_skip: int | None = ...,
    shuffle: bool | None = ...,
    new_height: int | None = ...,
    new_width: int | None = ...,
    is_color: bool | None = ...,
    scale: float | None = ...,
    mean_file: str | None = ...,
    crop_size: int | None = ...,
    mirror: bool | None = ...,
    root_folder: str | None = ...,
    ignore_label: int | None = ...,
    label_type: ImageDataParameterLabelTypeName | None = ...,
    min_height: int | None = ...,
    min_width: int | None = ...,
    short_side: int | None = ...,
    threads: int | None = ...,
    cache: bool | None = ...,
    precache: bool | None = ...,
    dataset_share_per_node: float | None = ...,
    face_transform: bool | None = ...,
    max_shear_ratio: float | None = ...,
    max_aspect_ratio: float | None = ...,
    max_rotate_angle: float | None = ...,
    min_random_scale: float | None = ...,
    max_random_scale: float | None = ...,
    max_random_shift: int | None = ...,
    face_mirror: bool | None = ...,
    face_point_num: int | None = ...,
    balance_class: bool | None = ...,
    balance_by: int | None = ...,
    label_cut_start: int | None = ...,
    label_cut_end: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Reads images and label maps of the same size.

    A third top contains the size of each image before cropping and padding.
    """

def InfogainLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    source: str | None = ...,
    axis: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes -sum of H[label, k] * log softmax(x)[k] over all classes k.

    H is the third bottom or is read from a file.
    """

def InnerProduct(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int | None = ...,
    bias_term: bool | None = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    axis: int | None = ...,
    transpose: bool | None = ...,
    engine: InnerProductParameterEngineName | None = ...,
    relu: bool | None = ...,
    negative_slope: float | None = ...,
    normalize: bool | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Multiplies the weights by the vector of all values from `axis` on, and adds a bias."""

def Input(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    shape: BlobShapeDict | pb.BlobShape | Sequence[BlobShapeDict | pb.BlobShape] | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Has a top for each input of the net. The caller supplies their values."""

def Interp(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    height: int | None = ...,
    width: int | None = ...,
    zoom_factor: int | None = ...,
    shrink_factor: int | None = ...,
    pad_beg: int | None = ...,
    pad_end: int | None = ...,
    full_zoom_factor: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Resizes the bottom, after negative padding crops it.

    A `zoom_factor` multiplies the steps between pixels, and Synopsys' `full_zoom_factor` the number of pixels. In some
    forks, a second bottom can provide the size. In that case, the settings must not contain one.
    """

def L1Loss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    l2_per_location: bool | None = ...,
    l2_prescale_by_channels: bool | None = ...,
    normalize_by_num_entries: bool | None = ...,
    epsilon: float | None = ...,
    plateau: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes sum |x - y| / N. Both bottoms get a gradient.

    FlowNet's type of this name is supported only without its own settings.
    """

def LRN(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    local_size: int | None = ...,
    alpha: float | None = ...,
    beta: float | None = ...,
    norm_region: LRNParameterNormRegionName | None = ...,
    k: float | None = ...,
    engine: LRNParameterEngineName | None = ...,
    fuse_type: LRNParameterFuseTypeName | None = ...,
    unit_test_mode: bool | None = ...,
    unit_test_fuse_kernel: bool | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes x / (k + alpha * mean of x**2)**beta. The mean is over adjacent channels or, with k = 1, over a
    window.
    """

def LSTM(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int | None = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    debug_info: bool | None = ...,
    expose_hidden: bool | None = ...,
    forget_bias: float | None = ...,
    tf_rnn: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes an LSTM over a sequence. The top is the hidden state of each step."""

def LSTMUnit(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the new cell and hidden state from the cell (1 x N x D), the raw gates (1 x N x 4D) and cont (1 x N).

    The gradient is Caffe's on a GPU. Caffe's on a CPU differs for the forget gate if cont is neither 0 nor 1.
    """

def LaneData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    batch_sampler: BatchSamplerDict | pb.BatchSampler | Sequence[BatchSamplerDict | pb.BatchSampler] | None = ...,
    label_map_file: str | None = ...,
    anno_type: AnnotatedDatumAnnotationTypeName | None = ...,
    yolo_data_type: int | None = ...,
    yolo_data_jitter: float | None = ...,
    train_diffcult: bool | None = ...,
    single_class: bool | None = ...,
    seg_scales: int | None = ...,
    seg_resize_width: int | None = ...,
    seg_resize_height: int | None = ...,
    difficult_label_warmup: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Reads images, rows of points (x, y, lane) and lane maps.

    A map is `seg_scales` times smaller than the image unless its own size is set.
    """

def Log(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    base: float | None = ...,
    scale: float | None = ...,
    shift: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the logarithm of shift + scale * x to the given base."""

def MVN(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    normalize_variance: bool | None = ...,
    across_channels: bool | None = ...,
    eps: float | None = ...,
    add_eps_before_sqrt: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes (x - mean) / (deviation + eps) over each channel, or over each item with `across_channels`.

    The top has four axes. With Synopsys' `add_eps_before_sqrt`, the divisor is sqrt(variance + eps).
    """

def MarginInnerProduct(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int | None = ...,
    type: MarginInnerProductParameterMarginTypeName | None = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    axis: int | None = ...,
    base: float | None = ...,
    gamma: float | None = ...,
    power: float | None = ...,
    iteration: int | None = ...,
    lambda_min: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes |x| cos(angle) between the bottom and the weights of each class, with a margin for the label's class.

    For the label, the value is (lambda * |x| cos(angle) + |x| psi(angle)) / (1 + lambda). Psi is cos(m * angle),
    changed so that it always falls. `type` sets m to 1, 2, 3 or 4. Lambda, the second top, falls with the number of
    forward passes: it is base * (1 + gamma * passes) ^ -power, but at least lambda_min. As in Caffe, each pass
    normalizes the weight's rows to length 1. The gradient is also Caffe's own: the margin changes only its direction
    for the label's class, and the weight's gradient is that of a plain inner product.
    """

def Maximum(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the elementwise maximum of two bottoms, with broadcasting.

    For a single bottom, it outputs (x, y, value) of each channel's maximum, as in rtpose. If no value is positive, all
    three numbers are 0.
    """

def MemoryData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    batch_size: int | None = ...,
    channels: int | None = ...,
    height: int | None = ...,
    width: int | None = ...,
    transpose: bool | None = ...,
    dim: int | Sequence[int] | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Receives images of a given size, and labels, from the program."""

def Mul(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes a * b. From the last axis on, lengths must be equal or one of them must be 1."""

def MultiBoxLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    loc_loss_type: MultiBoxLossParameterLocLossTypeName | None = ...,
    conf_loss_type: MultiBoxLossParameterConfLossTypeName | None = ...,
    loc_weight: float | None = ...,
    num_classes: int | None = ...,
    share_location: bool | None = ...,
    match_type: MultiBoxLossParameterMatchTypeName | None = ...,
    overlap_threshold: float | None = ...,
    use_prior_for_matching: bool | None = ...,
    background_label_id: int | None = ...,
    use_difficult_gt: bool | None = ...,
    do_neg_mining: bool | None = ...,
    neg_pos_ratio: float | None = ...,
    neg_overlap: float | None = ...,
    code_type: PriorBoxParameterCodeTypeName | None = ...,
    encode_variance_in_target: bool | None = ...,
    map_object_to_agnostic: bool | None = ...,
    ignore_cross_boundary_bbox: bool | None = ...,
    bp_inside: bool | None = ...,
    mining_type: MultiBoxLossParameterMiningTypeName | None = ...,
    nms_param: NonMaximumSuppressionParameterDict | pb.NonMaximumSuppressionParameter | None = ...,
    sample_size: int | None = ...,
    use_prior_for_nms: bool | None = ...,
    ignore_difficult_gt: bool | None = ...,
    objectness_score: float | None = ...,
    engine: str | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the location loss of matched boxes plus the confidence loss of these and of hard negative boxes.

    The bottoms are locations, scores, priors, and objects in AnnotatedData's rows.
    """

def MultiStageMeanfield(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    compatibility_mode: MultiStageMeanfieldParameterModeName | None = ...,
    threshold: float | None = ...,
    theta_alpha: float | None = ...,
    theta_beta: float | None = ...,
    theta_gamma: float | None = ...,
    num_iterations: int | None = ...,
    spatial_filter_weight: float | None = ...,
    bilateral_filter_weight: float | None = ...,
    forced_spatial_filter_weight: float | None = ...,
    forced_bilateral_filter_weight: float | None = ...,
    spatial_filter_weights_str: str | None = ...,
    bilateral_filter_weights_str: str | None = ...,
    force_cpu: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Refines the scores of each pixel by those of nearby pixels, above all pixels of similar color.

    The bottoms are a net's scores, the initial scores (usually the same ones) and the image. Each step blurs the
    probabilities over nearby pixels, and again over nearby pixels of similar color. Each result is multiplied by its
    weight matrix. Their sum is multiplied by the compatibility matrix and subtracted from the scores. The image gets no
    gradient.
    """

def MultinomialLogisticLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the mean of -log x[label] over the batch. The bottom contains probabilities, not scores."""

def Nms(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    threshold: float | None = ...,
    num_peak: int | None = ...,
    max_peaks: int | None = ...,
    num_parts: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Outputs for each item and part a row with the number of peaks, then (x, y, score) for each peak.

    A peak is above the threshold and all eight neighbors. Its position is the mean of the positions around it,
    weighted by their scores. Peaks are in reading order. All peaks are counted, but only `max_peaks` are listed.
    """

def Normalize(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    across_spatial: bool | None = ...,
    scale_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    channel_shared: bool | None = ...,
    eps: float | None = ...,
    fix_scale: bool | None = ...,
    normalize_type: str | None = ...,
    fix_gradient: bool | None = ...,
    bp_norm: bool | None = ...,
    add_eps_before_sqrt: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes scale * x / sqrt(sum of x² + eps).

    The sum is over channels, or over the whole item with `across_spatial`. With Synopsys' `add_eps_before_sqrt: false`,
    eps is added after the square root for whole items.

    happynear's version has its settings in `normalize_param` and no scale. It sums over channels, and with type L1 it
    sums absolute values. Its second top is the divisor, whose gradient passes only with `bp_norm`. TSN's version has no
    settings and divides items by their length. The net's dialect decides about a layer without settings. The top of
    these two versions has four axes.
    """

def PReLU(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    filler: FillerParameterDict | pb.FillerParameter | None = ...,
    channel_shared: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes max(x, 0) + slope * min(x, 0), with a slope for each channel or one for all."""

def PSROIPooling(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    spatial_scale: float | None = ...,
    output_dim: int | None = ...,
    group_size: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Averages channel (c * group_size + row) * group_size + column over the bin in that row and column of a region.

    Regions are (image, x1, y1, x2, y2) in the image. They are rounded and then scaled by `spatial_scale`.
    """

def Pad(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    paddings: int | Sequence[int] | None = ...,
    constant_values: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Adds a border to the bottom. `paddings` contains the sizes before and after each axis, in order."""

def Parameter(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    shape: BlobShapeDict | pb.BlobShape | None = ...,
    blob_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Outputs its blob. Caffe initializes the blob with 0, and a fork with a filler."""

def Permute(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    order: int | Sequence[int] | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Reorders axes: axis `order[i]` becomes axis i. Axes that `order` leaves out follow in their old order."""

def Pooling(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    pool: PoolingParameterPoolMethodName | None = ...,
    pad: int | None = ...,
    pad_h: int | None = ...,
    pad_w: int | None = ...,
    kernel_size: int | None = ...,
    kernel_h: int | None = ...,
    kernel_w: int | None = ...,
    stride: int | None = ...,
    stride_h: int | None = ...,
    stride_w: int | None = ...,
    engine: PoolingParameterEngineName | None = ...,
    global_pooling: bool | None = ...,
    round_mode: PoolingParameterRoundModeName | None = ...,
    ceil_mode: bool | None = ...,
    pad_3d: int | Sequence[int] | None = ...,
    kernel_size_3d: int | Sequence[int] | None = ...,
    stride_3d: int | Sequence[int] | None = ...,
    avg_include_pad: bool | None = ...,
    axis: int | None = ...,
    torch_pooling: bool | None = ...,
    bin_size: int | None = ...,
    bin_h: int | None = ...,
    bin_w: int | None = ...,
    blobs_lr: float | None = ...,
    blobs_a_min: float | None = ...,
    dilation: int | Sequence[int] | None = ...,
    pad_type: int | None = ...,
    pad_l: int | None = ...,
    pad_r: int | None = ...,
    pad_t: int | None = ...,
    pad_b: int | None = ...,
    output_shift_instead_division: int | None = ...,
    saturate: PoolingParameterSaturateMethodName | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the maximum or the average of each window, or a random value with a probability proportional to it.

    The second top of MAX contains the positions of the maxima.
    """

def Power(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    power: float | None = ...,
    scale: float | None = ...,
    shift: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes (shift + scale * x) ** power."""

def PriorBox(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    min_size: float | Sequence[float] | None = ...,
    max_size: float | Sequence[float] | None = ...,
    aspect_ratio: float | Sequence[float] | None = ...,
    flip: bool | None = ...,
    clip: bool | None = ...,
    variance: float | Sequence[float] | None = ...,
    img_size: int | None = ...,
    img_h: int | None = ...,
    img_w: int | None = ...,
    step: float | None = ...,
    step_h: float | None = ...,
    step_w: float | None = ...,
    offset: float | None = ...,
    faceboxes: bool | None = ...,
    box_width: float | Sequence[float] | None = ...,
    box_height: float | Sequence[float] | None = ...,
    tf: bool | None = ...,
    yx_order: bool | None = ...,
    width: float | Sequence[float] | None = ...,
    height: float | Sequence[float] | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Outputs boxes relative to the image's size in the first channel, and their variances in the second.

    At each position, each `min_size` has a square, a larger square if it has a `max_size`, and one box for each aspect
    ratio. With Synopsys' `tf`, the larger square is the last one. Its `yx_order` puts y before x, which then applies to
    everything computed from the boxes.
    """

def PriorBoxClustered(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    min_size: float | Sequence[float] | None = ...,
    max_size: float | Sequence[float] | None = ...,
    aspect_ratio: float | Sequence[float] | None = ...,
    flip: bool | None = ...,
    clip: bool | None = ...,
    variance: float | Sequence[float] | None = ...,
    img_size: int | None = ...,
    img_h: int | None = ...,
    img_w: int | None = ...,
    step: float | None = ...,
    step_h: float | None = ...,
    step_w: float | None = ...,
    offset: float | None = ...,
    faceboxes: bool | None = ...,
    box_width: float | Sequence[float] | None = ...,
    box_height: float | Sequence[float] | None = ...,
    tf: bool | None = ...,
    yx_order: bool | None = ...,
    width: float | Sequence[float] | None = ...,
    height: float | Sequence[float] | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Outputs boxes as PriorBox does. Each has a `width` and a `height`, which were found by clustering marked objects.

    Without `height`, boxes are squares.
    """

def Proposal(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    feat_stride: int | None = ...,
    base_size: int | None = ...,
    min_size: int | None = ...,
    ratio: float | Sequence[float] | None = ...,
    scale: float | Sequence[float] | None = ...,
    pre_nms_topn: int | None = ...,
    post_nms_topn: int | None = ...,
    nms_thresh: float | None = ...,
    anchor_base_size: int | None = ...,
    anchor_scale: int | None = ...,
    anchor_ratio: int | None = ...,
    max_rois: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Outputs the regions (image, x1, y1, x2, y2) that survive non-maximum suppression, and their scores, best first.

    The bottoms are scores (background first), box predictions, and the image's height, width and scale, or separate
    scales for height and width. An anchor's `scale` is relative to `base_size`; in happynear's Caffe, it is in pixels.
    Regions that are too small get a score of 0 but are kept. The number of regions is known only when the layer runs.
    Until then, the shape has the largest possible number.
    """

def Python(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    module: str | None = ...,
    param_str: str | None = ...,
    share_in_parallel: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Calls `setup`, `reshape`, `forward` and `backward` of a user's class with numpy arrays, as pycaffe does.

    A net can name any module, so only modules in `allowed` are imported. Without an installed Caffe, `import caffe` in
    such a module returns netdsl.pycaffe. Exceptions of the class are raised unchanged.
    """

def RNN(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_output: int | None = ...,
    weight_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    debug_info: bool | None = ...,
    expose_hidden: bool | None = ...,
    forget_bias: float | None = ...,
    tf_rnn: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes h = tanh(W_hh h' + W_xh x + b_h) for each step. The top is tanh(W_ho h + b_o)."""

def ROIPooling(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    pooled_h: int | None = ...,
    pooled_w: int | None = ...,
    spatial_scale: float | None = ...,
    pooled_size: int | Sequence[int] | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the maximum in each bin of a region. Regions (image, x1, y1, x2, y2) are scaled by `spatial_scale`.

    Bins are rounded outward, so that adjacent ones can overlap. A bin outside the map outputs 0. A region that ends
    before it starts is treated as a single position. In Faster R-CNN, but not in Intel's Caffe, that position gets no
    gradient.
    """

def ReLU(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    negative_slope: float | None = ...,
    engine: ReLUParameterEngineName | None = ...,
    fuse: bool | None = ...,
    relu6: bool | None = ...,
    maximum: float | None = ...,
    minimum: float | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes max(x, 0) + slope * min(x, 0). The Synopsys fork can also set bounds."""

def ReLU6(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    negative_slope: float | None = ...,
    engine: ReLUParameterEngineName | None = ...,
    fuse: bool | None = ...,
    relu6: bool | None = ...,
    maximum: float | None = ...,
    minimum: float | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes min(max(x, 0) + slope * min(x, 0), 6). The gradient is 0 where the top is 6."""

def Reduction(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    operation: ReductionParameterReductionOpName | None = ...,
    axis: int | None = ...,
    coeff: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes `coeff` times the sum, the sum of absolute values, the sum of squares, or the mean of the values."""

def RegionLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    side: int | None = ...,
    num_class: int | None = ...,
    bias_match: int | None = ...,
    coords: int | None = ...,
    num: int | None = ...,
    softmax: int | None = ...,
    jitter: float | None = ...,
    rescore: int | None = ...,
    object_scale: float | None = ...,
    class_scale: float | None = ...,
    noobject_scale: float | None = ...,
    coord_scale: float | None = ...,
    absolute: int | None = ...,
    thresh: float | None = ...,
    random: int | None = ...,
    biases: float | Sequence[float] | None = ...,
    softmax_tree: str | None = ...,
    class_map: str | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the sum of squares of darknet's gradient: objectness everywhere, and box and class at matched anchors.

    Labels with rows of five (class, x, y, width, height, until a zero) are MobileNet-YOLO's. Labels with rows of eight,
    as in SSD's data layer, are Intel's, which has different formulas: the boxes' gradient is clipped as in a smooth L1
    loss, objectness is focal, and the loss isn't divided by the batch size.
    """

def Reorg(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    stride: int | None = ...,
    reverse: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Rearranges blocks of stride x stride pixels as channels, or the reverse with `reverse`.

    Darknet's rule for the first direction: the values are read as an image with fewer channels and more pixels, and the
    blocks of that image become channels. This mixes channels.
    """

def Reshape(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    shape: BlobShapeDict | pb.BlobShape | None = ...,
    axis: int | None = ...,
    num_axes: int | None = ...,
    pixelshuffler: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Replaces `num_axes` axes from `axis` on by `shape`: 0 copies the bottom's length and -1 is the remaining length.

    Intel's `pixelshuffler` rearranges r x r channels as r times the height and width instead.
    """

def ResizeBilinear(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    align_corners: bool | None = ...,
    output_height: int | None = ...,
    output_width: int | None = ...,
    data_format: str | None = ...,
    scale_height: float | None = ...,
    scale_width: float | None = ...,
    half_pixel_centers: bool | None = ...,
    pytorch_half_pixel: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Resizes an image bilinearly. Each pixel is the mean of its four neighbors, weighted by their distance."""

def ResizeNearestNeighbor(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    align_corners: bool | None = ...,
    output_height: int | None = ...,
    output_width: int | None = ...,
    data_format: str | None = ...,
    scale_height: float | None = ...,
    scale_width: float | None = ...,
    half_pixel_centers: bool | None = ...,
    half_pixel_onnx: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Resizes an image by copying pixels. Positions are rounded down, or to the nearest pixel with `align_corners`."""

def RoIData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Reads annotated images for training.

    For a net that proposes regions, the tops are images, sizes and objects. Otherwise, they are images, regions,
    labels, box targets and weights. `param_str` has the settings, with py-faster-rcnn's names. The images' sizes are
    unknown until the data are open, so the shapes are py-faster-rcnn's initial ones. An image is 600 x 1000. A net with
    proposals has one image and one object, and a net without has two images and 128 regions.
    """

def RpnAnchorTarget(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Outputs labels of anchors (1 object, 0 background, -1 neither), box targets, and inside and outside weights.

    The bottoms are scores, of which only the size is read, objects (x1, y1, x2, y2, label), the image's height, width
    and scale, and the image. An anchor counts as an object if it overlaps one enough, or more than any other anchor
    does.
    """

def RpnProposal(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Outputs the regions (0, x1, y1, x2, y2) that survive non-maximum suppression, and their scores, best first.

    The bottoms are scores (background first), box predictions, and the image's height, width and scale. The number of
    regions is known only when the layer runs. Until then, the shape has the largest possible number.
    """

def RpnProposalTarget(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Outputs sampled regions, their labels, and box targets with inside and outside weights.

    The bottoms are the regions of one image and objects (x1, y1, x2, y2, label), which are added to the regions. The
    number of sampled regions is known only when the layer runs. Until then, the shapes are for a full batch. With two
    classes, as in R-FCN, all objects share the second box class. py-faster-rcnn's rule: in a net that proposes regions,
    the targets' means and deviations are fixed in advance, if targets are normalized.
    """

def SPP(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    pyramid_height: int | None = ...,
    pool: SPPParameterPoolMethodName | None = ...,
    engine: SPPParameterEngineName | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Pools into 1 x 1, 2 x 2, 4 x 4 ... bins and concatenates the results."""

def Scale(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    axis: int | None = ...,
    num_axes: int | None = ...,
    filler: FillerParameterDict | pb.FillerParameter | None = ...,
    bias_term: bool | None = ...,
    bias_filler: FillerParameterDict | pb.FillerParameter | None = ...,
    min_value: float | None = ...,
    max_value: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes x * scale + bias along the axes from `axis` on. The scale is learned, or is the second bottom."""

def SeLU(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    alpha: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes lambda * x for positive x, and lambda * alpha * (exp(x) - 1) otherwise."""

def SeLUDropout(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    dropout_ratio: float | None = ...,
    alpha: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Sets random values to alpha in training, then scales and shifts all values to compensate."""

def SeLu(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    alpha: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes lambda * x for positive x, and lambda * alpha * (exp(x) - 1) otherwise."""

def SeLuDropout(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    dropout_ratio: float | None = ...,
    alpha: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Sets random values to alpha in training, then scales and shifts all values to compensate."""

def SegAccuracy(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    metric: SegAccuracyParameterAccuracyMetricName | None = ...,
    ignore_label: int | Sequence[int] | None = ...,
    reset: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes accuracy, the mean recall of the labeled classes, and the mean intersection over union of all classes.

    With `reset: false`, pixels are counted from the first batch on. A class that is neither labeled nor predicted has
    an intersection over union of 1.
    """

def SegmentationEvaluate(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_classes: int | None = ...,
    threshold: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the intersection over union of each channel of the first item, for values above a threshold.

    A prediction of another size is converted to bytes and resized. In that case, an unlabeled class results in -1, and
    otherwise in 0.
    """

def ShuffleChannel(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    group: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Moves channel k of group g to place k * groups + g. The top has four axes, and missing ones have length 1."""

def Sigmoid(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: SigmoidParameterEngineName | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes 1 / (1 + exp(-x))."""

def SigmoidCrossEntropyLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: SigmoidParameterEngineName | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the sum of -t log s(x) - (1 - t) log(1 - s(x)). By default, only the batch size divides it.

    HED's fork balances the few edge pixels of an image with all others. It multiplies the loss of each edge by the
    share of zeros in the targets, and that of each other pixel by the share of ones.
    """

def Silence(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Consumes blobs and has no top."""

def Slice(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    axis: int | None = ...,
    slice_point: int | Sequence[int] | None = ...,
    slice_dim: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Cuts the bottom at each `slice_point`, or into equal parts."""

def SmoothL1Loss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    sigma: float | None = ...,
    abssum: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the smooth L1 loss of the differences of two bottoms, divided by the batch size.

    A third bottom weights the differences and a fourth the losses. Caffe's rule: without the fourth, the gradient
    ignores the third, unless `abssum: false` is set. R-FCN's first version has a second top, the sums over channels,
    which gets no gradient. That version normalizes like SmoothL1LossOHEM. With Intel's `normalization: NONE`, the sum
    isn't divided. Other forks ignore this setting. The default `loss_weight` is 1, but 0 in forks of Faster R-CNN.
    """

def SmoothL1LossOHEM(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the normalized sum of the smooth L1 of the differences of two bottoms. A third bottom can weight them.

    The second top contains the sums over channels and gets no gradient. Caffe's rule: the gradient ignores the weights,
    and the default `loss_weight` is 0.
    """

def Softmax(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: SoftmaxParameterEngineName | None = ...,
    axis: int | None = ...,
    hard_ratio: float | None = ...,
    class_weight: float | Sequence[float] | None = ...,
    hard_mining_label: int | None = ...,
    cutting_point: float | None = ...,
    normalize_type: str | None = ...,
    label_smooth_factor: float | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes exp(x), divided by its sum along an axis."""

def SoftmaxWithLoss(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: SoftmaxParameterEngineName | None = ...,
    axis: int | None = ...,
    hard_ratio: float | None = ...,
    class_weight: float | Sequence[float] | None = ...,
    hard_mining_label: int | None = ...,
    cutting_point: float | None = ...,
    normalize_type: str | None = ...,
    label_smooth_factor: float | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the normalized sum of -log softmax(x)[label].

    SegNet's `class_weighting` contains a weight for each class. R-FCN's first version has a third top, the loss of each
    position before normalization, without a gradient. It has the labels' shape. If labels have a single axis, it has
    four axes, as in SmoothL1Loss, because R-FCN's own labels have four.
    """

def SoftmaxWithLossOHEM(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: SoftmaxParameterEngineName | None = ...,
    axis: int | None = ...,
    hard_ratio: float | None = ...,
    class_weight: float | Sequence[float] | None = ...,
    hard_mining_label: int | None = ...,
    cutting_point: float | None = ...,
    normalize_type: str | None = ...,
    label_smooth_factor: float | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes SoftmaxWithLoss. The third top contains the losses to add to those of SmoothL1LossOHEM."""

def SpaceToBatchND(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    block_shape: int | Sequence[int] | None = ...,
    paddings: int | Sequence[int] | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Pads the axes after the batch with 0 and distributes blocks of `block_shape` over the batch.

    Item `place * batch + n` contains the values at that place of each block of item n.
    """

def SpatialDropout(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    dropout_ratio: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes x * mask / (1 - ratio), with one random bit for each channel of each item.

    In TEST, it copies the bottom. The ratio is in `spatial_dropout_param`, or in `dropout_param` in Intel's fork. The
    type also replaces ENet's Python layer. That layer's `param_str` contains the ratio and its own phase, and in TEST
    it still multiplies by 1 / (1 - ratio).
    """

def Split(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Copies the bottom to each top."""

def Squeeze(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    axis: int | Sequence[int] | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Removes the given axes, or all axes of length 1 if none is given."""

def Swish(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    beta: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes x * sigmoid(beta * x)."""

def Switch(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Copies the last bottom. rtpose's program can choose another one at run time, but a net can't."""

def TanH(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    engine: TanHParameterEngineName | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes tanh(x)."""

def Threshold(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    threshold: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes 1 where x > threshold, and 0 elsewhere."""

def Tile(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    axis: int | None = ...,
    tiles: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Repeats the bottom `tiles` times along an axis."""

def Unpooling(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    unpool: UnPoolingParameterUnPoolMethodName | None = ...,
    out_pad: int | None = ...,
    out_pad_h: int | None = ...,
    out_pad_w: int | None = ...,
    out_kernel_size: int | None = ...,
    out_kernel_h: int | None = ...,
    out_kernel_w: int | None = ...,
    out_stride: int | None = ...,
    out_stride_h: int | None = ...,
    out_stride_w: int | None = ...,
    engine: UnPoolingParameterEngineName | None = ...,
    unpool_size: int | None = ...,
    unpool_h: int | None = ...,
    unpool_w: int | None = ...,
    kernel_size: int | None = ...,
    stride: int | None = ...,
    pad: int | None = ...,
    kernel_h: int | None = ...,
    kernel_w: int | None = ...,
    stride_h: int | None = ...,
    stride_w: int | None = ...,
    pad_h: int | None = ...,
    pad_w: int | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Writes the bottom's values to the positions in a pooling's mask, the second bottom, and zeros elsewhere.

    Without a mask, values go to the corners of the windows. AVE divides each value equally over its window, and TILE
    repeats it. Where windows overlap, values are added. The fork's rule: the gradient of TILE is that of AVE.
    """

def Upsample(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    scale: int | None = ...,
    scale_h: int | None = ...,
    scale_w: int | None = ...,
    pad_out_h: bool | None = ...,
    pad_out_w: bool | None = ...,
    upsample_h: int | None = ...,
    upsample_w: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Enlarges an image.

    SegNet's version undoes a pooling, whose mask is the second bottom. YOLO's version repeats each pixel. Without a
    `scale`, SegNet's version doubles the size and YOLO's keeps it.
    """

def UpsampleDarknet(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    stride: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Repeats each pixel `stride` times along both sides."""

def VideoData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    video_type: VideoDataParameterVideoTypeName | None = ...,
    device_id: int | None = ...,
    video_file: str | None = ...,
    skip_frames: int | None = ...,
    source: str | None = ...,
    batch_size: int | None = ...,
    rand_skip: int | None = ...,
    shuffle: bool | None = ...,
    new_height: int | None = ...,
    new_width: int | None = ...,
    new_length: int | None = ...,
    num_segments: int | None = ...,
    modality: VideoDataParameterModalityName | None = ...,
    name_pattern: str | None = ...,
    encoded: bool | None = ...,
    grayscale: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Reads frames, and labels if there is a second top.

    SSD's version has its batch_size in `data_param`. TSN's type of this name has it among its own settings. Its items
    are `num_segments` times `new_length` frames of a video, one after another in the channels. With the modality RGB, a
    frame is an image. With FLOW, the default, it is the optical flow in x and y.
    """

def WindowData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    source: str | None = ...,
    scale: float | None = ...,
    mean_file: str | None = ...,
    batch_size: int | None = ...,
    crop_size: int | None = ...,
    mirror: bool | None = ...,
    fg_threshold: float | None = ...,
    bg_threshold: float | None = ...,
    fg_fraction: float | None = ...,
    context_pad: int | None = ...,
    crop_mode: str | None = ...,
    cache_images: bool | None = ...,
    root_folder: str | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Reads windows of images, resized to crop_size, and labels."""

def WindowSegData(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    source: str | None = ...,
    batch_size: int | None = ...,
    rand_skip: int | None = ...,
    shuffle: bool | None = ...,
    new_height: int | None = ...,
    new_width: int | None = ...,
    is_color: bool | None = ...,
    scale: float | None = ...,
    mean_file: str | None = ...,
    crop_size: int | None = ...,
    mirror: bool | None = ...,
    root_folder: str | None = ...,
    ignore_label: int | None = ...,
    label_type: ImageDataParameterLabelTypeName | None = ...,
    min_height: int | None = ...,
    min_width: int | None = ...,
    short_side: int | None = ...,
    threads: int | None = ...,
    cache: bool | None = ...,
    precache: bool | None = ...,
    dataset_share_per_node: float | None = ...,
    face_transform: bool | None = ...,
    max_shear_ratio: float | None = ...,
    max_aspect_ratio: float | None = ...,
    max_rotate_angle: float | None = ...,
    min_random_scale: float | None = ...,
    max_random_scale: float | None = ...,
    max_random_shift: int | None = ...,
    face_mirror: bool | None = ...,
    face_point_num: int | None = ...,
    balance_class: bool | None = ...,
    balance_by: int | None = ...,
    label_cut_start: int | None = ...,
    label_cut_end: int | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Reads parts of images, and label maps of the same size.

    Each line of the list ends with a part's corners x1 y1 x2 y2.
    """

def YoloDetectionOutput(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    side: int | None = ...,
    num_classes: int | None = ...,
    num_box: int | None = ...,
    coords: int | None = ...,
    confidence_threshold: float | None = ...,
    nms_threshold: float | None = ...,
    biases: float | Sequence[float] | None = ...,
    label_map_file: str | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Outputs the boxes that survive non-maximum suppression over all classes, each with its likeliest class.

    A box's score is its objectness times the probability of its class. All bottoms are grids with the same anchors.
    Caffe mixes the items of a batch; here, each has separate detections.
    """

def YoloSeg(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_class: int | None = ...,
    object_scale: float | None = ...,
    class_scale: float | None = ...,
    use_logic_gradient: bool | None = ...,
    use_hardsigmoid: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the weighted sum of squares of sigmoid(x) - label, divided by the batch size.

    The gradient is the weighted difference. The third bottom contains the number of pixels of each class in each item.
    With it, the rarer a class is, the larger is the weight of its pixels.
    """

def Yolov3(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    side: int | None = ...,
    num_class: int | None = ...,
    num: int | None = ...,
    object_scale: float | None = ...,
    class_scale: float | None = ...,
    noobject_scale: float | None = ...,
    coord_scale: float | None = ...,
    thresh: float | None = ...,
    anchors_scale: int | None = ...,
    biases: float | Sequence[float] | None = ...,
    mask: int | Sequence[int] | None = ...,
    use_logic_gradient: bool | None = ...,
    use_focal_loss: bool | None = ...,
    iou_loss: Yolov3ParameterIOU_LOSSName | None = ...,
    iou_normalizer: float | None = ...,
    iou_thresh: float | None = ...,
    max_delta: float | None = ...,
    accumulate: bool | None = ...,
    label_smooth_eps: float | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Computes the sum of squares of darknet's gradient: objectness everywhere, and box and classes at matched anchors.

    A truth matches the anchor whose size fits best, and each other anchor that fits better than `iou_thresh`. Only
    anchors in `mask` count. A label has rows of class, x, y, width and height, and ends at the first zero. With an
    `iou_loss` other than MSE, the boxes' part is their distance from the truths.
    """

def Yolov3DetectionOutput(
    name: str | None,
    bottoms: Sequence[str] | str = ...,
    *,
    num_classes: int | None = ...,
    num_box: int | None = ...,
    confidence_threshold: float | None = ...,
    nms_threshold: float | None = ...,
    biases: float | Sequence[float] | None = ...,
    anchors_scale: int | Sequence[int] | None = ...,
    mask_group_num: int | None = ...,
    mask: int | Sequence[int] | None = ...,
    gaussian_box: bool | None = ...,
    engine: str | None = ...,
    nms_param: NmsParameterDict | pb.NmsParameter | None = ...,
    resize_param: ResizeParameterDict | pb.ResizeParameter | None = ...,
    tops: Sequence[str] | str | None = ...,
    in_place: bool = ...,
    layer: AllLayerSettings | None = ...,
    **settings: Unpack[LayerSettings],
) -> pb.LayerParameter:
    """Outputs the boxes that survive non-maximum suppression over all classes. A box can have several classes.

    A score is the objectness times the probability of a class. Bottom i has the anchors of the i-th part of `mask` and
    cells of the i-th `anchors_scale` in pixels. With `gaussian_box`, each coordinate is followed by its uncertainty,
    which lowers the score. Caffe mixes the items of a batch; here, each has separate detections.
    """
