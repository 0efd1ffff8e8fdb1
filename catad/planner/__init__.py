"""The planner: in which order the linear maps of a program are multiplied."""

from catad.planner.costs.cost import Cost
from catad.planner.costs.cost_profile import CostProfile
from catad.planner.plan import Plan, plan, plan_structure

__all__ = ["Cost", "CostProfile", "Plan", "plan", "plan_structure"]
