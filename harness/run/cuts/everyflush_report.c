// Reports --every-flush: flushes.csv, the summary on the terminal, and a suite for JUnit.
#include "run/cuts/everyflush_inside.h"

#include "report/files/junit.h"
#include "report/report.h"

#define STATES_SHOWN 10

// The name and the meaning of each kind of failure, and the invariant for which `allow` tolerates
// it (NULL: never).
static const struct {
    const char *name, *help, *invariant;
} failures[FLUSH_FAILURES] = {
    [FLUSH_UNSTARTABLE] = {"unstartable", "the server does not start", NULL},
    [FLUSH_VANISHED] = {"vanished", "acknowledged, but missing", "vanished"},
    [FLUSH_LOST] = {"lost", "present, but never written (leased: or without an outcome)", "lost"},
    [FLUSH_DUPLICATED] = {"duplicated", "written again, though its line was confirmed",
        "duplicated"},
    [FLUSH_DAMAGED] = {"damaged", "pages, indexes or queries broken", NULL},
    [FLUSH_EXITS] = {"exits", "the collector ended", "unplanned_exit"},
};

// Counts a failure in a state. If the file system had to be repaired, the count is 0, because the
// repair may have thrown away what was flushed.
static unsigned count_in(enum flush_failure kind, const struct flush_trial_result *r)
{
    return r->repaired ? 0 : r->failures[kind];
}

// True when the state has the failure more often than the scenario's `allow` tolerates.
static bool is_intolerable(
    const struct flushes *f, enum flush_failure kind, const struct flush_trial_result *r)
{
    const char *invariant = failures[kind].invariant;

    return count_in(kind, r) > (invariant ? scenario_tolerates(f->setting.scenario, invariant) : 0);
}

// True when some state has more of the failure than is tolerated.
static bool is_kind_intolerable(const struct flushes *f, enum flush_failure kind)
{
    for (uint64_t i = 0; i < f->count; i++)
        if (is_intolerable(f, kind, &f->results[i]))
            return true;
    return false;
}

static bool is_bad(const struct flushes *f, const struct flush_trial_result *r)
{
    for (enum flush_failure k = 0; k < FLUSH_FAILURES; k++)
        if (is_intolerable(f, k, r))
            return true;
    return false;
}

// Returns the number of states that have the failure; *sum gets the number of cases in all states.
static uint64_t count_states(const struct flushes *f, enum flush_failure kind, uint64_t *sum)
{
    uint64_t states = 0;

    *sum = 0;
    for (uint64_t i = 0; i < f->count; i++) {
        unsigned count = count_in(kind, &f->results[i]);
        states += count > 0;
        *sum += count;
    }
    return states;
}

// Writes flushes.csv, with a row for each state.
static bool write_states(struct flushes *f, struct err *e)
{
    struct buf csv FREED_BY(buf_fini) = BUF_INIT(16 << 20);

    buf_append_str(&csv, "flush,at_ms,writes,sectors,kept,again,again_sectors,again_kept");
    for (enum flush_failure k = 0; k < FLUSH_FAILURES; k++)
        buf_printf(&csv, ",%s", failures[k].name);
    buf_append_str(&csv, ",ms\n");
    for (uint64_t i = 0; i < f->count; i++) {
        const struct state *s = &f->states[i];
        const struct flush_trial_result *r = &f->results[i];
        buf_printf(&csv, "%" PRIu64 ",%.1f,%" PRId64 ",%" PRId64 ",%" PRId64, i + 1,
            (double)(s->at_ns - f->workload.sent_ns[0]) / 1e6, s->writes, s->sectors, s->kept);
        buf_printf(&csv, ",%" PRIu64 ",%" PRId64 ",%" PRId64, r->second_cut_flush,
            r->second.sectors, r->second.kept);
        for (enum flush_failure k = 0; k < FLUSH_FAILURES; k++)
            // A repaired state has zeros here; the printed summary has the number of repaired
            // states.
            buf_printf(&csv, ",%u", count_in(k, r));
        buf_printf(&csv, ",%lld\n", (long long)(r->took_ns / NS_PER_MS));
    }
    return folder_write(f->folder.path, "flushes.csv", &csv, e);
}

static void append_repeat(const struct flushes *f, struct buf *out)
{
    report_repeat_of(f->folder.path, f->setting.scenario, f->setting.collector, out);
    buf_append_str(out, " --every-flush");
}

static void print_flush_repeat(const struct flushes *f)
{
    struct buf command FREED_BY(buf_fini) = BUF_INIT(1 << 16);

    append_repeat(f, &command);
    if (buf_str(&command))
        printf("  repeat      %s\n", command.data);
}

// Prints the first STATES_SHOWN states that have more of a failure than is tolerated.
static void print_failed_states(const struct flushes *f)
{
    for (uint64_t i = 0, shown = 0; i < f->count && shown < STATES_SHOWN; i++) {
        const struct flush_trial_result *r = &f->results[i];
        if (!is_bad(f, r))
            continue;
        printf(
            "  flush %" PRIu64 "%s:", i + 1, r->second_cut_flush ? " and one of the recovery" : "");
        for (enum flush_failure k = 0; k < FLUSH_FAILURES; k++) {
            // A state may fail in several ways. All are named, because the first is often the cause
            // of the others.
            if (count_in(k, r))
                printf(" %u %s", count_in(k, r), failures[k].name);
        }
        printf("%s%s\n", *r->why ? ": " : "", r->why);
        shown++;
    }
}

// Prints how long before the cut the oldest vanished token was acknowledged. With
// synchronous_commit = off PostgreSQL documents such a window of loss.
static void print_loss_window(const struct flushes *f)
{
    int64_t oldest_ns = 0;

    for (uint64_t i = 0; i < f->count; i++)
        oldest_ns = clock_max(oldest_ns, f->results[i].oldest_ns);
    if (oldest_ns)
        printf("  the vanished tokens were acknowledged up to %.0f ms before the cut\n",
            (double)oldest_ns / 1e6);
}

static bool is_state_torn(const struct state *s)
{
    return s->kept > 0 && s->kept < s->sectors;
}

static void print_flush_states(const struct flushes *f)
{
    uint64_t sectors = 0, kept = 0, torn = 0, again = 0, again_torn = 0, repaired = 0;

    for (uint64_t i = 0; i < f->count; i++) {
        sectors += (uint64_t)f->states[i].sectors;
        kept += (uint64_t)f->states[i].kept;
        // Only a state in which the disk kept a part of the unflushed sectors can have torn pages.
        // The number of such states shows how much was tested.
        torn += is_state_torn(&f->states[i]);
        again += f->results[i].second_cut_flush > 0;
        again_torn += is_state_torn(&f->results[i].second);
        repaired += f->results[i].repaired;
    }
    printf("  %" PRIu64 " states in %.0f s, of a workload of %d commits; %" PRIu64 " of %" PRIu64
           " unflushed sectors kept, in %" PRIu64 " states a part\n",
        f->count, (double)f->took_ns / 1e9, FLUSH_TRIAL_TOKENS, kept, sectors, torn);
    printf("  %" PRIu64 " of them cut again while the server recovered, of which %" PRIu64
           " kept a part; %" PRIu64 " not judged, whose file system was repaired\n",
        again, again_torn, repaired);
}

static void print_flushes(const struct flushes *f, enum verdict verdict)
{
    printf("%s, every flush: %s\n", f->setting.scenario->name, verdict_name(verdict));
    print_flush_states(f);
    if (!f->workload.amcheck)
        printf("  pages and indexes were not checked, because amcheck of PostgreSQL 14 or later is "
               "missing\n");
    printf("  %-12s %7s %7s\n", "", "states", "sum");
    for (enum flush_failure k = 0; k < FLUSH_FAILURES; k++) {
        uint64_t sum, states = count_states(f, k, &sum);
        printf("  %-12s %7" PRIu64 " %7" PRIu64 "  %s\n", failures[k].name, states, sum,
            failures[k].help);
    }
    print_loss_window(f);
    print_failed_states(f);
    printf("  result      %s\n", f->folder.path);
    if (verdict != VERDICT_PASS)
        print_flush_repeat(f);
}

// Appends a JUnit suite with a case for each kind of failure. False when it would be too long.
static bool add_suite(const struct flushes *f, struct err *e)
{
    const char *name = f->setting.scenario->name;
    struct buf *out = f->options->suites, command;
    // One test for each kind of failure, because the number of states differs from run to run.
    struct junit_counts counts = {.tests = FLUSH_FAILURES};

    for (enum flush_failure k = 0; k < FLUSH_FAILURES; k++)
        counts.failures += is_kind_intolerable(f, k);
    buf_init(&command, 1 << 16);
    buf_append_str(&command, "repeat: ");
    append_repeat(f, &command);
    junit_open(name, &counts, (double)f->took_ns / 1e9, out);
    for (enum flush_failure k = 0; k < FLUSH_FAILURES; k++) {
        char message[120];
        uint64_t sum, states = count_states(f, k, &sum);
        snprintf(message, sizeof message, "in %" PRIu64 " of %" PRIu64 " states: %s", states,
            f->count, failures[k].help);
        junit_case(name,
            &(struct junit_case){.kind = "flush",
                .name = failures[k].name,
                .trouble = is_kind_intolerable(f, k) ? "failure" : NULL,
                .message = message,
                .text = buf_str(&command)},
            out);
    }
    buf_fini(&command);
    return junit_close(out) || err_set(e, ERR_INTERNAL, "junit.xml would be too long");
}

bool everyflush_report(struct flushes *f, struct run_outcome *outcome, struct err *e)
{
    outcome->verdict = VERDICT_PASS;
    for (enum flush_failure k = 0; k < FLUSH_FAILURES; k++)
        if (is_kind_intolerable(f, k))
            outcome->verdict = VERDICT_VIOLATED;
    // The outcome names the folder even if a file cannot be written.
    snprintf(outcome->folder, sizeof outcome->folder, "%s", f->folder.path);
    if (!write_states(f, e) || !folder_copy_log(&f->folder, f->server.log_path, 0, e) ||
        !folder_link_latest(&f->folder, e))
        return false;
    print_flushes(f, outcome->verdict);
    return !f->options->suites || add_suite(f, e);
}
