"""What the user is told in one line; the exit codes are those of the program."""

COMMAND_LINE = 2
DATA = 65
FILE_MISSING = 66
UNAVAILABLE = 69  # a program or a library that is not installed
CANNOT_CREATE = 73
IO = 74
DIVERGED = 76  # verification failed, bits differ, or figures are worse
STOPPED_BY_CTRL_C = 130  # as shells call it


class Failure(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
