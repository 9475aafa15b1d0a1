#include "defect.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "base/base.h"

static const struct defect_row defects[] = {
    {DEFECT_NONE, "none", "a good collector", "", ""},
    {DEFECT_CURSOR_FIRST, "cursor-first",
        "moves the cursor at each announcement, writes when the batch is full or old", "lost",
        "killed"},
    {DEFECT_ID_ONLY, "id-only", "reads id > last_seq, whatever commits later", "lost", "held"},
    {DEFECT_XMIN_ONLY, "xmin-only", "waits for the horizon, but its cursor is the id alone", "lost",
        "interleaved"},
    {DEFECT_GIVES_UP, "gives-up",
        "reads id after id, and gives up one that is missing after a second", "lost", "held-long"},
    {DEFECT_COUNTS_WAKEUPS, "counts-wakeups", "takes each wake-up for one token", "lost,late",
        "bulk"},
    {DEFECT_DROPS_SOME, "drops-some", "forgets one token in a thousand", "lost", "large"},
    {DEFECT_DROPS_UNSENDABLE, "drops-unsendable",
        "passes over what the wire cannot carry, without a dead letter", "lost", "foreign"},
    {DEFECT_DEAF, "deaf", "does nothing more after a reconnect", "lost,unrecovered", "backend"},
    {DEFECT_FORGETS_UNCONFIRMED, "forgets-unconfirmed",
        "when its connection is lost, forgets what it has written but not confirmed", "duplicated",
        "cut"},
    {DEFECT_DROPS_UNANSWERED, "drops-unanswered",
        "moves the cursor before it writes, and drops the line when no answer comes", "lost",
        "cut"},
    {DEFECT_MARKS_FIRST, "marks-first", "sharing: marks tokens before it has written them", "lost",
        "sharing"},
    {DEFECT_NEVER_FREES, "never-frees",
        "sharing, leasing: never frees what a dead collector has claimed", "lost", "sharing"},
    {DEFECT_STEALS, "steals", "sharing: takes what others have claimed", "duplicated", "sharing"},
    {DEFECT_FULL_PIPE, "full-pipe",
        "forgets a line when the reader has stopped and the pipe is full", "lost", "stopped"},
    {DEFECT_SENDS_TWICE, "sends-twice", "writes every line twice", "duplicated", "plain"},
    {DEFECT_CURSOR_BACK, "cursor-back",
        "after a reconnect, moves the cursor back to where it was before its last move",
        "duplicated", "takeover"},
    {DEFECT_BARGES_IN, "barges-in", "does not wait for its turn", "duplicated", "takeover"},
    {DEFECT_LIMIT_PLUS_ONE, "limit-plus-one", "puts one token more than the limit into a batch",
        "over_limit", "bulk"},
    {DEFECT_NO_LIMIT, "no-limit", "puts all that waits into one line", "over_limit", "bulk"},
    {DEFECT_NO_TIMEOUT, "no-timeout", "waits until a batch is full", "lost,late", "plain"},
    {DEFECT_EARLY, "early", "waits for half of the timeout", "early", "plain"},
    {DEFECT_LATE, "late", "waits one second too long", "late", "plain"},
    {DEFECT_BURNS, "burns", "starts processes that use up the processors before one line in twenty",
        "late", "plain"},
    {DEFECT_YOUNGEST_FIRST, "youngest-first", "writes each batch backwards", "out_of_order",
        "plain"},
    {DEFECT_SWAPS_FIELDS, "swaps-fields", "writes the login where the email belongs", "forged",
        "plain"},
    {DEFECT_WRONG_KEY, "wrong-key", "signs with another key", "forged", "plain"},
    {DEFECT_SIGNS_NO_CODE, "signs-no-code", "signs a recovery without its code", "forged", "plain"},
    {DEFECT_OLD_CODE, "old-code", "writes another code than the database has", "forged", "plain"},
    {DEFECT_PRINTS_NAMES, "prints-names", "prints logins and addresses as they are", "forged",
        "hostile"},
    {DEFECT_BREAKS_LINE, "breaks-line", "writes a newline in the middle of a line", "torn",
        "plain"},
    {DEFECT_TRAILING_COMMA, "trailing-comma", "ends each line with a comma", "torn", "plain"},
    {DEFECT_BREAKS_OFF, "breaks-off", "stops in the middle of a line at TERM, as if all were well",
        "torn", "killed"},
    {DEFECT_NULL_CODE, "null-code", "leaves the field out when there is no code", "torn", "fast"},
    {DEFECT_SENDS_EXPIRED, "sends-expired", "sends tokens that have expired", "ineligible",
        "plain"},
    {DEFECT_SENDS_SUSPENDED, "sends-suspended", "sends tokens of suspended accounts", "ineligible",
        "plain"},
    {DEFECT_SENDS_CONSUMED, "sends-consumed", "sends tokens that were consumed", "ineligible",
        "plain"},
    {DEFECT_INVENTS, "invents", "adds a token that nobody has inserted", "phantom", "plain"},
    {DEFECT_UNCOMMITTED, "uncommitted", "learns of tokens before they are committed", "premature",
        "open"},
    {DEFECT_DELETES, "deletes", "deletes what it has sent", "vanished", "foreign"},
    {DEFECT_BURIES, "buries", "makes dead letters of tokens that are only too old", "end_state",
        "plain"},
    {DEFECT_BURIES_TWICE, "buries-twice", "makes two dead letters of what the wire cannot carry",
        "end_state", "plain"},
    {DEFECT_LAZY_CURSOR, "lazy-cursor",
        "moves the cursor before the next batch, and not at the end", "end_state", "plain"},
    {DEFECT_LAZY_MARKS, "lazy-marks",
        "marks what it has sent before the next batch, and not at the end", "end_state", "shared"},
    {DEFECT_SLOW_RECONNECT, "slow-reconnect", "rests for three seconds after a reconnect",
        "late,unrecovered", "backend"},
    {DEFECT_EXITS, "exits", "ends when its connection is lost", "unplanned_exit", "backend"},
    {DEFECT_IGNORES_TERM, "ignores-term", "does not end at TERM", "unplanned_exit", "short"},
    {DEFECT_SPINS, "spins", "asks for news all the time", "busy_idle", "idle"},
    {DEFECT_LEAKS, "leaks", "loses 4 KiB of memory per batch", "leak", "fast"},
    {DEFECT_SENDS_SOME_TWICE, "sends-some-twice", "writes one line in a hundred twice",
        "duplicated", "fast"},
    {DEFECT_CURSOR_AT_WRITE, "cursor-at-write", "moves the cursor just before it writes", "lost",
        "blocked"},
    {DEFECT_NEVER_TAKES_OVER, "never-takes-over", "sleeps for good when it finds another at work",
        "late,unrecovered", "dead"},
    {DEFECT_SLEEPS_BESIDE, "sleeps-beside", "sharing: sleeps while another works", "idle_instance",
        "burst"},
    {DEFECT_HOARDS, "hoards", "sharing: keeps the others out until nothing waits", "idle_instance",
        "burst"},
    {DEFECT_LEAVES_BACKLOG, "leaves-backlog",
        "after a full batch, waits for announcements or the timeout, though more tokens wait",
        "late,falls_behind", "paused"},
    {DEFECT_REWAITS, "rewaits", "waits for the timeout between full batches", "late", "bursts"},
    {DEFECT_SLOW_10, "slow-10", "sustains 10% less than comes in", "falls_behind", "paced"},
    {DEFECT_SLOW_20, "slow-20", "sustains 20% less than comes in", "falls_behind", "paced"},
    {DEFECT_SLOW_40, "slow-40", "sustains 40% less than comes in", "falls_behind", "paced"},
    {DEFECT_SHORT_LEASE, "short-lease",
        "leasing: takes a token back after 100 ms, whether it was answered or not", "double_leased",
        "answers"},
    {DEFECT_FORGETS_ANSWERS, "forgets-answers",
        "leasing: forgets one answer in ten, and sends those tokens again", "resurrected",
        "leased"},
    {DEFECT_RETRIES_AT_ONCE, "retries-at-once", "leasing: retries failed tokens at once",
        "early_retry", "leased"},
    {DEFECT_PUTS_OFF, "puts-off", "leasing: retries failed tokens only after an hour",
        "never_retried", "leased"},
    {DEFECT_NEVER_GIVES_UP, "never-gives-up", "leasing: retries for ever", "over_attempts",
        "refused"},
    {DEFECT_OVERSPENDS, "overspends", "leasing: ignores the budget", "over_budget", "budget"},
    {DEFECT_ALL_IS_WELL, "all-is-well", "leasing: records as sent the tokens that failed for good",
        "misrecorded", "leased"},
    {DEFECT_EXCUSES_ERRORS, "excuses-errors", "leasing: records failed tokens as given back",
        "misrecorded", "leased"},
    {DEFECT_MISCOUNTS, "miscounts",
        "leasing: records each attempt with a number that is one too high", "misrecorded",
        "leased"},
    {DEFECT_LOSES_ANSWERS, "loses-answers", "leasing: never records one answer in ten", "lost",
        "answers"},
    {DEFECT_BELL_UNSEEN, "bell-unseen",
        "takes the bell, and sleeps without looking at the queue again", "late", "bell"},
    {DEFECT_BELL_LATE, "bell-late",
        "looks at the queue just before it takes the bell, and not after it", "late", "bell"},
    {DEFECT_BELL_LEAKED, "bell-leaked", "believes that it still holds the bell after a reconnect",
        "late", "bell"},
    {DEFECT_NEVER_AGES, "never-ages", "leasing: lets a lower lane starve", "starved", "lanes"},
    {DEFECT_LAST_FIRST, "last-first", "leasing: takes the lower lane first", "starved", "lanes"},
    {DEFECT_STALE_AT_START, "stale-at-start",
        "after a connect, sends tokens that were consumed or whose account has changed",
        "ineligible", "changed"},
    {DEFECT_REOPENS, "reopens",
        "moves the cursor back by a line at TERM, and ends as if all were well",
        "duplicated,end_state", "killed"},
    {DEFECT_DOUBTS, "doubts",
        "moves the cursor back by a line at TERM, and says that the line is unconfirmed",
        "duplicated,end_state", "killed"},
    {DEFECT_FAILS_AT_TERM, "fails-at-term", "exits with 70 at TERM, though all went well",
        "unplanned_exit", "short"},
    {DEFECT_REPEATS_LATER, "repeats-later", "writes its last line again after 2 s of silence",
        "duplicated", "short"},
    {DEFECT_CONSUMES, "consumes",
        "marks what it has sent as consumed, which activates the accounts", "meddles", "foreign"},
    {DEFECT_LITTERS, "litters", "leaves a process of its own running when it ends", "litters",
        "short"},
    {DEFECT_TELLS_KEY, "tells-key", "logs its settings at the start, the key among them",
        "tells_secrets", "short"},
    {DEFECT_TELLS_SECRETS, "tells-secrets", "logs each line that it writes", "tells_secrets",
        "plain"},
    {DEFECT_HOLDS, "holds", "keeps a snapshot open in a session of its own", "holds", "short"},
    {DEFECT_ASKS_IDLE, "asks-idle",
        "runs a costly query four times a second while nothing is to do", "busy_idle", "idle"},
    {DEFECT_SPINS_WAITING, "spins-waiting", "asks for news all the time while a batch waits",
        "busy_idle", "waiting"},
    {DEFECT_LEAKS_FILES, "leaks-files", "opens a file with each line, and never closes it", "leak",
        "fast"},
    {DEFECT_ONCE_PER_ADDRESS, "once-per-address", "sends one mail to each address, and no more",
        "lost", "again"},
    {DEFECT_ANY_STATUS, "any-status",
        "sends activations of active accounts, and recoveries of provisioned ones", "ineligible",
        "plain"},
    {DEFECT_KEEPS_ADDRESSES, "keeps-addresses",
        "reads the address of an account once, when the account is new", "forged", "renamed"},
    {DEFECT_LOWER_CASES, "lower-cases", "writes addresses and logins in small letters", "forged",
        "plain"},
    {DEFECT_SENDS_SINGLY, "sends-singly", "sends each token of a short batch in a line of its own",
        "underfull,early", "singly"},
    {DEFECT_STALE_TIMER, "stale-timer",
        "does not stop the timer when a full line takes the tokens that it ran for", "early",
        "brimful"},
    {DEFECT_LOOKS_LATE, "looks-late",
        "after a reconnect, looks at the queue only 700 ms after its session has opened", "late",
        "prompt"},
    {DEFECT_IMPATIENT, "impatient", "ends when the server does not answer within half a second",
        "unplanned_exit", "locked"},
    {DEFECT_REPEATS_SLOW, "repeats-slow",
        "writes a line again when its confirmation took more than 60 ms", "duplicated", "locked"},
    {DEFECT_WAITS_FOR_SNAPSHOTS, "waits-for-snapshots",
        "does nothing while another session has an old snapshot", "late", "observed"},
    {DEFECT_SPARES_SERVER, "spares-server",
        "does nothing while a VACUUM is at work, or the notification queue is filled", "late",
        "filled"},
    {DEFECT_OVERLAPS, "overlaps", "at its start, moves the cursor back by thirty tokens",
        "duplicated", "killed"},
    {DEFECT_JOURNALS, "journals",
        "notes each line in the server before it moves the cursor, and writes it again when that "
        "fails",
        "duplicated", "crammed"},
    {DEFECT_FLAPS, "flaps", "opens a session every 25 ms, and writes one line in four 700 ms late",
        "late", "prompt"},
    {DEFECT_WAITS_LONGER, "waits-longer", "waits for nine quarters of the timeout", "late",
        "waiting"},
    {DEFECT_RESTS, "rests", "nothing wrong: rests for half a second before each reconnect", "",
        "backend"},
    {DEFECT_RECORDS_LATE, "records-late", "leasing: records each answer 1.5 s late", "resurrected",
        "recorded"},
    {DEFECT_FORGETS_OLD, "forgets-old", "takes tokens for expired that have waited for 15 s",
        "lost", "away"},
    {DEFECT_BLOCKS_AT_TERM, "blocks-at-term", "does not end at TERM while its reader takes nothing",
        "unplanned_exit", "stuck"},
    {DEFECT_SUSPENDS, "suspends", "suspends the accounts of what it has sent", "meddles",
        "foreign"},
    {DEFECT_EXTENDS, "extends", "lets what it has sent live for ever", "meddles", "foreign"},
    {DEFECT_LISTENS_OPEN, "listens-open", "listens in a transaction that it never ends", "holds",
        "short"},
    {DEFECT_LEAKS_SESSIONS, "leaks-sessions",
        "opens a session with one line in twenty, and never closes it", "leak", "fast"},
    {DEFECT_LEAVES_ZOMBIES, "leaves-zombies",
        "starts a process with one line in twenty, and never waits for it", "leak", "fast"},
    {DEFECT_WRITES_OPEN, "writes-open",
        "leasing: keeps a transaction id for itself in a session of its own", "holds", "leased"},
    {DEFECT_FLOODS_LOG, "floods-log", "logs a megabyte a second while nothing is to do",
        "busy_idle", "idle"},
    {DEFECT_FLAPS_EARLY, "flaps-early",
        "opens a session every 25 ms, and waits for half of the timeout", "early", "plain"},
    {DEFECT_REWINDS, "rewinds", "after a reconnect, sends again all that was ever sent",
        "duplicated", "backend"},
    {DEFECT_WAITS_FULL, "waits-full", "sends a full batch only at the timeout", "late", "whole"},
    {DEFECT_SENDS_AT_ONCE, "sends-at-once", "sharing: sends at once what waits", "early", "pair"},
    {DEFECT_WALL_CLOCK, "wall-clock", "measures the timeout by the time of day", "late", "stepped"},
};

#define DEFECTS (sizeof defects / sizeof defects[0])

const struct defect_row *defect_find(const char *name)
{
    for (size_t i = 0; i < DEFECTS; i++)
        if (strcmp(defects[i].name, name) == 0)
            return &defects[i];
    return NULL;
}

void defect_list(FILE *out)
{
    for (size_t i = 0; i < DEFECTS; i++) {
        const struct defect_row *d = &defects[i];
        fprintf(out, "%s\t%s\t%s\t%s\n", d->name, d->shows_in, d->convicts, d->breaks);
    }
}

void defect_leak(void **chain)
{
    const size_t size = 4096;
    void **block = malloc(size);

    // Without memory it leaks no more: the end of the process would be another defect.
    if (!block)
        return;
    memset(block, 1, size);
    *block = *chain;
    *chain = block;
}

// Uses 150 ms of processor time, then ends the process.
static _Noreturn void run_for_a_while(void)
{
    const clock_t used = 3 * CLOCKS_PER_SEC / 20;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (clock() < used)
        ;
    _exit(0);
}

// Starts four processes for each processor. Each uses 150 ms of processor time, so all have ended
// after about 600 ms.
void defect_burn(void)
{
    long count = 4 * sysconf(_SC_NPROCESSORS_ONLN);

    for (long i = 0; i < count; i++) {
        if (fork() == 0)
            run_for_a_while();
    }
    while (wait(NULL) > 0)
        ;
}
