"""Starts the program that this package contains."""

import os
import signal
import subprocess
import sys


def main():
    directory = os.path.dirname(os.path.abspath(__file__))
    if os.name != "nt":
        program = os.path.join(directory, "bulkhead")
        os.execv(program, [program, *sys.argv[1:]])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program gets it, too, and ends
    sys.exit(subprocess.call([os.path.join(directory, "bulkhead.exe"), *sys.argv[1:]]))
