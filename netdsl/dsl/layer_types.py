# ruff: noqa
# fmt: off
"""A constructor for each of netdsl's own layer types, under its name. Written by `make stubs`."""

from caffe_proto import caffe_pb2 as pb
from netdsl.dsl.constructors import Constructor, LayerFacts

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

AbsVal = Constructor("AbsVal", LayerFacts('|x|.'))
Accuracy = Constructor("Accuracy", LayerFacts('The share of labels for which fewer than `top_k` other classes score as high; a second top has it by class.', pb.AccuracyParameter))
Add = Constructor("Add", LayerFacts('a + b.'))
AnnotatedData = Constructor("AnnotatedData", LayerFacts('Images, rows (image, label, instance, x1, y1, x2, y2, difficult), and in MobileNet-YOLO maps of classes.\n\nHow many rows there are differs from batch to batch; the shapes assume one for each image. A batch without objects\nhas one row of -1. Rows for YOLO are (class, x, y, width, height), 300 of them for each image. Maps have a channel\nfor each number in the label map, or one for all, which the shapes assume where there is no label map.', pb.AnnotatedDataParameter))
ArgMax = Constructor("ArgMax", LayerFacts('The indices of the `top_k` largest values: along an axis, or of all values of each item of the batch.\n\n`out_max_val` gives the values: in their place along an axis, else behind them.', pb.ArgMaxParameter))
AssistedExcitation = Constructor("AssistedExcitation", LayerFacts('x + alpha * mean inside boxes, where the mean over channels is the third bottom; no gradient goes through it.\n\nAlpha falls with the cosine of how far training is. The solver sets `iteration` and `max_iteration`. Labels\nhave rows of class, x, y, width and height, until a zero. Caffe does it for the first item of a batch only.'))
Axpy = Constructor("Axpy", LayerFacts('a * x + y, where `a` has one number for every channel of every item.'))
BN = Constructor("BN", LayerFacts("slope * (x - mean) / sqrt(variance + eps) + bias, for every channel.\n\nForks have several types of this name. SegNet's has two blobs, slope and bias; mean and variance are the batch's in\nboth phases, or with `bn_mode: INFERENCE` are left out. PSPNet's has running averages as two blobs more, which it\nuses in TEST and when frozen. happynear's does so too, but its fourth blob averages 1 / sqrt(variance + eps); at\nfirst it averaged variances, to which it added eps only while training.\n\nA layer is SegNet's or the first happynear's if it has a `scale_filler`, a `shift_filler`, a `bn_mode` or more than\none top (the batch's mean and variance), and PSPNet's or happynear's otherwise. Which of them, the net's dialect\nsays. Synopsys has SegNet's, and PSPNet's where `icnet` is set.", pb.BNParameter))
BNLL = Constructor("BNLL", LayerFacts('log(1 + exp(x)).'))
BatchNorm = Constructor("BatchNorm", LayerFacts("(x - mean) / sqrt(variance + eps), with those of the batch, or with averages of those of earlier batches.\n\nThree sums are kept, of means, of variances and of their weights; an average is a sum divided by the third. In\nNVCaffe and with Intel's engines a scale and a bias may follow.", pb.BatchNormParameter))
BatchReindex = Constructor("BatchReindex", LayerFacts('Item n of the top is the item of the first bottom that the second bottom has at n.'))
BatchToSpaceND = Constructor("BatchToSpaceND", LayerFacts('Items become the places of blocks of `block_shape`, and the borders of what comes out are cut off by `crops`.', pb.BatchToSpaceNDParameter))
Bias = Constructor("Bias", LayerFacts('x + bias, which is learned or is the second bottom, and lies along the axes from `axis` on.', pb.BiasParameter))
BoxAnnotatorOHEM = Constructor("BoxAnnotatorOHEM", LayerFacts("Labels and box weights of the `roi_per_img` worst regions of each image; others are ignored and weigh nothing.\n\nBottoms are regions, of which only the image's index is read, their losses, labels, and box weights.", pb.BoxAnnotatorOHEMParameter))
CPMData = Constructor("CPMData", LayerFacts("An image, and weights and maps for the joints and limbs of all people in it, as cpm_transform_param says.\n\nThe older type of this name has a cpmdata_param and its settings in transform_param. It is for a single person: the\nimage has a fourth channel that shows where the person is, and there are maps of this person's joints, and then of\neverybody's.", pb.CPMTransformationParameter))
CenterLoss = Constructor("CenterLoss", LayerFacts('Half the squared distances of all items from the centres of their classes, divided by the batch.\n\nhappynear\'s `distance_type: "L1"` takes the distances themselves, whole. Centres don\'t follow the gradient of the\nloss, but move to the mean of their items, with one item more that is where they are, whatever the loss weighs. In\nhappynear\'s Caffe they go so far for each of these items. Without a `loss_weight` the loss weighs 0.', pb.CenterLossParameter))
ChannelScale = Constructor("ChannelScale", LayerFacts('The first bottom times the second, which has one number for each item and place.', pb.ChannelScaleParameter))
Clip = Constructor("Clip", LayerFacts('max(min, min(x, max)); the gradient passes at the bounds themselves.', pb.ClipParameter))
Concat = Constructor("Concat", LayerFacts("All bottoms, joined along `axis`.\n\nIntel's `per_fla_fuse` joins on axis 1 what a Permute that puts channels last and a Flatten would give, with two\nmore axes of length 1.", pb.ConcatParameter))
ContrastiveLoss = Constructor("ContrastiveLoss", LayerFacts('d^2 / 2 for similar pairs, max(margin - d, 0)^2 / 2 for all others, averaged; d is the distance of a pair.\n\nThe legacy version has max(margin - d^2, 0) / 2.', pb.ContrastiveLossParameter))
Convolution = Constructor("Convolution", LayerFacts('At every place, the sum over a window of the input times a filter, plus a bias.', pb.ConvolutionParameter))
ConvolutionDepthwise = Constructor("ConvolutionDepthwise", LayerFacts('A convolution in which every channel is filtered by itself; `num_output` may be left out.', pb.ConvolutionParameter))
Crop = Constructor("Crop", LayerFacts('From `axis` on the first bottom is cut to the size of the second, beginning at `offset`.', pb.CropParameter))
Data = Constructor("Data", LayerFacts('An image, and a number if there is a second top.', pb.DataParameter))
DataHeatmap = Constructor("DataHeatmap", LayerFacts('A square part of an image in red, green and blue, and a map with a gaussian for each joint.', pb.HeatmapDataParameter))
Deconvolution = Constructor("Deconvolution", LayerFacts('Every input is spread over a window as a filter says; padding is cut off the sum.', pb.ConvolutionParameter))
DenseImageData = Constructor("DenseImageData", LayerFacts('An image and a map of its size. Where nothing says a size it is that of CamVid, which SegNet was made for.', pb.DenseImageDataParameter))
DepthToSpace = Constructor("DepthToSpace", LayerFacts("Height and width become `block_size` times as large, with as many times fewer channels.\n\nWith NHWC and NCHW, which is DCR's order, the place in a block is the slower part of a channel's number; with CRD\nit is the faster.", pb.DepthToSpaceParameter))
DepthwiseConvolution = Constructor("DepthwiseConvolution", LayerFacts('A convolution in which every channel is filtered by itself.', pb.ConvolutionParameter))
DetectNetCluster = Constructor("DetectNetCluster", LayerFacts('For every class the boxes (left, top, right, bottom, confidence) that several cells agree on, 50 at most.\n\nBottoms are how much objects of each class cover every cell, and the corners of a box there, seen from the cell.\nBoxes that are nearly the same become one, as OpenCV groups rectangles; the confidence is the logarithm of how many.'))
DetectNetGroundtruth = Constructor("DetectNetGroundtruth", LayerFacts('For every class the boxes (left, top, right, bottom, 0) that cover a cell, each once, 50 at most.\n\nBottoms are how much objects of each class cover every cell, and the corners of the box there, seen from the cell.'))
DetectNetPrecision = Constructor("DetectNetPrecision", LayerFacts('Precision times recall, precision, and recall, in percent, of boxes that DetectNetScore has marked.\n\nThe fork calls the first one mAP, though it is no mean over thresholds.'))
DetectNetScore = Constructor("DetectNetScore", LayerFacts("Boxes with 1 for a detection that is an object, 2 for one that is none, 3 for an object that wasn't detected.\n\nBottoms are lists of objects and of detections. Each object in turn takes the first detection that overlaps with it\nenough and that no other has taken."))
DetectNetTransformation = Constructor("DetectNetTransformation", LayerFacts("Images of DetectNet's size without their mean, and for each a map of cells that see an object, four maps of the\nobject's corners, two of its inverse sizes, one of the inverse of what it covers, and one for each class.\n\nImages are augmented by chance in TRAIN, and only scaled in TEST. A box's class is numbered as in `object_class`.", pb.DetectNetGroundTruthParameter))
DetectionEvaluate = Constructor("DetectionEvaluate", LayerFacts("First a row (-1, label, objects, -1, -1) for each class, then (image, label, score, true, false) for detections.\n\nBottoms are the rows of DetectionOutput and those of AnnotatedData. A detection is true if the object that it\noverlaps with most is of its label, overlaps enough, and has no better detection. It is neither true nor false for\na difficult object that doesn't count. With `name_size_file`, whose images come in order, boxes count pixels.", pb.DetectionEvaluateParameter))
DetectionOutput = Constructor("DetectionOutput", LayerFacts("One row (image, label, score, x1, y1, x2, y2) for each detection, by image, label and falling score.\n\nThe shape is known only when it runs; until then it is Caffe's, of one row. An image without detections has no row,\nbut if none has any, each gets a row of -1. Nothing is saved or shown: `save_output_param` and `visualize` are for\nthe program that takes the top.\n\nSynopsys' takes more bottoms: the scores of every feature map (batch, classes, ratios, places), then the locations\nof every feature map as a convolution makes them, then the priors.", pb.DetectionOutputParameter))
Dropout = Constructor("Dropout", LayerFacts('Values are left out with the chance `dropout_ratio`, and the others scaled up to make up for it.\n\nWith `scale_train: false`, of Faster R-CNN, all are scaled down in a test instead. With `sample_weights_test`, of\nBayesian SegNet, values are left out in a test too.', pb.DropoutParameter))
DummyData = Constructor("DummyData", LayerFacts('Each top is filled by its `data_filler`: once if that is constant, else again whenever the net runs.', pb.DummyDataParameter))
ELU = Constructor("ELU", LayerFacts("max(x, 0) + alpha * (exp(min(x, 0)) - 1), times NVCaffe's lambda, which makes it a SELU.", pb.ELUParameter))
Eltwise = Constructor("Eltwise", LayerFacts("The sum of the bottoms, each times its `coeff`, or their product, or the largest of them.\n\nCaffe's rule for a sum in place: its memory, which is the first bottom's, is made 0 first. So the first bottom isn't\nin the sum, though it gets its gradient.", pb.EltwiseParameter))
EltwiseAccuracy = Constructor("EltwiseAccuracy", LayerFacts('The share of pixels whose label is among the `top_k` best classes; of classes that score alike the last is best.\n\nWithout any label that counts it is NaN.', pb.EltwiseAccuracyParameter))
Embed = Constructor("Embed", LayerFacts('The row of the weights that every value of the bottom names, plus a bias.', pb.EmbedParameter))
EuclideanLoss = Constructor("EuclideanLoss", LayerFacts('sum (x - y)^2 / (2 N). Both bottoms get a gradient.'))
EuclideanLossHeatmap = Constructor("EuclideanLossHeatmap", LayerFacts("The mean of (x - y)^2. A third bottom is for pictures.\n\nThe gradient is the fork's: x - y, whatever the loss is divided by and whatever its loss_weight."))
EvalDetection = Constructor("EvalDetection", LayerFacts("For every item, how many truths each class has, then class, score, right and wrong of every detection.\n\nDetections are sorted by class and then by score; rows that are left over are 0. One is right if the truth of its\nclass that it overlaps most isn't a better one's already, and wrong if it is or if there is none; one that\noverlaps less than `threshold` is neither. Truths are rows of eight, as SSD's data layer gives them. Without `nms`\nCaffe has no detections.", pb.EvalDetectionParameter))
Exp = Constructor("Exp", LayerFacts('base ** (shift + scale * x).', pb.ExpParameter))
FCNSegData = Constructor("FCNSegData", LayerFacts("One image at a time, of any size, and maps of its size: labels, or in NYUD what `tops` of its settings names.\n\nImages are drawn where the split's name has `train` in it and `randomize` isn't off, and otherwise in their order."))
Filter = Constructor("Filter", LayerFacts("Of every bottom but the last the items for which the last isn't 0."))
Flatten = Constructor("Flatten", LayerFacts('The axes from `axis` to `end_axis`, both included, are one.', pb.FlattenParameter))
Flip = Constructor("Flip", LayerFacts('Left and right change places with `flip_width`, top and bottom with `flip_height`.', pb.FlipParameter))
HDF5Data = Constructor("HDF5Data", LayerFacts('Each top is the data set of its name. What shapes they have only the files say; here an image, then numbers.', pb.HDF5DataParameter))
HDF5Output = Constructor("HDF5Output", LayerFacts('The data sets `data` and `label`, with the rows of all batches that ran. Caffe ends at the second batch.', pb.HDF5OutputParameter, has_tops=False))
HardSwish = Constructor("HardSwish", LayerFacts('x * min(max(x + 3, 0), 6) / 6.'))
HingeLoss = Constructor("HingeLoss", LayerFacts('The sum of max(0, 1 - x) for right classes and max(0, 1 + x) for all others, or of its squares, over N.', pb.HingeLossParameter))
Im2col = Constructor("Im2col", LayerFacts('The channels of the top are those of the bottom, each at every place in the window.', pb.ConvolutionParameter))
ImResize = Constructor("ImResize", LayerFacts('One image, the mean of all items. Each is the middle of what it is given, the smaller the later it comes:\n`start_scale` of it for the first, `scale_gap` less for each one more.', pb.ImResizeParameter))
ImageData = Constructor("ImageData", LayerFacts('An image and a number.', pb.ImageDataParameter))
ImageLabelmapData = Constructor("ImageLabelmapData", LayerFacts('An image and a map of its size, with 1 where the file of the map is at least half as bright as white.', pb.ImageDataParameter))
ImageSegData = Constructor("ImageSegData", LayerFacts('An image, a map of its size, and maybe its height and width before it was cropped or padded.', pb.ImageDataParameter))
InfogainLoss = Constructor("InfogainLoss", LayerFacts('-sum over all classes k of H[label, k] * log softmax(x)[k]; H is the third bottom, or a file.', pb.InfogainLossParameter))
InnerProduct = Constructor("InnerProduct", LayerFacts('Everything from `axis` on is one vector, which is multiplied by the weights.', pb.InnerProductParameter))
Input = Constructor("Input", LayerFacts('The caller of the net gives its tops.', pb.InputParameter))
Interp = Constructor("Interp", LayerFacts("The bottom, cropped by negative padding, at another size.\n\nA `zoom_factor` counts the steps between pixels, and Synopsys' `full_zoom_factor` the pixels. In some forks a second\nbottom can have that size; then no setting may say another.", pb.InterpParameter))
L1Loss = Constructor("L1Loss", LayerFacts("sum |x - y| / N. Both bottoms get a gradient. Of FlowNet's type of this name it is what needs no settings.", pb.L1LossParameter))
LRN = Constructor("LRN", LayerFacts('x / (k + alpha * mean of x**2)**beta, the mean over neighbouring channels or, with k = 1, over a window.', pb.LRNParameter))
LSTM = Constructor("LSTM", LayerFacts('Four gates decide what a cell takes in, keeps and gives out; the top is the hidden state of every step.', pb.RecurrentParameter))
LSTMUnit = Constructor("LSTMUnit", LayerFacts('From the cell 1 x N x D, the gates before their nonlinearities 1 x N x 4D and cont 1 x N: cell and hidden state.\n\nCaffe on a GPU; on a CPU its gradient for the forget gate is another one where cont is neither 0 nor 1.'))
LaneData = Constructor("LaneData", LayerFacts('An image, rows of points (x, y, lane), and a map that is `seg_scales` times smaller or has a size of its own.', pb.AnnotatedDataParameter))
Log = Constructor("Log", LayerFacts('log(shift + scale * x) to the base.', pb.LogParameter))
MVN = Constructor("MVN", LayerFacts("(x - mean) / (deviation + eps), over the pixels of each channel or `across_channels`; the top has four axes.\n\nWith Synopsys' `add_eps_before_sqrt` it is divided by sqrt(variance + eps).", pb.MVNParameter))
MarginInnerProduct = Constructor("MarginInnerProduct", LayerFacts("|x| cos(angle to each weight); for the label (lambda * |x| cos(angle) + |x| psi(angle)) / (1 + lambda).\n\nPsi falls as cos(m * angle), made monotonous, m being 1 to 4 by `type`. Lambda falls with the number of forward\npasses: base * (1 + gamma * passes) ^ -power, at least lambda_min; it is the second top. As in Caffe, the rows of\nthe weight are made unit vectors in every pass, and the gradient is one of Caffe's own: a margin turns it for the\nlabel's class, with its length kept, and the weight gets what a plain inner product would.", pb.MarginInnerProductParameter))
Maximum = Constructor("Maximum", LayerFacts("Of two bottoms the larger values, the smaller bottom repeated. Of one, (x, y, value) for every channel.\n\nrtpose's finds only what is positive: where nothing is, all three are 0."))
MemoryData = Constructor("MemoryData", LayerFacts('An image of a size that is given, and a number.', pb.MemoryDataParameter))
Mul = Constructor("Mul", LayerFacts('a * b, axes compared from the last one on: each is equal in both or is 1 in one of them.'))
MultiBoxLoss = Constructor("MultiBoxLoss", LayerFacts('Location loss of the boxes that match an object, and confidence loss of these and of hard ones that match none.\n\nBottoms are locations, scores, priors and objects as AnnotatedData gives them.', pb.MultiBoxLossParameter))
MultiStageMeanfield = Constructor("MultiStageMeanfield", LayerFacts('Scores for every pixel, once its neighbours have been heard, above all those of its own colour.\n\nBottoms are the scores of a net, what the first step begins with (the same scores, as a rule), and the image. In\nevery step probabilities are blurred over near pixels, and over near pixels of similar colours; what comes of both\nis weighed by a matrix each, then by what classes think of each other, and taken off the scores. The image gets no\ngradient.', pb.MultiStageMeanfieldParameter))
MultinomialLogisticLoss = Constructor("MultinomialLogisticLoss", LayerFacts('-log x[label], averaged over the batch.'))
Nms = Constructor("Nms", LayerFacts('For every item and part: a row that begins with how many peaks there are, then (x, y, score) of each.\n\nA peak is above the threshold and all eight neighbours. Its place is the mean of the places around it, weighed by\ntheir scores. Peaks are in the order of reading; only `max_peaks` are told, though all are counted.', pb.NmsParameter))
Normalize = Constructor("Normalize", LayerFacts("scale * x / sqrt(sum of x² + eps), with the sum over channels, or over the whole item with `across_spatial`.\n\nWith Synopsys' `add_eps_before_sqrt: false` eps is added to the root over a whole item.\n\nhappynear's, with its settings in `normalize_param`, has no scale, sums over channels, and with the type L1 takes\nabsolute values. A second top has what it divided by, and passes a gradient only with `bp_norm`. TSN's has no\nsettings at all, and divides items by their length. A layer without settings is whose the net is. The top of these\ntwo has four axes.", pb.NormalizeParameter))
PReLU = Constructor("PReLU", LayerFacts('max(x, 0) + slope * min(x, 0), with a slope for each channel or one for all.', pb.PReLUParameter))
PSROIPooling = Constructor("PSROIPooling", LayerFacts('Channel (c * group_size + row) * group_size + column is averaged over the bin in that row and column.\n\nRegions are (image, x1, y1, x2, y2) in the image, rounded before `spatial_scale` brings them to the feature map.', pb.PSROIPoolingParameter))
Pad = Constructor("Pad", LayerFacts('`paddings` has how much comes before and how much behind, for every axis in turn.', pb.PadParameter))
Parameter = Constructor("Parameter", LayerFacts('Its top is its blob. Caffe starts it at 0, a fork has a filler for it.', pb.ParameterParameter))
Permute = Constructor("Permute", LayerFacts('Axis `order[i]` becomes axis i; those that `order` leaves out follow as they were.', pb.PermuteParameter))
Pooling = Constructor("Pooling", LayerFacts('The largest or the average value of every window, or one that is drawn at random, larger ones more often.\n\nA second top of MAX says where the largest values are.', pb.PoolingParameter))
Power = Constructor("Power", LayerFacts('(shift + scale * x) ** power.', pb.PowerParameter))
PriorBox = Constructor("PriorBox", LayerFacts("Boxes relative to the image's size in the first channel of the top, their variances in the second.\n\nFor every `min_size` there is a square, a larger square if it has a `max_size`, and one box for each aspect ratio.\nWith Synopsys' `tf` the larger square is the last. Its `yx_order` puts y before x, and so it is in all that is made\nof the boxes.", pb.PriorBoxParameter))
Proposal = Constructor("Proposal", LayerFacts("Regions (image, x1, y1, x2, y2) and their scores, best first, without those that overlap with better ones.\n\nBottoms are scores (background first), box predictions, and the image's height, width and scale, or two scales for\nheight and width. A `scale` of an anchor is relative to `base_size`, but in happynear's Caffe it is in pixels. What\nis too small gets a score of 0, but is not left out. How many regions there are is known only when it runs; until\nthen the shape says as many as may be.", pb.ProposalParameter))
Python = Constructor("Python", LayerFacts('Runs `setup`, `reshape`, `forward` and `backward` of a class, on numpy arrays, as pycaffe does.\n\nA net can name any module, so only those in `allowed` are imported. A module that says `import caffe` where no\nCaffe is installed gets netdsl.pycaffe. Exceptions of the class pass through as they are.', pb.PythonParameter))
RNN = Constructor("RNN", LayerFacts("h = tanh(W_hh h' + W_xh x + b_h), and the top is tanh(W_ho h + b_o).", pb.RecurrentParameter))
ROIPooling = Constructor("ROIPooling", LayerFacts("Regions are (image, x1, y1, x2, y2) in the image, which `spatial_scale` brings to the feature map.\n\nBins round outward, so that neighbours can overlap. One that is outside of the map gives 0. A region that ends\nbefore it begins is taken as one place; Faster R-CNN's rule, but not Intel's: that place gets no gradient.", pb.ROIPoolingParameter))
ReLU = Constructor("ReLU", LayerFacts('max(x, 0) + slope * min(x, 0), between the bounds that the Synopsys fork can set.', pb.ReLUParameter))
ReLU6 = Constructor("ReLU6", LayerFacts('min(max(x, 0) + slope * min(x, 0), 6); nothing flows back from where the six was reached.', pb.ReLUParameter))
Reduction = Constructor("Reduction", LayerFacts('`coeff` times the sum of the values, of their absolutes or of their squares, or times their mean.', pb.ReductionParameter))
RegionLoss = Constructor("RegionLoss", LayerFacts("The sum of squares of what is sent back: objectness, and box and class where a truth's best anchor is.\n\nLabels with rows of five (class, x, y, width, height, until a zero) are MobileNet-YOLO's. Labels with rows of\neight, as SSD's data layer gives them, are Intel's, whose formulas differ: boxes are clipped as in a smooth L1\nloss, objectness is focal, and the loss isn't divided by the number of items.", pb.RegionLossParameter))
Reorg = Constructor("Reorg", LayerFacts("Blocks of stride x stride pixels and the channels change places.\n\nDarknet's rule: going down, the numbers are read as if they were an image of fewer channels and more pixels, so\nthat channels are mixed; that image's blocks become channels, and only their count and not their shape is kept.", pb.ReorgParameter))
Reshape = Constructor("Reshape", LayerFacts("`num_axes` axes from `axis` on become those of `shape`: 0 keeps the bottom's, -1 is what is left.\n\nIntel's `pixelshuffler` moves r x r channels into r times the height and width instead.", pb.ReshapeParameter))
ResizeBilinear = Constructor("ResizeBilinear", LayerFacts('The neighbours weighed by how near they are.', pb.ResizeBilinearParameter))
ResizeNearestNeighbor = Constructor("ResizeNearestNeighbor", LayerFacts('The pixel at the place rounded down, or with `align_corners` to the nearest.', pb.ResizeNearestNeighborParameter))
RoIData = Constructor("RoIData", LayerFacts("Images, their sizes and objects for a net that proposes regions; otherwise images, regions, labels, box targets.\n\nWhat it reads and how is in param_str, by py-faster-rcnn's names. Until the data are open nothing says how large\nimages are, so the shapes are those that py-faster-rcnn begins with: 600 x 1000, one image and an object for a net\nwith proposals, two images and 128 regions for one without."))
RpnAnchorTarget = Constructor("RpnAnchorTarget", LayerFacts("Labels of all anchors (1 object, 0 background, -1 neither), box targets, and their inside and outside weights.\n\nBottoms are scores, of which only the size is read, objects (x1, y1, x2, y2, label), the image's height, width and\nscale, and the image. An anchor is an object if it overlaps with one enough, or more than any other anchor does."))
RpnProposal = Constructor("RpnProposal", LayerFacts("Regions (0, x1, y1, x2, y2) and their scores, best first, without those that overlap with better ones.\n\nBottoms are scores (background first), box predictions, and the image's height, width and scale. How many regions\nthere are is known only when it runs; until then the shape says as many as there may be."))
RpnProposalTarget = Constructor("RpnProposalTarget", LayerFacts("Regions, their labels, and the box targets of each region's class with inside and outside weights.\n\nBottoms are regions of one image and objects (x1, y1, x2, y2, label), which are regions too. Regions are chosen by\nchance; how many is known only when it runs, and until then the shapes say a full batch. With two classes, as in\nR-FCN, all objects are of the second as far as boxes go. py-faster-rcnn's rule: a net that proposes regions has\nmeans and deviations that are known beforehand, unless it learns box targets as they are."))
SPP = Constructor("SPP", LayerFacts('Pooling into 1 x 1, 2 x 2, 4 x 4 ... bins, all in a row.', pb.SPPParameter))
Scale = Constructor("Scale", LayerFacts('x * scale + bias, where the scale is learned or is the second bottom, and lies along the axes from `axis` on.', pb.ScaleParameter))
SeLU = Constructor("SeLU", LayerFacts('lambda * x where x is positive, and lambda * alpha * (exp(x) - 1) elsewhere.', pb.SeLuParameter))
SeLUDropout = Constructor("SeLUDropout", LayerFacts('While training, values left out become alpha, and all are scaled and shifted to make up for it.', pb.SeLuDropoutParameter))
SeLu = Constructor("SeLu", LayerFacts('lambda * x where x is positive, and lambda * alpha * (exp(x) - 1) elsewhere.', pb.SeLuParameter))
SeLuDropout = Constructor("SeLuDropout", LayerFacts('While training, values left out become alpha, and all are scaled and shifted to make up for it.', pb.SeLuDropoutParameter))
SegAccuracy = Constructor("SegAccuracy", LayerFacts('Three numbers: accuracy, mean recall of the classes that are there, mean intersection over union of all classes.\n\nWith `reset: false` pixels are counted from the first batch on. A class that is neither labelled nor found has an\nintersection over union of 1.', pb.SegAccuracyParameter))
SegmentationEvaluate = Constructor("SegmentationEvaluate", LayerFacts('Intersection over union of each channel of the first item, where both are above a threshold.\n\nA prediction of another size is resized as an image of bytes; a class that is neither labelled nor found has -1\nthen, and 0 otherwise.', pb.SegmentationEvaluateParameter))
ShuffleChannel = Constructor("ShuffleChannel", LayerFacts('Channel k of group g goes to place k * groups + g. The top has four axes: those that are missing are 1 long.', pb.ShuffleChannelParameter))
Sigmoid = Constructor("Sigmoid", LayerFacts('1 / (1 + exp(-x)).', pb.SigmoidParameter))
SigmoidCrossEntropyLoss = Constructor("SigmoidCrossEntropyLoss", LayerFacts("-t log s(x) - (1 - t) log(1 - s(x)), summed; unless told otherwise it is divided by the batch size only.\n\nIn HED's fork the edges of an image, of which there are few, weigh as much as all else: each is multiplied by the\nshare of the places with 0, and each of these by the share of those with 1.", pb.SigmoidParameter))
Silence = Constructor("Silence", LayerFacts('It has no top.', has_tops=False))
Slice = Constructor("Slice", LayerFacts('Cut at every `slice_point`, or into equal parts.', pb.SliceParameter))
SmoothL1Loss = Constructor("SmoothL1Loss", LayerFacts("The sum of smooth L1 of the differences of two bottoms, divided by the batch.\n\nA third bottom weighs the differences, a fourth the losses. Caffe's rule: without the fourth the gradient doesn't\nhave the weights of the third, unless `abssum: false` says so. The first R-FCN has a second top, the sums over\nchannels, which gets no gradient, and normalises as SmoothL1LossOHEM. Intel's `normalization: NONE` divides by\nnothing; others know none. Without a `loss_weight` it weighs 1, and 0 in forks that are made from Faster R-CNN.", pb.SmoothL1LossParameter))
SmoothL1LossOHEM = Constructor("SmoothL1LossOHEM", LayerFacts("The sum of smooth L1 of the differences of two bottoms, which a third may weigh, normalised.\n\nThe second top has the sums over channels; it gets no gradient. Caffe's rule: the gradient doesn't have the weights,\nand without a `loss_weight` the loss weighs 0."))
Softmax = Constructor("Softmax", LayerFacts('exp(x), divided by its sum along an axis.', pb.SoftmaxParameter))
SoftmaxWithLoss = Constructor("SoftmaxWithLoss", LayerFacts("-log softmax(x)[label], times the weight that SegNet's `class_weighting` gives to the class, then normalised.\n\nThe first R-FCN has a third top, the loss of every place before it is normalised, without a gradient. It has the\nlabels' shape; or if labels have but one axis, 4 axes, as SmoothL1Loss has them: R-FCN's own labels have 4.", pb.SoftmaxParameter))
SoftmaxWithLossOHEM = Constructor("SoftmaxWithLossOHEM", LayerFacts('SoftmaxWithLoss, whose third top has the losses to be added to those of SmoothL1LossOHEM.', pb.SoftmaxParameter))
SpaceToBatchND = Constructor("SpaceToBatchND", LayerFacts('The axes after the batch are padded with 0, and taken apart in blocks of `block_shape`.\n\nItem `place * batch + n` has what is at that place of every block of item n.', pb.SpaceToBatchNDParameter))
SpatialDropout = Constructor("SpatialDropout", LayerFacts("x * mask / (1 - ratio), with one random bit for every channel of every item; in TEST the bottom itself.\n\nThe ratio is in `spatial_dropout_param` or, in Intel's fork, in `dropout_param`. The Python layer of ENet is this\none too; its `param_str` has the ratio and a phase of its own, and in TEST it multiplies all the same.", pb.SpatialDropoutParameter))
Split = Constructor("Split", LayerFacts('Every top is the bottom.'))
Squeeze = Constructor("Squeeze", LayerFacts('Takes away the axes that are named, or all of size one if none is.', pb.SqueezeParameter))
Swish = Constructor("Swish", LayerFacts('x * sigmoid(beta * x).', pb.SwishParameter))
Switch = Constructor("Switch", LayerFacts("The last bottom. rtpose's program can choose another one while it runs; a net can't."))
TanH = Constructor("TanH", LayerFacts('tanh(x).', pb.TanHParameter))
Threshold = Constructor("Threshold", LayerFacts('1 where x > threshold, else 0.', pb.ThresholdParameter))
Tile = Constructor("Tile", LayerFacts('`tiles` copies of the bottom, one behind the other.', pb.TileParameter))
Unpooling = Constructor("Unpooling", LayerFacts("Zeros with the bottom's values at the places that a pooling's mask says, the second bottom; without one at the\ncorners of the windows.\n\nAVE spreads a value over its window in equal parts, and TILE repeats it there; where windows overlap, they add up.\nThe fork's rule: the gradient of TILE is that of AVE.", pb.UnPoolingParameter))
Upsample = Constructor("Upsample", LayerFacts("SegNet's undoes a pooling whose mask is the second bottom; YOLO's has one bottom and repeats every pixel.\n\nWithout a `scale`, SegNet's doubles the size, and YOLO's keeps it.", pb.UpsampleParameter))
UpsampleDarknet = Constructor("UpsampleDarknet", LayerFacts('Height and width become `stride` times as large.', pb.UpsampleDarknetParameter))
VideoData = Constructor("VideoData", LayerFacts("A frame, and a number if there is a second top.\n\nSSD's has its batch_size in data_param. The type of this name in TSN has it among its own settings; its items are\n`num_segments` times `new_length` frames of a video, one behind the other in the channels. Such a frame is an image\nif the modality is RGB, and how far things move across and down if it is FLOW, as it is where nothing is said.", pb.VideoDataParameter))
WindowData = Constructor("WindowData", LayerFacts('An image of crop_size, and a number.', pb.WindowDataParameter))
WindowSegData = Constructor("WindowSegData", LayerFacts("A part of an image, and a map of its size. A line of the list ends with the part's corners, x1 y1 x2 y2.", pb.ImageDataParameter))
YoloDetectionOutput = Constructor("YoloDetectionOutput", LayerFacts("Every box has its likeliest class; a box that a better one of any class overlaps is left out.\n\nA box's score is its objectness times its class's probability. Each bottom is a grid with the same anchors. Caffe\nmixes the items of a batch; here each has its own detections.", pb.YoloDetectionOutputParameter))
YoloSeg = Constructor("YoloSeg", LayerFacts('The sum of squares of sigmoid(x) - label, weighed, over the number of items; that difference is sent back.\n\nThe third bottom has how many pixels each class has in each item; what is labelled then weighs more the rarer its\nclass is.', pb.YoloSegParameter))
Yolov3 = Constructor("Yolov3", LayerFacts("The sum of squares of what is sent back: objectness, and box and classes where truths match anchors.\n\nA truth matches the anchor that fits its size best, and every other one that fits better than `iou_thresh`, as far\nas `mask` says that they are this layer's. Labels have rows of class, x, y, width and height, until a zero.\nWith an `iou_loss` other than MSE, boxes add how far they are from their truths instead of squares.", pb.Yolov3Parameter))
Yolov3DetectionOutput = Constructor("Yolov3DetectionOutput", LayerFacts("A box may have several classes; one that a better one of any class overlaps is left out.\n\nA score is objectness times a class's own probability. Bottom number i has the anchors of the i-th part of `mask`\nand cells of `anchors_scale` number i pixels. With `gaussian_box` every coordinate is followed by how uncertain it\nis, which lowers the score. Caffe mixes the items of a batch; here each has its own detections.", pb.Yolov3DetectionOutputParameter))
