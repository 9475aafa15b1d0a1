"""PgQ's own consumer and its own ticker, pgqd, which ends with the consumer. Events of a batch that is not finished
come again. Their settings are files that exist only in memory."""
import ctypes, os, signal, subprocess, sys, time

import pgq

PR_SET_PDEATHSIG = 1
CONSUMER = """[pgq]
job_name = c
db = dbname={PGDATABASE}
queue_name = q
consumer_name = c
loop_delay = 0.1
use_skylog = 0
"""
TICKER = """[pgqd]
base_connstr = host={PGHOST} port={PGPORT} user={PGUSER}
initial_database = {PGDATABASE}
database_list = {PGDATABASE}
ticker_period = 0.1
"""


class Got(pgq.Consumer):
    seen = {}  # how often this process has got each job

    def process_event(self, db, ev):
        self.seen[ev.type] = self.seen.get(ev.type, 0) + 1
        os.write(1, f"got {ev.type} {self.seen[ev.type]}\n".encode())
        word = sys.stdin.readline().split()[0] if "MAILPROOF_ANSWERS" in os.environ else "ok"
        if word == "fail":
            ev.tag_retry(1)
        while word == "hang":
            time.sleep(1)


def settings(text):
    """Returns the descriptor of a file without a name."""
    file = os.memfd_create("settings")
    os.write(file, text.format(**{"PGPORT": "5432", **os.environ}).encode())
    os.lseek(file, 0, os.SEEK_SET)
    return file


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


# Its framework stops safely on SIGINT, and at once on SIGTERM.
signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
ticker = settings(TICKER)
pgqd = subprocess.Popen(["pgqd", f"/proc/self/fd/{ticker}"], pass_fds=[ticker], stdin=subprocess.DEVNULL, stdout=sys.stderr, preexec_fn=end_with_parent)
try:
    Got("pgq", "db", [f"/proc/self/fd/{settings(CONSUMER)}"]).start()
finally:
    pgqd.terminate()
    pgqd.wait()
