"""Migration of programs that read Caffe models with OpenCV."""
