"""Files and folders in storage, with addresses such as s3://bucket/net.prototxt. They are copied once, then opened."""
