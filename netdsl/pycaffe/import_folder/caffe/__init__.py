"""What `import caffe` runs if the folder above is on PYTHONPATH: afterwards, `caffe` is `netdsl.pycaffe`."""

from netdsl.pycaffe import replace_caffe

replace_caffe()
