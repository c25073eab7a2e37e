"""Adoption of whole Caffe projects: their scripts, solvers, nets and data, and the few edits that they need here."""
