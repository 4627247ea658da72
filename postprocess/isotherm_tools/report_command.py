"""`report RUN` or `report STUDY`: its options, and what it does."""

from pathlib import Path

from isotherm_tools.bench_record import BenchRecord
from isotherm_tools.failure import COMMAND_LINE, Failure
from isotherm_tools.report_run import run_page
from isotherm_tools.report_study import study_page
from isotherm_tools.run import open_run
from isotherm_tools.study_record import Study, is_study
from isotherm_tools.whole_file import write_text

ENDINGS = (".html", ".htm")


def add(verbs):
    verb = verbs.add_parser("report", help="one HTML page of a run (field, history, where the time went) or of a study",
                            description="Writes one page that needs no network, no script and no other file.")
    verb.set_defaults(action=report)
    verb.add_argument("directory", metavar="RUN_OR_STUDY_DIRECTORY")
    verb.add_argument("--bench", metavar="FILE", action="append", default=[],
                      help="put the ladder and roofline of isotherm bench ... --json FILE on the page; may be repeated")
    verb.add_argument("--out", metavar="FILE.html", help="default: NAME_report.html in the directory, of a study study_report.html")


def report(options):
    of_study = is_study(options.directory)
    subject = Study(options.directory) if of_study else open_run(options.directory)
    name = "study" if of_study else subject.name
    path = Path(options.out) if options.out else subject.path / f"{name}_report.html"
    if path.suffix.lower() not in ENDINGS:
        raise Failure(COMMAND_LINE, f"{path}: a report is a page; end the name in {ENDINGS[0]}")
    benches = [BenchRecord(bench) for bench in options.bench]
    write_text(path, study_page(subject, benches) if of_study else run_page(subject, benches))
    return path
