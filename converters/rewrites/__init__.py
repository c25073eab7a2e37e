"""Nets that compute the same in another way: each rewrite takes a deployed model and gives another one."""
