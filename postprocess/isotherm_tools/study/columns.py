"""The columns of study.csv."""

# With their units behind the last '_', as in run.json and history.csv. The path within run.json; None: of history.csv, under
# its name.
OF_RUN = {
    "sweeps": "performance.sweeps",
    "step_s": "performance.step_s",
    "points_per_s": "performance.points_per_s",
    "effective_bandwidth_bytes_per_s": "performance.effective_bandwidth_bytes_per_s",
    "copy_bandwidth_share_percent": "performance.copy_bandwidth_share_percent",
    "halo_fraction_percent": "performance.halo_fraction_percent",
    "halo_hidden_percent": "halo.hidden_percent",
    "residual_K": "residual.last_K",
    "convergence": "residual.convergence",
    "max_error_K": "verification.max_error_K",
    "l2_error_K": "verification.l2_error_K",
    "verdict": "verification.verdict",
    **dict.fromkeys(("min_K", "max_K", "mean_K", "heat_J", "rate_W", "wall_x_min_W", "wall_x_max_W", "wall_y_min_W", "wall_y_max_W",
                     "wall_z_min_W", "wall_z_max_W", "source_W", "balance_W")),
    "time_s": "time_s",
    "wall_s": "phases_s.total.max",  # of all parts of a case that was stopped and resumed
    "host_peak_bytes": "memory.host_peak_bytes",
    "kernel": "method.kernel",
    "policy": "method.policy",
    "reduction": "method.reduction",
    "transport": "method.transport",
    "fingerprint": "fingerprint",
    "message": "message",
}
OF_SCALING = ("cells", "speedup", "efficiency_percent", "scaling_base")  # of a deck with scaling: besides
# Reported unasked, where a case has them.
USUAL = ("step_s", "copy_bandwidth_share_percent", "residual_K", "max_error_K", "max_K")
