"""The planner: in which order the linear maps of a program are multiplied."""

from catad.planner.cost import Cost
from catad.planner.plan import Plan, plan, plan_structure
from catad.planner.profile import Profile

__all__ = ["Cost", "Plan", "Profile", "plan", "plan_structure"]
