"""Upgrades old nets and solvers to today's form, exactly as BVLC Caffe does."""

from __future__ import annotations

from caffe_proto.upgrade.net import Upgraded, upgrade_net, upgrade_solver

__all__ = ["Upgraded", "upgrade_net", "upgrade_solver"]
