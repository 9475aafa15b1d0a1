// A silent collector is one that wrote no line at all, or none after some time though tokens went
// on being committed. The cause is taken from the first line of its log that points to a known
// one, or else from how its processes ended. A reader also gets the log's commonest line and its
// last ones. Numbers in lines are ignored there, because they are mostly times, process numbers and
// ports.
#include "report/silence.h"

#include <ctype.h>
#include <sys/wait.h>

#include "os/paths.h"
#include "base/utf8.h"

// Number of bytes of a log that are read, half from its beginning and half from its end.
#define LOG_MAX (1u << 20)
// Number of different lines that are counted. The later ones are left out.
#define KINDS_MAX 1000
// When at least this many tokens are newer than the last line, the collector may be silent.
static const size_t newer_min = 10;

// --- the likely cause -------------------------------------------------------------------

static const struct {
    const char *says, *cause; // a part of the line, and what to tell the user; a first letter that
                              // may be a capital is left out
} causes[] = {
    {"permission denied for",
        "its login role has no right to this; a collector with tables of its own needs --set "
        "collector.layout=foreign"},
    {"password authentication failed",
        "it does not log in with the name and the password of MAILROOM_DATABASE_URL"},
    {"FATAL:  role \"", "it logs in with another name than that of MAILROOM_DATABASE_URL"},
    {"no password supplied", "it does not use the password of MAILROOM_DATABASE_URL"},
    {"onnection refused", "it connects to another server than that of MAILROOM_DATABASE_URL"},
    {"could not translate host name",
        "it connects to another server than that of MAILROOM_DATABASE_URL"},
    {"could not connect", "it connects to another server than that of MAILROOM_DATABASE_URL"},
    {"ModuleNotFoundError", "a library that it needs is not installed"},
    {"Cannot find module", "a library that it needs is not installed"},
    {"Can't locate", "a library that it needs is not installed"},
    {"cannot load such file", "a library that it needs is not installed"},
    {"Failed opening required", "a library that it needs is not installed"},
    {"Call to undefined function", "an extension that it needs is not loaded"},
    {"could not find driver", "an extension that it needs is not loaded"},
    {"error while loading shared libraries", "a library that it needs is not installed"},
    {"command not found", "a program that it calls is not installed"},
    {"No such file or directory", "a file or a program that it needs is not there"},
    {"does not exist", "it asks for something that this schema does not have"},
};

// Returns the cause to which a line of the log points; NULL: none is known.
static const char *likely_cause(const char *line, bool foreign)
{
    // The table would advise layout=foreign, which this run has already.
    if (foreign && strstr(line, "permission denied for"))
        return "its login role has no right to this; one that uses the reference collector's "
               "tables needs --set collector.layout=reference";
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        // The first entry that fits counts: rarer and more exact words stand above the common ones.
        if (strstr(line, causes[i].says))
            return causes[i].cause;
    }
    return NULL;
}

// --- the log ------------------------------------------------------------------------------

// Lines that differ in nothing but their numbers.
struct kind {
    const char *line; // its last occurrence in the log
    size_t times;
};

static bool same_but_for_numbers(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, "0123456789");
            b += strspn(b, "0123456789");
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return *a == *b;
}

static void count_kind(struct kind *kinds, size_t *count, const char *line)
{
    for (size_t i = 0; i < *count; i++) {
        if (same_but_for_numbers(kinds[i].line, line)) {
            // Each kind keeps its last line, because a reader finds the numbers of that line at the
            // end of the log.
            kinds[i].line = line;
            kinds[i].times++;
            return;
        }
    }
    if (*count < KINDS_MAX)
        kinds[(*count)++] = (struct kind){.line = line, .times = 1};
}

// Copies a line without the time at its beginning, as readable text: a collector may write any
// bytes.
static void copy_log_line(char *to, const char *line)
{
    bool dated = isdigit((unsigned char)line[0]);

    snprintf(to, SILENCE_TEXT, "%s", line + (dated ? strspn(line, "0123456789/:.-+, TZ") : 0));
    utf8_mend(to);
}

// Keeps the line as the newest of the last lines. It replaces the line before if the two differ
// only in numbers.
static void keep_last_line(struct silence *s, const char *line)
{
    char text[SILENCE_TEXT];

    copy_log_line(text, line);
    if (s->end_count > 0 && same_but_for_numbers(s->ends[s->end_count - 1], text))
        s->end_count--;
    if (s->end_count == SILENCE_ENDS) {
        memmove(s->ends[0], s->ends[1], sizeof s->ends - sizeof s->ends[0]);
        s->end_count--;
    }
    memcpy(s->ends[s->end_count++], text, sizeof text);
}

void silence_read(struct silence *s, char *log, bool foreign)
{
    struct kind *kinds FREED_BY(memory_free) = memory_zeroed(KINDS_MAX, sizeof *kinds);
    const struct kind *commonest = kinds;
    size_t count = 0;
    char *rest = log, *line;

    while ((line = strsep(&rest, "\n"))) {
        if (line[0] == '\0')
            continue;
        count_kind(kinds, &count, line);
        keep_last_line(s, line);
        // The first known cause counts: later lines often complain about its consequences.
        if (!s->cause[0] && likely_cause(line, foreign))
            snprintf(s->cause, sizeof s->cause, "%s", likely_cause(line, foreign));
    }
    for (size_t i = 0; i < count; i++)
        commonest = kinds[i].times > commonest->times ? &kinds[i] : commonest;
    if (count > 0) {
        copy_log_line(s->common, commonest->line);
        s->times = commonest->times;
    }
}

// Reads the text of a log; of a log longer than LOG_MAX, half of LOG_MAX from its beginning and
// half from its end.
static void read_log_text(char *text, FILE *file)
{
    long half = LOG_MAX / 2, size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;

    rewind(file);
    size_t got = fread(text, 1, (size_t)half, file);
    if (size > 2 * half)
        fseek(file, -half, SEEK_END);
    got += fread(text + got, 1, (size_t)half, file);
    // A NUL would end the text early.
    for (size_t i = 0; i < got; i++)
        text[i] = text[i] ? text[i] : '?';
    text[got] = '\0';
}

// Reads what the log of the first collector tells into *s. A log that cannot be read changes
// nothing.
static void read_log(struct silence *s, const char *logs, bool foreign)
{
    char path[PATH_MAX];
    struct err ignored;
    // The log of the first instance is enough: all instances have the same command.
    FILE *file = path_join(path, logs, "collector-0.log", &ignored) ? fopen(path, "re") : NULL;

    if (!file)
        return;
    char *text FREED_BY(memory_free) = memory_allocate(LOG_MAX + 1);
    read_log_text(text, file);
    fclose(file);
    silence_read(s, text, foreign);
}

// --- what was seen ------------------------------------------------------------------------

// Counts the tokens that were committed after a time.
static size_t committed_after(const struct ledger *l, int64_t ns)
{
    size_t count = 0;

    for (size_t i = 0; i < l->plan->token_count; i++) {
        const struct txn_record *t = ledger_txn(l, (uint32_t)i);
        count += t->outcome == TXN_COMMITTED && t->ended_ns > ns;
    }
    return count;
}

// True when the process ended though nobody had asked it to. In a soak a process may live on in the
// next segment.
static bool ended_by_itself(const struct process_record *p)
{
    return !p->asked && p->ended_ns != CLOCK_NEVER;
}

// True when the collector wrote no line, or none for some time while tokens went on being
// committed. Then s->what says what was seen.
static bool is_run_silent(struct silence *s, const struct ledger *l)
{
    const struct subject_log *log = l->log;

    if (!log || log->process_count == 0)
        return false;
    // A collector that ends at once may end the run before the first token is committed. So its own
    // end counts, too.
    if (log->line_count == 0 &&
        (committed_after(l, 0) > 0 || ended_by_itself(&log->processes[0]))) {
        snprintf(s->what, sizeof s->what, "the collector wrote no line at all");
        return true;
    }
    if (log->line_count == 0)
        return false;
    int64_t last_ns = log->lines[log->line_count - 1].read_ns;
    size_t newer = committed_after(l, last_ns);
    // With few tokens or little time left, the collector may just not have written yet: a batch has
    // its timeout, and a few tokens may be ineligible.
    if (newer < newer_min ||
        l->drain_end_ns - last_ns < 2 * l->scenario->collector.batch_timeout_ns + NS_PER_S)
        return false;
    snprintf(s->what, sizeof s->what,
        "the collector wrote nothing after %.3f s, though %zu %s committed later",
        ledger_seconds(l, last_ns), newer, NOUN(newer, "token was", "tokens were"));
    return true;
}

// Explains the silence by how the processes ended. It is called when the log does not tell the
// cause.
static void explain_by_exits(struct silence *s, const struct ledger *l)
{
    const struct subject_log *log = l->log;
    const struct process_record *last = NULL; // of those that ended by themselves
    int64_t last_end_ns = 0;
    size_t count = 0;

    for (size_t i = 0; i < log->process_count; i++) {
        last_end_ns = clock_max(last_end_ns, log->processes[i].ended_ns);
        if (!ended_by_itself(&log->processes[i]))
            continue;
        last = &log->processes[i];
        count++;
    }
    // Each end was planned, and none came at the end of the drain: a fault lasted for the rest of
    // the run.
    if (!last && last_end_ns < l->drain_end_ns) {
        snprintf(s->cause, sizeof s->cause, "the plan ended it at %.3f s",
            ledger_seconds(l, last_end_ns));
        return;
    }
    if (!last) {
        snprintf(s->cause, sizeof s->cause, "it ran to the end%s",
            s->common[0]          ? ""
            : log->line_count > 0 ? ", and its log is empty"
                                  : ", and its log is empty; does it flush its standard output?");
        return;
    }
    int status = last->status;
    double lived_s = (double)(last->ended_ns - last->started_ns) / 1e9;
    // A shell exits with 126 or 127 when it cannot run a command.
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127))
        snprintf(s->cause, sizeof s->cause,
            "the command, or the interpreter that it names, cannot be run (exit code %d)",
            WEXITSTATUS(status));
    else
        snprintf(s->cause, sizeof s->cause,
            "it ended by itself %zu %s, last with %s %d after %.3f s", count,
            NOUN(count, "time", "times"), WIFEXITED(status) ? "exit code" : "signal",
            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), lived_s);
}

void silence_find(
    struct silence *s, const struct ledger *l, const struct result *r, const char *logs)
{
    *s = (struct silence){0};
    // In a run that passed, a silent collector had nothing to write.
    if (r->verdict == VERDICT_PASS || !is_run_silent(s, l))
        return;
    read_log(s, logs, l->scenario->collector.layout == LAYOUT_FOREIGN);
    if (!s->cause[0])
        explain_by_exits(s, l);
}
