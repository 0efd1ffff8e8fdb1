"""Hypothesis profiles: "ci" draws the same examples on every run and is loaded where CI or HYPOTHESIS_PROFILE=ci is set."""

import os

try:
    from hypothesis import HealthCheck, settings
except ImportError:  # the tests that draw say so themselves
    pass
else:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    settings.register_profile("default", deadline=None, suppress_health_check=slow)
    settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=slow)
    chosen = os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default")
    settings.load_profile(chosen)
