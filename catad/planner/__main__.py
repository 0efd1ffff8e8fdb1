"""`python3 -m catad.planner FILE.json`: see `catad.planner.problems.tool`."""

import sys

from catad.planner.problems.tool import main

if __name__ == "__main__":
    sys.exit(main())
