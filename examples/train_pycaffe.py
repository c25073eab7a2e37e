"""A pycaffe program: a net, a solver, and a loop that reads blobs between steps."""

from __future__ import annotations

from pathlib import Path

import netdsl.pycaffe as caffe
from netdsl.pycaffe import layers as L
from netdsl.pycaffe import params as P


def net(source: str) -> str:
    """Return a net that learns digits from a source."""
    spec = caffe.NetSpec()
    spec.data, spec.label = L.Data(source=source, batch_size=60, ntop=2, transform_param={"scale": 1 / 16})
    spec.conv = L.Convolution(spec.data, num_output=12, kernel_size=3, weight_filler={"type": "xavier"})
    spec.norm = L.BatchNorm(spec.conv)
    spec.pool = L.Pooling(spec.norm, pool=P.Pooling.MAX, kernel_size=2, stride=2)
    spec.relu = L.ReLU(spec.pool, in_place=True)
    spec.scores = L.InnerProduct(spec.relu, num_output=10, weight_filler={"type": "xavier"})
    spec.loss = L.SoftmaxWithLoss(spec.scores, spec.label)
    spec.accuracy = L.Accuracy(spec.scores, spec.label)
    return str(spec.to_proto())


Path("train.prototxt").write_text(net("digits:train"))
Path("test.prototxt").write_text(net("digits:test"))
Path("solver.prototxt").write_text(
    'train_net: "train.prototxt" test_net: "test.prototxt" test_iter: 5 test_interval: 100 base_lr: 0.05 '
    'lr_policy: "step" gamma: 0.5 stepsize: 15 momentum: 0.9 max_iter: 30 random_seed: 7 snapshot_prefix: "digits"'
)

solver = caffe.get_solver("solver.prototxt")
for _ in range(6):
    solver.step(5)
    loss, accuracy = (float(solver.net.blobs[name].data) for name in ("loss", "accuracy"))
    print(f"iteration {solver.iter:2} loss {loss:.5f} accuracy {accuracy:.3f}")
right = 0.0
for _ in range(5):
    right += float(solver.test_nets[0].forward()["accuracy"])
print(f"test accuracy {right / 5:.3f}")
solver.snapshot()
