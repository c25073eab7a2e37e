"""Nets in other forms: to deploy, and to and from other formats."""
