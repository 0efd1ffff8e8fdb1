"""The planner: in which order the linear maps of a program are multiplied."""

from catad.planner.cost import Cost
from catad.planner.entry import plan
from catad.planner.execute import Step
from catad.planner.plan import Plan, plan_structure

__all__ = ["Cost", "Plan", "Step", "plan", "plan_structure"]
