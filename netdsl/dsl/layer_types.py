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

AbsVal = Constructor("AbsVal", LayerFacts('Computes the absolute value: |x|.'))
Accuracy = Constructor("Accuracy", LayerFacts('Computes the share of labels for which fewer than `top_k` other classes score at least as high.\n\nThe second top contains the share for each class.', pb.AccuracyParameter))
Add = Constructor("Add", LayerFacts('Computes a + b. Axes of length 1 are broadcast.'))
AnnotatedData = Constructor("AnnotatedData", LayerFacts('Reads images and rows of (image, label, instance, x1, y1, x2, y2, difficult).\n\nIn MobileNet-YOLO, it also reads class maps. The number of rows differs from batch to batch. The shapes assume one\nrow for each image. A batch without objects has one row of -1. With `yolo_data_type: 1`, there are 300 rows of\n(class, x, y, width, height) for each image. The maps have one channel for each number in the label map, or a single\nchannel for all classes. Without a label map, the shapes assume a single channel.', pb.AnnotatedDataParameter))
ArgMax = Constructor("ArgMax", LayerFacts('Computes the indices of the `top_k` largest values along an axis, or over all values of each item.\n\n`out_max_val` outputs the values instead of the indices if there is an axis, and otherwise the values after the\nindices.', pb.ArgMaxParameter))
AssistedExcitation = Constructor("AssistedExcitation", LayerFacts('Computes x + alpha * mean inside the true boxes. The third bottom is the mean over channels and gets no gradient.\n\nAlpha falls from 1 to 0 along a cosine during the training. The solver sets `iteration` and `max_iteration`. A label\nhas rows of class, x, y, width and height, and ends at the first zero. Caffe changes only the first item of a batch.'))
Axpy = Constructor("Axpy", LayerFacts('Computes a * x + y. `a` has one number for each channel of each item.'))
BN = Constructor("BN", LayerFacts("Computes slope * (x - mean) / sqrt(variance + eps) + bias for each channel.\n\nSeveral forks have a type of this name. SegNet's has two blobs, slope and bias. It uses the batch's mean and\nvariance in both phases, or none with `bn_mode: INFERENCE`. PSPNet's also has running averages as two more blobs and\nuses them in TEST and when frozen. So does happynear's, but its fourth blob averages 1 / sqrt(variance + eps). Its\nfirst version averaged variances and added eps only in training.\n\nA layer with a `scale_filler`, a `shift_filler`, a `bn_mode` or more than one top (the batch's mean and variance) is\nSegNet's or happynear's first version. Other layers are PSPNet's or happynear's. The net's dialect decides between\nthe two. Synopsys has SegNet's, and PSPNet's if `icnet` is set.", pb.BNParameter))
BNLL = Constructor("BNLL", LayerFacts('Computes log(1 + exp(x)).'))
BatchNorm = Constructor("BatchNorm", LayerFacts("Computes (x - mean) / sqrt(variance + eps) for each channel.\n\nThe mean and the variance are the batch's in training, and running averages in TEST. The blobs are sums of means, of\nvariances and of weights. An average is a sum divided by the sum of the weights. In NVCaffe and with Intel's\nengines, the layer can also have a scale and a bias.", pb.BatchNormParameter))
BatchReindex = Constructor("BatchReindex", LayerFacts('Selects items of the first bottom by the indices in the second bottom.\n\nAn index can occur several times or not at all.'))
BatchToSpaceND = Constructor("BatchToSpaceND", LayerFacts('Moves items of the batch to the positions of blocks of `block_shape`, and removes `crops` from the borders.', pb.BatchToSpaceNDParameter))
Bias = Constructor("Bias", LayerFacts('Computes x + bias along the axes from `axis` on. The bias is learned, or is the second bottom.', pb.BiasParameter))
BoxAnnotatorOHEM = Constructor("BoxAnnotatorOHEM", LayerFacts('Keeps the labels and box weights of the `roi_per_img` regions with the largest losses in each image.\n\nOther regions get the ignored label and a weight of 0. The bottoms are regions, losses, labels and box weights. Of\nthe regions, only the image index is read.', pb.BoxAnnotatorOHEMParameter))
CPMData = Constructor("CPMData", LayerFacts("Reads images, and weights and maps for the joints and limbs of all people in them.\n\n`cpm_transform_param` has the settings. The older type of this name has a `cpmdata_param` and its settings in\n`transform_param`. It is for a single person, whose position is marked in the image's fourth channel. The maps show\nthis person's joints first, and then the joints of all people.", pb.CPMTransformationParameter))
CenterLoss = Constructor("CenterLoss", LayerFacts('Computes half the mean squared distance between items and the centers of their classes.\n\nWith happynear\'s `distance_type: "L1"`, it is the mean absolute distance instead. The centers don\'t follow the\ngradient of the loss. Each moves to the mean of its items and its current place, whatever the loss_weight is. In\nhappynear\'s Caffe, it moves by that step for each of these items. Without a `loss_weight`, the weight is 0.', pb.CenterLossParameter))
ChannelScale = Constructor("ChannelScale", LayerFacts('Computes the product of the first bottom and the second one, which has one number for each item and position.', pb.ChannelScaleParameter))
Clip = Constructor("Clip", LayerFacts('Computes max(min, min(x, max)). The gradient passes at the bounds themselves.', pb.ClipParameter))
Concat = Constructor("Concat", LayerFacts("Joins all bottoms along `axis`.\n\nIntel's `per_fla_fuse` first permutes each bottom so that channels are last, then flattens it. The blobs are joined\non axis 1, and the top has two more axes of length 1.", pb.ConcatParameter))
ContrastiveLoss = Constructor("ContrastiveLoss", LayerFacts('Computes the mean of d^2 / 2 for similar pairs and max(margin - d, 0)^2 / 2 for other pairs with the distance d.\n\nThe legacy version has max(margin - d^2, 0) / 2 for other pairs.', pb.ContrastiveLossParameter))
Convolution = Constructor("Convolution", LayerFacts("Convolves the bottom with learned filters and adds a bias.\n\nAt each position, a filter's value is the sum of its products with a window of the bottom.", pb.ConvolutionParameter))
ConvolutionDepthwise = Constructor("ConvolutionDepthwise", LayerFacts('Convolves each channel with its own filters. `num_output` may be left out.', pb.ConvolutionParameter))
Crop = Constructor("Crop", LayerFacts('Crops the first bottom to the size of the second one from `axis` on. The part starts at `offset`.', pb.CropParameter))
CropCenter = Constructor("CropCenter", LayerFacts('Removes `crop_size` values at both ends of each axis.', pb.CropCenterParameter))
Data = Constructor("Data", LayerFacts('Reads images from a database, and labels if there is a second top.', pb.DataParameter))
DataHeatmap = Constructor("DataHeatmap", LayerFacts('Reads square parts of RGB images, and a map with a Gaussian for each joint.', pb.HeatmapDataParameter))
Deconvolution = Constructor("Deconvolution", LayerFacts('Computes a transposed convolution with learned filters and adds a bias.\n\nEach value of the bottom scales the filters, which are added to a window of the top. The padding is cut off the\nresult.', pb.ConvolutionParameter))
DenseImageData = Constructor("DenseImageData", LayerFacts("Reads images and label maps of the same size. The default size is that of CamVid, SegNet's data set.", pb.DenseImageDataParameter))
DepthToSpace = Constructor("DepthToSpace", LayerFacts("Multiplies height and width by `block_size` and divides the channels by its square.\n\nA channel's index consists of a position in the block and an output channel. With NHWC, NCHW and DCR, the output\nchannel varies faster. With CRD, the position varies faster.", pb.DepthToSpaceParameter))
DepthwiseConvolution = Constructor("DepthwiseConvolution", LayerFacts('Convolves each channel with its own filters.', pb.ConvolutionParameter))
DetectNetCluster = Constructor("DetectNetCluster", LayerFacts("Computes for each class up to 50 boxes (left, top, right, bottom, confidence) on which several cells agree.\n\nThe first bottom is each cell's coverage by objects of each class. The second one contains the corners of a box\nrelative to the cell. Similar boxes are merged as in OpenCV's groupRectangles. The confidence is the logarithm of\ntheir number."))
DetectNetGroundtruth = Constructor("DetectNetGroundtruth", LayerFacts("Lists for each class up to 50 different boxes (left, top, right, bottom, 0) that cover a cell.\n\nThe first bottom is each cell's coverage by objects of each class. The second one contains the corners of the box\nrelative to the cell."))
DetectNetPrecision = Constructor("DetectNetPrecision", LayerFacts("Computes precision times recall, precision, and recall in percent, from boxes that DetectNetScore has marked.\n\nThe fork calls the first number mAP, although it isn't a mean over thresholds."))
DetectNetScore = Constructor("DetectNetScore", LayerFacts('Marks boxes with 1 for a correct detection, 2 for a false one and 3 for a missed object.\n\nThe bottoms are lists of objects and of detections. Each object in turn is matched to the first free detection that\noverlaps it enough.'))
DetectNetTransformation = Constructor("DetectNetTransformation", LayerFacts("Transforms images to DetectNet's size, subtracts the mean, and computes coverage maps from the boxes.\n\nThe maps of an image are: which cells an object covers, four for the corners of that object, two for its inverse\nsize, one for the inverse of the covered area, and one for each class. Images are randomly augmented in TRAIN and\nonly scaled in TEST. `object_class` numbers the classes.", pb.DetectNetGroundTruthParameter))
DetectionEvaluate = Constructor("DetectionEvaluate", LayerFacts("Outputs rows (-1, label, objects, -1, -1) for classes, then (image, label, score, true, false) for detections.\n\nThe bottoms are the rows of DetectionOutput and of AnnotatedData. A detection is true if the object with the largest\noverlap has its label, overlaps it enough, and has no better detection. It is neither true nor false if that object\nis difficult and doesn't count. With `name_size_file`, which lists the images in order, boxes are measured in\npixels.", pb.DetectionEvaluateParameter))
DetectionOutput = Constructor("DetectionOutput", LayerFacts("Outputs a row (image, label, score, x1, y1, x2, y2) for each detection, by image, label and falling score.\n\nThe number of rows is known only when the layer runs. Until then, the shape has one row, as in Caffe. An image\nwithout detections has no row, but if no image has any, each gets a row of -1. The layer doesn't save or show\nanything: programs that read the top use `save_output_param` and `visualize`.\n\nSynopsys' version has more bottoms: the scores of each feature map (batch, classes, ratios, positions), then the\nlocations of each feature map as a convolution outputs them, then the priors.", pb.DetectionOutputParameter))
Dropout = Constructor("Dropout", LayerFacts("Sets values to zero with probability `dropout_ratio` and scales the others up to compensate.\n\nFaster R-CNN's `scale_train: false` scales all values down in TEST instead. Bayesian SegNet's `sample_weights_test`\nalso drops values in TEST.", pb.DropoutParameter))
DummyData = Constructor("DummyData", LayerFacts('Fills each top with its `data_filler`: once if the filler is constant, and otherwise in each forward pass.', pb.DummyDataParameter))
ELU = Constructor("ELU", LayerFacts("Computes max(x, 0) + alpha * (exp(min(x, 0)) - 1). NVCaffe's `lambda` scales the result, which makes it a\nSELU.", pb.ELUParameter))
Eltwise = Constructor("Eltwise", LayerFacts("Computes the sum of the bottoms times their `coeff`, their product, or their maximum.\n\nCaffe's rule for a sum in place: the top's memory, which is also the first bottom's, is set to 0 first. The first\nbottom is therefore missing from the sum, although it gets its gradient.", pb.EltwiseParameter))
EltwiseAccuracy = Constructor("EltwiseAccuracy", LayerFacts('Computes the share of pixels whose label is among the `top_k` best classes.\n\nAmong equal scores, the last class ranks first. If no label counts, the result is NaN.', pb.EltwiseAccuracyParameter))
Embed = Constructor("Embed", LayerFacts('Outputs the row of the weights that each value of the bottom selects, plus a bias.', pb.EmbedParameter))
EuclideanLoss = Constructor("EuclideanLoss", LayerFacts('Computes sum (x - y)^2 / (2 N). Both bottoms get a gradient.'))
EuclideanLossHeatmap = Constructor("EuclideanLossHeatmap", LayerFacts('Computes the mean of (x - y)^2. The third bottom is only for visualisation.\n\nAs in the fork, the gradient is x - y, whatever the divisor and the loss_weight are.'))
EvalDetection = Constructor("EvalDetection", LayerFacts("Outputs for each item the number of truths per class, then class, score, right and wrong for each detection.\n\nDetections are sorted by class and then by score. Unused rows are 0. A detection is right if no better one is\nmatched to the truth of its class that it overlaps most. It is wrong if a better one is, or if there is no truth of\nits class. It is neither if it overlaps the truth by less than `threshold`. Truths are rows of eight numbers, as in\nSSD's data layer. Without `nms`, there are no detections, as in Caffe.", pb.EvalDetectionParameter))
Exp = Constructor("Exp", LayerFacts('Computes base ** (shift + scale * x).', pb.ExpParameter))
FCNSegData = Constructor("FCNSegData", LayerFacts("Reads one image of any size at a time, and maps of its size: labels, or in NYUD the ones that `tops` names.\n\nImages come in random order if the split's name contains `train` and `randomize` isn't off, and otherwise in the\nlist's order."))
Filter = Constructor("Filter", LayerFacts("Keeps the items of each bottom for which the last bottom, the selector, isn't 0."))
Flatten = Constructor("Flatten", LayerFacts('Combines the axes from `axis` to `end_axis`, both included, into one.', pb.FlattenParameter))
Flip = Constructor("Flip", LayerFacts('Mirrors images left to right with `flip_width`, and top to bottom with `flip_height`.', pb.FlipParameter))
HDF5Data = Constructor("HDF5Data", LayerFacts('Reads each top from the data set of the same name in HDF5 files. Only the files contain the shapes.', pb.HDF5DataParameter))
HDF5Output = Constructor("HDF5Output", LayerFacts('Writes the data sets `data` and `label` with the rows of all batches. Caffe fails at the second batch.', pb.HDF5OutputParameter, has_tops=False))
HardSwish = Constructor("HardSwish", LayerFacts('Computes x * min(max(x + 3, 0), 6) / 6.'))
HingeLoss = Constructor("HingeLoss", LayerFacts('Computes the sum of max(0, 1 - x) for true classes and max(0, 1 + x) for all others, or of their squares, over\nN.', pb.HingeLossParameter))
Im2col = Constructor("Im2col", LayerFacts('Copies each window of the bottom to the channels of one position.\n\nEach bottom channel has a top channel per window position.', pb.ConvolutionParameter))
ImResize = Constructor("ImResize", LayerFacts('Computes the mean of all items after each is cropped at the borders and resized.\n\nThe first item is cropped to `start_scale` of its size, and each further one to `scale_gap` less.', pb.ImResizeParameter))
ImageData = Constructor("ImageData", LayerFacts('Reads images and labels from the files in a list.', pb.ImageDataParameter))
ImageLabelmapData = Constructor("ImageLabelmapData", LayerFacts("Reads images and edge maps of the same size. A pixel's label is 1 if the map is at least half as bright as\nwhite.", pb.ImageDataParameter))
ImageSegData = Constructor("ImageSegData", LayerFacts('Reads images and label maps of the same size.\n\nA third top contains the size of each image before cropping and padding.', pb.ImageDataParameter))
InfogainLoss = Constructor("InfogainLoss", LayerFacts('Computes -sum of H[label, k] * log softmax(x)[k] over all classes k.\n\nH is the third bottom or is read from a file.', pb.InfogainLossParameter))
InnerProduct = Constructor("InnerProduct", LayerFacts('Multiplies the weights by the vector of all values from `axis` on, and adds a bias.', pb.InnerProductParameter))
Input = Constructor("Input", LayerFacts('Has a top for each input of the net. The caller supplies their values.', pb.InputParameter))
Interp = Constructor("Interp", LayerFacts("Resizes the bottom, after negative padding crops it.\n\nA `zoom_factor` multiplies the steps between pixels, and Synopsys' `full_zoom_factor` the number of pixels. In some\nforks, a second bottom can provide the size. In that case, the settings must not contain one.", pb.InterpParameter))
L1Loss = Constructor("L1Loss", LayerFacts("Computes sum |x - y| / N. Both bottoms get a gradient.\n\nFlowNet's type of this name is supported only without its own settings.", pb.L1LossParameter))
LRN = Constructor("LRN", LayerFacts('Computes x / (k + alpha * mean of x**2)**beta. The mean is over adjacent channels or, with k = 1, over a\nwindow.', pb.LRNParameter))
LSTM = Constructor("LSTM", LayerFacts('Computes an LSTM over a sequence. The top is the hidden state of each step.', pb.RecurrentParameter))
LSTMUnit = Constructor("LSTMUnit", LayerFacts("Computes the new cell and hidden state from the cell (1 x N x D), the raw gates (1 x N x 4D) and cont (1 x N).\n\nThe gradient is Caffe's on a GPU. Caffe's on a CPU differs for the forget gate if cont is neither 0 nor 1."))
LaneData = Constructor("LaneData", LayerFacts('Reads images, rows of points (x, y, lane) and lane maps.\n\nA map is `seg_scales` times smaller than the image unless its own size is set.', pb.AnnotatedDataParameter))
Log = Constructor("Log", LayerFacts('Computes the logarithm of shift + scale * x to the given base.', pb.LogParameter))
MVN = Constructor("MVN", LayerFacts("Computes (x - mean) / (deviation + eps) over each channel, or over each item with `across_channels`.\n\nThe top has four axes. With Synopsys' `add_eps_before_sqrt`, the divisor is sqrt(variance + eps).", pb.MVNParameter))
MarginInnerProduct = Constructor("MarginInnerProduct", LayerFacts("Computes |x| cos(angle) between the bottom and the weights of each class, with a margin for the label's class.\n\nFor the label, the value is (lambda * |x| cos(angle) + |x| psi(angle)) / (1 + lambda). Psi is cos(m * angle),\nchanged so that it always falls. `type` sets m to 1, 2, 3 or 4. Lambda, the second top, falls with the number of\nforward passes: it is base * (1 + gamma * passes) ^ -power, but at least lambda_min. As in Caffe, each pass\nnormalizes the weight's rows to length 1. The gradient is also Caffe's own: the margin changes only its direction\nfor the label's class, and the weight's gradient is that of a plain inner product.", pb.MarginInnerProductParameter))
Maximum = Constructor("Maximum", LayerFacts("Computes the elementwise maximum of two bottoms, with broadcasting.\n\nFor a single bottom, it outputs (x, y, value) of each channel's maximum, as in rtpose. If no value is positive, all\nthree numbers are 0."))
MemoryData = Constructor("MemoryData", LayerFacts('Receives images of a given size, and labels, from the program.', pb.MemoryDataParameter))
Mul = Constructor("Mul", LayerFacts('Computes a * b. From the last axis on, lengths must be equal or one of them must be 1.'))
MultiBoxLoss = Constructor("MultiBoxLoss", LayerFacts("Computes the location loss of matched boxes plus the confidence loss of these and of hard negative boxes.\n\nThe bottoms are locations, scores, priors, and objects in AnnotatedData's rows.", pb.MultiBoxLossParameter))
MultiStageMeanfield = Constructor("MultiStageMeanfield", LayerFacts("Refines the scores of each pixel by those of nearby pixels, above all pixels of similar color.\n\nThe bottoms are a net's scores, the initial scores (usually the same ones) and the image. Each step blurs the\nprobabilities over nearby pixels, and again over nearby pixels of similar color. Each result is multiplied by its\nweight matrix. Their sum is multiplied by the compatibility matrix and subtracted from the scores. The image gets no\ngradient.", pb.MultiStageMeanfieldParameter))
MultinomialLogisticLoss = Constructor("MultinomialLogisticLoss", LayerFacts('Computes the mean of -log x[label] over the batch. The bottom contains probabilities, not scores.'))
Nms = Constructor("Nms", LayerFacts('Outputs for each item and part a row with the number of peaks, then (x, y, score) for each peak.\n\nA peak is above the threshold and all eight neighbors. Its position is the mean of the positions around it,\nweighted by their scores. Peaks are in reading order. All peaks are counted, but only `max_peaks` are listed.', pb.NmsParameter))
Normalize = Constructor("Normalize", LayerFacts("Computes scale * x / sqrt(sum of x² + eps).\n\nThe sum is over channels, or over the whole item with `across_spatial`. With Synopsys' `add_eps_before_sqrt: false`,\neps is added after the square root for whole items.\n\nhappynear's version has its settings in `normalize_param` and no scale. It sums over channels, and with type L1 it\nsums absolute values. Its second top is the divisor, whose gradient passes only with `bp_norm`. TSN's version has no\nsettings and divides items by their length. The net's dialect decides about a layer without settings. The top of\nthese two versions has four axes.", pb.NormalizeParameter))
PReLU = Constructor("PReLU", LayerFacts('Computes max(x, 0) + slope * min(x, 0), with a slope for each channel or one for all.', pb.PReLUParameter))
PSROIPooling = Constructor("PSROIPooling", LayerFacts('Averages channel (c * group_size + row) * group_size + column over the bin in that row and column of a region.\n\nRegions are (image, x1, y1, x2, y2) in the image. They are rounded and then scaled by `spatial_scale`.', pb.PSROIPoolingParameter))
Pad = Constructor("Pad", LayerFacts('Adds a border to the bottom. `paddings` contains the sizes before and after each axis, in order.', pb.PadParameter))
Parameter = Constructor("Parameter", LayerFacts('Outputs its blob. Caffe initializes the blob with 0, and a fork with a filler.', pb.ParameterParameter))
Permute = Constructor("Permute", LayerFacts('Reorders axes: axis `order[i]` becomes axis i. Axes that `order` leaves out follow in their old order.', pb.PermuteParameter))
Pooling = Constructor("Pooling", LayerFacts('Computes the maximum or the average of each window, or a random value with a probability proportional to it.\n\nThe second top of MAX contains the positions of the maxima.', pb.PoolingParameter))
Power = Constructor("Power", LayerFacts('Computes (shift + scale * x) ** power.', pb.PowerParameter))
PriorBox = Constructor("PriorBox", LayerFacts("Outputs boxes relative to the image's size in the first channel, and their variances in the second.\n\nAt each position, each `min_size` has a square, a larger square if it has a `max_size`, and one box for each aspect\nratio. With Synopsys' `tf`, the larger square is the last one. Its `yx_order` puts y before x, which then applies to\neverything computed from the boxes.", pb.PriorBoxParameter))
PriorBoxClustered = Constructor("PriorBoxClustered", LayerFacts('Outputs boxes as PriorBox does. Each has a `width` and a `height`, which were found by clustering marked objects.\n\nWithout `height`, boxes are squares.', pb.PriorBoxParameter))
Proposal = Constructor("Proposal", LayerFacts("Outputs the regions (image, x1, y1, x2, y2) that survive non-maximum suppression, and their scores, best first.\n\nThe bottoms are scores (background first), box predictions, and the image's height, width and scale, or separate\nscales for height and width. An anchor's `scale` is relative to `base_size`; in happynear's Caffe, it is in pixels.\nRegions that are too small get a score of 0 but are kept. The number of regions is known only when the layer runs.\nUntil then, the shape has the largest possible number.", pb.ProposalParameter))
Python = Constructor("Python", LayerFacts("Calls `setup`, `reshape`, `forward` and `backward` of a user's class with numpy arrays, as pycaffe does.\n\nA net can name any module, so only modules in `allowed` are imported. Without an installed Caffe, `import caffe` in\nsuch a module returns netdsl.pycaffe. Exceptions of the class are raised unchanged.", pb.PythonParameter))
RNN = Constructor("RNN", LayerFacts("Computes h = tanh(W_hh h' + W_xh x + b_h) for each step. The top is tanh(W_ho h + b_o).", pb.RecurrentParameter))
ROIPooling = Constructor("ROIPooling", LayerFacts("Computes the maximum in each bin of a region. Regions (image, x1, y1, x2, y2) are scaled by `spatial_scale`.\n\nBins are rounded outward, so that adjacent ones can overlap. A bin outside the map outputs 0. A region that ends\nbefore it starts is treated as a single position. In Faster R-CNN, but not in Intel's Caffe, that position gets no\ngradient.", pb.ROIPoolingParameter))
ReLU = Constructor("ReLU", LayerFacts('Computes max(x, 0) + slope * min(x, 0). The Synopsys fork can also set bounds.', pb.ReLUParameter))
ReLU6 = Constructor("ReLU6", LayerFacts('Computes min(max(x, 0) + slope * min(x, 0), 6). The gradient is 0 where the top is 6.', pb.ReLUParameter))
Reduction = Constructor("Reduction", LayerFacts('Computes `coeff` times the sum, the sum of absolute values, the sum of squares, or the mean of the values.', pb.ReductionParameter))
RegionLoss = Constructor("RegionLoss", LayerFacts("Computes the sum of squares of darknet's gradient: objectness everywhere, and box and class at matched anchors.\n\nLabels with rows of five (class, x, y, width, height, until a zero) are MobileNet-YOLO's. Labels with rows of eight,\nas in SSD's data layer, are Intel's, which has different formulas: the boxes' gradient is clipped as in a smooth L1\nloss, objectness is focal, and the loss isn't divided by the batch size.", pb.RegionLossParameter))
Reorg = Constructor("Reorg", LayerFacts("Rearranges blocks of stride x stride pixels as channels, or the reverse with `reverse`.\n\nDarknet's rule for the first direction: the values are read as an image with fewer channels and more pixels, and the\nblocks of that image become channels. This mixes channels.", pb.ReorgParameter))
Reshape = Constructor("Reshape", LayerFacts("Replaces `num_axes` axes from `axis` on by `shape`: 0 copies the bottom's length and -1 is the remaining length.\n\nIntel's `pixelshuffler` rearranges r x r channels as r times the height and width instead.", pb.ReshapeParameter))
ResizeBilinear = Constructor("ResizeBilinear", LayerFacts('Resizes an image bilinearly. Each pixel is the mean of its four neighbors, weighted by their distance.', pb.ResizeBilinearParameter))
ResizeNearestNeighbor = Constructor("ResizeNearestNeighbor", LayerFacts('Resizes an image by copying pixels. Positions are rounded down, or to the nearest pixel with `align_corners`.', pb.ResizeNearestNeighborParameter))
RoIData = Constructor("RoIData", LayerFacts("Reads annotated images for training.\n\nFor a net that proposes regions, the tops are images, sizes and objects. Otherwise, they are images, regions,\nlabels, box targets and weights. `param_str` has the settings, with py-faster-rcnn's names. The images' sizes are\nunknown until the data are open, so the shapes are py-faster-rcnn's initial ones. An image is 600 x 1000. A net with\nproposals has one image and one object, and a net without has two images and 128 regions."))
RpnAnchorTarget = Constructor("RpnAnchorTarget", LayerFacts("Outputs labels of anchors (1 object, 0 background, -1 neither), box targets, and inside and outside weights.\n\nThe bottoms are scores, of which only the size is read, objects (x1, y1, x2, y2, label), the image's height, width\nand scale, and the image. An anchor counts as an object if it overlaps one enough, or more than any other anchor\ndoes."))
RpnProposal = Constructor("RpnProposal", LayerFacts("Outputs the regions (0, x1, y1, x2, y2) that survive non-maximum suppression, and their scores, best first.\n\nThe bottoms are scores (background first), box predictions, and the image's height, width and scale. The number of\nregions is known only when the layer runs. Until then, the shape has the largest possible number."))
RpnProposalTarget = Constructor("RpnProposalTarget", LayerFacts("Outputs sampled regions, their labels, and box targets with inside and outside weights.\n\nThe bottoms are the regions of one image and objects (x1, y1, x2, y2, label), which are added to the regions. The\nnumber of sampled regions is known only when the layer runs. Until then, the shapes are for a full batch. With two\nclasses, as in R-FCN, all objects share the second box class. py-faster-rcnn's rule: in a net that proposes regions,\nthe targets' means and deviations are fixed in advance, if targets are normalized."))
SPP = Constructor("SPP", LayerFacts('Pools into 1 x 1, 2 x 2, 4 x 4 ... bins and concatenates the results.', pb.SPPParameter))
Scale = Constructor("Scale", LayerFacts('Computes x * scale + bias along the axes from `axis` on. The scale is learned, or is the second bottom.', pb.ScaleParameter))
SeLU = Constructor("SeLU", LayerFacts('Computes lambda * x for positive x, and lambda * alpha * (exp(x) - 1) otherwise.', pb.SeLuParameter))
SeLUDropout = Constructor("SeLUDropout", LayerFacts('Sets random values to alpha in training, then scales and shifts all values to compensate.', pb.SeLuDropoutParameter))
SeLu = Constructor("SeLu", LayerFacts('Computes lambda * x for positive x, and lambda * alpha * (exp(x) - 1) otherwise.', pb.SeLuParameter))
SeLuDropout = Constructor("SeLuDropout", LayerFacts('Sets random values to alpha in training, then scales and shifts all values to compensate.', pb.SeLuDropoutParameter))
SegAccuracy = Constructor("SegAccuracy", LayerFacts('Computes accuracy, the mean recall of the labeled classes, and the mean intersection over union of all classes.\n\nWith `reset: false`, pixels are counted from the first batch on. A class that is neither labeled nor predicted has\nan intersection over union of 1.', pb.SegAccuracyParameter))
SegmentationEvaluate = Constructor("SegmentationEvaluate", LayerFacts('Computes the intersection over union of each channel of the first item, for values above a threshold.\n\nA prediction of another size is converted to bytes and resized. In that case, an unlabeled class results in -1, and\notherwise in 0.', pb.SegmentationEvaluateParameter))
ShuffleChannel = Constructor("ShuffleChannel", LayerFacts('Moves channel k of group g to place k * groups + g. The top has four axes, and missing ones have length 1.', pb.ShuffleChannelParameter))
Sigmoid = Constructor("Sigmoid", LayerFacts('Computes 1 / (1 + exp(-x)).', pb.SigmoidParameter))
SigmoidCrossEntropyLoss = Constructor("SigmoidCrossEntropyLoss", LayerFacts("Computes the sum of -t log s(x) - (1 - t) log(1 - s(x)). By default, only the batch size divides it.\n\nHED's fork balances the few edge pixels of an image with all others. It multiplies the loss of each edge by the\nshare of zeros in the targets, and that of each other pixel by the share of ones.", pb.SigmoidParameter))
Silence = Constructor("Silence", LayerFacts('Consumes blobs and has no top.', has_tops=False))
Slice = Constructor("Slice", LayerFacts('Cuts the bottom at each `slice_point`, or into equal parts.', pb.SliceParameter))
SmoothL1Loss = Constructor("SmoothL1Loss", LayerFacts("Computes the smooth L1 loss of the differences of two bottoms, divided by the batch size.\n\nA third bottom weights the differences and a fourth the losses. Caffe's rule: without the fourth, the gradient\nignores the third, unless `abssum: false` is set. R-FCN's first version has a second top, the sums over channels,\nwhich gets no gradient. That version normalizes like SmoothL1LossOHEM. With Intel's `normalization: NONE`, the sum\nisn't divided. Other forks ignore this setting. The default `loss_weight` is 1, but 0 in forks of Faster R-CNN.", pb.SmoothL1LossParameter))
SmoothL1LossOHEM = Constructor("SmoothL1LossOHEM", LayerFacts("Computes the normalized sum of the smooth L1 of the differences of two bottoms. A third bottom can weight them.\n\nThe second top contains the sums over channels and gets no gradient. Caffe's rule: the gradient ignores the weights,\nand the default `loss_weight` is 0."))
Softmax = Constructor("Softmax", LayerFacts('Computes exp(x), divided by its sum along an axis.', pb.SoftmaxParameter))
SoftmaxWithLoss = Constructor("SoftmaxWithLoss", LayerFacts("Computes the normalized sum of -log softmax(x)[label].\n\nSegNet's `class_weighting` contains a weight for each class. R-FCN's first version has a third top, the loss of each\nposition before normalization, without a gradient. It has the labels' shape. If labels have a single axis, it has\nfour axes, as in SmoothL1Loss, because R-FCN's own labels have four.", pb.SoftmaxParameter))
SoftmaxWithLossOHEM = Constructor("SoftmaxWithLossOHEM", LayerFacts('Computes SoftmaxWithLoss. The third top contains the losses to add to those of SmoothL1LossOHEM.', pb.SoftmaxParameter))
SpaceToBatchND = Constructor("SpaceToBatchND", LayerFacts('Pads the axes after the batch with 0 and distributes blocks of `block_shape` over the batch.\n\nItem `place * batch + n` contains the values at that place of each block of item n.', pb.SpaceToBatchNDParameter))
SpatialDropout = Constructor("SpatialDropout", LayerFacts("Computes x * mask / (1 - ratio), with one random bit for each channel of each item.\n\nIn TEST, it copies the bottom. The ratio is in `spatial_dropout_param`, or in `dropout_param` in Intel's fork. The\ntype also replaces ENet's Python layer. That layer's `param_str` contains the ratio and its own phase, and in TEST\nit still multiplies by 1 / (1 - ratio).", pb.SpatialDropoutParameter))
Split = Constructor("Split", LayerFacts('Copies the bottom to each top.'))
Squeeze = Constructor("Squeeze", LayerFacts('Removes the given axes, or all axes of length 1 if none is given.', pb.SqueezeParameter))
Swish = Constructor("Swish", LayerFacts('Computes x * sigmoid(beta * x).', pb.SwishParameter))
Switch = Constructor("Switch", LayerFacts("Copies the last bottom. rtpose's program can choose another one at run time, but a net can't."))
TanH = Constructor("TanH", LayerFacts('Computes tanh(x).', pb.TanHParameter))
Threshold = Constructor("Threshold", LayerFacts('Computes 1 where x > threshold, and 0 elsewhere.', pb.ThresholdParameter))
Tile = Constructor("Tile", LayerFacts('Repeats the bottom `tiles` times along an axis.', pb.TileParameter))
Unpooling = Constructor("Unpooling", LayerFacts("Writes the bottom's values to the positions in a pooling's mask, the second bottom, and zeros elsewhere.\n\nWithout a mask, values go to the corners of the windows. AVE divides each value equally over its window, and TILE\nrepeats it. Where windows overlap, values are added. The fork's rule: the gradient of TILE is that of AVE.", pb.UnPoolingParameter))
Upsample = Constructor("Upsample", LayerFacts("Enlarges an image.\n\nSegNet's version undoes a pooling, whose mask is the second bottom. YOLO's version repeats each pixel. Without a\n`scale`, SegNet's version doubles the size and YOLO's keeps it.", pb.UpsampleParameter))
UpsampleDarknet = Constructor("UpsampleDarknet", LayerFacts('Repeats each pixel `stride` times along both sides.', pb.UpsampleDarknetParameter))
VideoData = Constructor("VideoData", LayerFacts("Reads frames, and labels if there is a second top.\n\nSSD's version has its batch_size in `data_param`. TSN's type of this name has it among its own settings. Its items\nare `num_segments` times `new_length` frames of a video, one after another in the channels. With the modality RGB, a\nframe is an image. With FLOW, the default, it is the optical flow in x and y.", pb.VideoDataParameter))
WindowData = Constructor("WindowData", LayerFacts('Reads windows of images, resized to crop_size, and labels.', pb.WindowDataParameter))
WindowSegData = Constructor("WindowSegData", LayerFacts("Reads parts of images, and label maps of the same size.\n\nEach line of the list ends with a part's corners x1 y1 x2 y2.", pb.ImageDataParameter))
YoloDetectionOutput = Constructor("YoloDetectionOutput", LayerFacts("Outputs the boxes that survive non-maximum suppression over all classes, each with its likeliest class.\n\nA box's score is its objectness times the probability of its class. All bottoms are grids with the same anchors.\nCaffe mixes the items of a batch; here, each has separate detections.", pb.YoloDetectionOutputParameter))
YoloSeg = Constructor("YoloSeg", LayerFacts('Computes the weighted sum of squares of sigmoid(x) - label, divided by the batch size.\n\nThe gradient is the weighted difference. The third bottom contains the number of pixels of each class in each item.\nWith it, the rarer a class is, the larger is the weight of its pixels.', pb.YoloSegParameter))
Yolov3 = Constructor("Yolov3", LayerFacts("Computes the sum of squares of darknet's gradient: objectness everywhere, and box and classes at matched anchors.\n\nA truth matches the anchor whose size fits best, and each other anchor that fits better than `iou_thresh`. Only\nanchors in `mask` count. A label has rows of class, x, y, width and height, and ends at the first zero. With an\n`iou_loss` other than MSE, the boxes' part is their distance from the truths.", pb.Yolov3Parameter))
Yolov3DetectionOutput = Constructor("Yolov3DetectionOutput", LayerFacts('Outputs the boxes that survive non-maximum suppression over all classes. A box can have several classes.\n\nA score is the objectness times the probability of a class. Bottom i has the anchors of the i-th part of `mask` and\ncells of the i-th `anchors_scale` in pixels. With `gaussian_box`, each coordinate is followed by its uncertainty,\nwhich lowers the score. Caffe mixes the items of a batch; here, each has separate detections.', pb.Yolov3DetectionOutputParameter))
