"""Label-private logistic regression (document 002).

Column 0 of every X is the intercept.

The names below serve interactive use and are imported when first asked for. Modules of this library import from the
modules themselves: reruns follow import statements, and would miss what comes through here.
"""

from ...core.lazy import lazy_names

_HOME = {
    "Boundedness": "zonotope",
    "ReleasePlan": "model",
    "WalrFit": "trainers",
    "boundedness": "zonotope",
    "fit_many": "newton",
    "fit_walr": "trainers",
    "fixed_plan": "planner",
    "gradient_descent": "trainers",
    "label_noise_plan": "planner",
    "objective_perturbation": "perturbation",
    "penalised_optimum": "trainers",
    "plan_label_dp": "planner",
    "redraw_dot_products": "release",
    "release_dot_product": "release",
}
__getattr__ = lazy_names(__name__, lambda: _HOME)
