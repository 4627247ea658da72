"""pytest plugin: exit code 77 when cases were skipped and none ran, which CTest shows as a skipped test.

A pattern in the output would not do: it would turn one skipped case into a skipped file, failures and all.
"""

ALL_SKIPPED = 77


def pytest_sessionfinish(session, exitstatus):
    outcomes = session.config.pluginmanager.get_plugin("terminalreporter").stats
    if exitstatus in (0, 5) and outcomes.get("skipped") and not outcomes.get("passed"):
        session.exitstatus = ALL_SKIPPED
