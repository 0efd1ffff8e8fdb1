"""The planner: in which order the linear maps of a program are multiplied."""

from catad.planner.cost import Cost
from catad.planner.entry import plan
from catad.planner.execute import Step
from catad.planner.keep import plan_structure
from catad.planner.plan import Plan
from catad.planner.profile import Profile

__all__ = ["Cost", "Plan", "Profile", "Step", "plan", "plan_structure"]
