"""A folder for PYTHONPATH, in which Python finds this package under the name `caffe`."""
