"""What other frameworks' operators are in Caffe's layers, for everything that comes in."""
