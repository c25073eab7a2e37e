"""Items in Caffe's order as batches, made ahead of training."""
