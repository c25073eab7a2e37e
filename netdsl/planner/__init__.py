"""The planner: what a training costs, and how it is best done on the machines that there are."""
