"""A series of a study whose deck has `scaling:`, as the model takes runs that were made one by one."""

from isotherm_tools.failure import DATA, Failure
from isotherm_tools.run_record import RunRecord
from isotherm_tools.scaling_series import scaling_series


def modelled(study, scaled, wishes):
    """Of each count the run that the study counts. `wishes`: of the command line."""
    if scaled.rows[0].case is None:
        raise Failure(DATA, f"{study.path}: {title(study, scaled)} has nothing to be compared with ({scaled.base})")
    cases = {case.name: case for case in study.cases}
    records = []
    for row in scaled.rows:
        if row.case is not None:
            record = RunRecord.of_case(study.path / row.case, cases[row.case].run)
            record.name = title(study, scaled)  # not that of the case
            records.append(record)
    return scaling_series(records, wishes._replace(kind=wishes.kind or scaled.kind))


def title(study, scaled):
    return f"{study.name} ({scaled.label})" if scaled.label else study.name
