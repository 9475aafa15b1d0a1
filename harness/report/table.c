// Prints the verdict for a person at a terminal.
#include "report/excused.h"
#include "report/pages/glance.h"

#include <math.h>

static double figure_in(const struct report *r, enum metric_id id)
{
    return r->result->values[id];
}

// Returns the word that fits the subject: a queue has jobs and consumers where a collector of mail
// lines has tokens and collectors.
static const char *suited_word(const struct report *r, const char *of_mails, const char *of_jobs)
{
    return scenario_is_queue(r->scenario) ? of_jobs : of_mails;
}

static void print_tokens(const struct report *r, FILE *out)
{
    fprintf(out, "  %-11s %.0f attempted, %.0f committed, %.0f rolled back, %.0f unknown\n",
        suited_word(r, "tokens", "jobs"), figure_in(r, METRIC_ATTEMPTED),
        figure_in(r, METRIC_COMMITTED), figure_in(r, METRIC_ROLLED_BACK),
        figure_in(r, METRIC_UNKNOWN));
    fprintf(out, "              %.0f expected, %.0f delivered", figure_in(r, METRIC_EXPECTED),
        figure_in(r, METRIC_DELIVERED));
    // In most runs these counts are 0, and then they are not printed.
    if (figure_in(r, METRIC_UNDELIVERABLE) > 0)
        fprintf(out, ", %.0f undeliverable", figure_in(r, METRIC_UNDELIVERABLE));
    if (figure_in(r, METRIC_CONFLICTED) > 0)
        fprintf(out, ", %.0f conflicted", figure_in(r, METRIC_CONFLICTED));
    if (figure_in(r, METRIC_LEFT_BEHIND) > 0)
        fprintf(out, ", %.0f left behind on the old leader's timeline",
            figure_in(r, METRIC_LEFT_BEHIND));
    if (figure_in(r, METRIC_REDELIVERED) > 0)
        fprintf(out, ", %.0f repeated because the server lost the cursor's move",
            figure_in(r, METRIC_REDELIVERED));
    fprintf(out, "\n  rate        ");
    if (isnan(figure_in(r, METRIC_RATE_OFFERED)))
        fprintf(out, "closed loop (as fast as the connections can), ");
    else
        fprintf(out, "%.1f/s offered, ", figure_in(r, METRIC_RATE_OFFERED));
    fprintf(out, "%.1f/s achieved, %.1f/s delivered\n", figure_in(r, METRIC_RATE_ACHIEVED),
        figure_in(r, METRIC_RATE_DELIVERED));
}

// Prints the six metrics from `first`, a p50, on: p50, p90, p99, p99.9, max and mean follow each
// other in the table of metrics.
static void print_latency_row(
    const struct report *r, FILE *out, const char *name, enum metric_id first)
{
    if (isnan(figure_in(r, first)))
        return;
    fprintf(out, "  %-28s", name);
    for (int i = 0; i < 6; i++)
        fprintf(out, " %9.2f", figure_in(r, (enum metric_id)((int)first + i)));
    fputc('\n', out);
}

static void print_latencies(const struct report *r, FILE *out)
{
    if (isnan(figure_in(r, METRIC_LATENCY_P50)) && isnan(figure_in(r, METRIC_COMMIT_LATENCY_P50)))
        return;
    fprintf(out, "  %-28s %9s %9s %9s %9s %9s %9s\n", "latency in ms", "p50", "p90", "p99", "p99.9",
        "max", "mean");
    print_latency_row(r, out, "  from the intended insert", METRIC_LATENCY_P50);
    print_latency_row(r, out, "  from the commit", METRIC_COMMIT_LATENCY_P50);
}

static void print_faults(const struct report *r, FILE *out)
{
    const struct ledger *l = r->ledger;
    size_t took_effect = 0, left_out = 0;

    if (l->fault_count == 0)
        return;
    for (size_t i = 0; i < l->fault_count; i++) {
        const struct fault_record *f = &l->faults[i];
        took_effect += !f->left_out && f->began_ns && f->ok;
        left_out += f->left_out != LEFT_OUT_NOT;
    }
    // A fault that was left out is neither a success nor a failure.
    fprintf(out, "  faults      %zu of %zu took effect", took_effect, l->fault_count - left_out);
    if (left_out > 0)
        fprintf(out, " (%zu left out: no target, or another fault still at work)", left_out);
    if (!isnan(figure_in(r, METRIC_RECOVERY_MAX)))
        fprintf(out, ", longest recovery %.0f ms", figure_in(r, METRIC_RECOVERY_MAX));
    fputc('\n', out);
}

static void print_count(FILE *out, double count, const char *one, const char *many)
{
    fprintf(out, "%.0f %s, ", count, NOUN(count, one, many));
}

static void print_collector(const struct report *r, FILE *out)
{
    fprintf(out, "  %-11s ", suited_word(r, "collector", "consumer"));
    // Each line of a queue's consumer has one job, so there are no batches to count.
    if (!scenario_is_queue(r->scenario))
        print_count(out, figure_in(r, METRIC_COLLECTOR_BATCHES), "batch", "batches");
    print_count(out, figure_in(r, METRIC_COLLECTOR_DEATHS), "death", "deaths");
    if (!isnan(figure_in(r, METRIC_COLLECTOR_RECONNECTS)))
        print_count(out, figure_in(r, METRIC_COLLECTOR_RECONNECTS), "reconnect", "reconnects");
    fprintf(out, "%.1f MiB, %.2f s CPU\n", figure_in(r, METRIC_COLLECTOR_RSS_MAX_KB) / 1024,
        figure_in(r, METRIC_COLLECTOR_CPU_S));
}

// Prints what the verdict does not rest on. The table names only invariants of which much was
// excused.
static void print_excused(const struct report *r, FILE *out)
{
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1 << 16);
    const char *label = "excused"; // of the first line; the others have none

    excused_lines(r, JUDGED_SHOWN, &text);
    for (char *line = buf_str(&text); line && *line; label = "") {
        char *end = strchr(line, '\n');
        fprintf(out, "  %-11s %.*s\n", label, (int)(end - line), line);
        line = end + 1;
    }
}

// Prints where in the run the tokens of the broken invariants lie, which tells more than a few
// examples.
static void print_groups(const struct report *r, FILE *out)
{
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        struct buf text FREED_BY(buf_fini) = BUF_INIT(2000);
        if (r->result->broken[id])
            glance_groups(r, id, &text);
        if (text.len > 0)
            fprintf(out, "    %.*s\n", (int)text.len, text.data);
    }
}

// Prints the counts of the judged invariants, six in a row, then what was excused, and for the
// broken ones where their tokens lie and examples.
static void print_invariants(const struct report *r, FILE *out)
{
    enum { PER_ROW = 6 };
    int shown = 0;

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (!result_judged(r->result, id))
            continue;
        bool begins_row = shown % PER_ROW == 0;
        if (begins_row)
            fprintf(out, "%s  %-11s", shown > 0 ? "\n" : "", shown > 0 ? "" : "invariants");
        fprintf(out, "%s%s %.0f%s", begins_row ? " " : "  ", metrics[id].name, figure_in(r, id),
            r->result->broken[id] ? " BROKEN" : "");
        shown++;
    }
    // Allowed repetitions are printed, too, because a sender has to cope with them.
    if (figure_in(r, METRIC_REPEATED) > 0)
        fprintf(out, "\n              %.0f %s of unconfirmed lines", figure_in(r, METRIC_REPEATED),
            NOUN(figure_in(r, METRIC_REPEATED), "repeated delivery", "repeated deliveries"));
    if (figure_in(r, METRIC_LATE_LINES) > 0)
        fprintf(out, ", %.0f %s", figure_in(r, METRIC_LATE_LINES),
            NOUN(figure_in(r, METRIC_LATE_LINES), "late line", "late lines"));
    fputc('\n', out);
    print_excused(r, out);
    print_groups(r, out);
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        const struct finding *f = &r->result->findings[id];
        for (size_t i = 0; r->result->broken[id] && i < f->example_count; i++)
            fprintf(out, "    %s: %s\n", metrics[id].name, f->examples[i]);
    }
}

// Prints each expectation of the scenario with the figure that the run has, then the reasons why
// the run is inconclusive.
static void print_expectations(const struct report *r, FILE *out)
{
    for (size_t i = 0; i < r->scenario->expect_count; i++) {
        const struct expectation *x = &r->scenario->expect[i];
        const struct metric *m = metric_find(x->metric);
        char got[40];
        fprintf(out, "  %-11s %s %s: %s, %s\n", i ? "" : "expect", x->metric, x->want,
            metric_text(m->id, figure_in(r, m->id), got, sizeof got),
            r->result->holds[i]          ? "holds"
            : isnan(figure_in(r, m->id)) ? "cannot be judged"
                                         : "DOES NOT HOLD");
    }
    for (size_t i = 0; i < r->result->reason_count; i++)
        fprintf(out, "  because     %s\n", r->result->reasons[i]);
    if (r->input->gave_up)
        fprintf(out, "  because     %s\n", r->input->gave_up);
}

static void print_repeat(const struct report *r, FILE *out)
{
    struct buf command FREED_BY(buf_fini) = BUF_INIT(1 << 16);

    // Nobody repeats a pass, and the line is long.
    if (r->result->verdict == VERDICT_PASS)
        return;
    if (report_repeat(r, &command) && buf_str(&command))
        fprintf(out, "  repeat      %s\n", command.data);
}

// Prints in the line of the verdict why nothing came, and below this line what the collector's log
// says.
static void print_silence(const struct silence *s, FILE *out)
{
    if (s->what[0])
        fprintf(out, ": %s%s%s", s->what, s->cause[0] ? "; " : "", s->cause);
    fputc('\n', out);
    if (s->times > 1)
        fprintf(out, "  its log     %zu times \"%s\"\n", s->times, s->common);
    const char *label = s->times > 1 ? "  ends with" : "its log";
    for (size_t i = 0; i < s->end_count; i++)
        fprintf(out, "  %-11s %s\n", i > 0 ? "" : label, s->ends[i]);
}

bool report_print(const struct report *r, FILE *out, struct err *e)
{
    fprintf(out, "%s: %s (seed %llu)", r->scenario->name, verdict_name(r->result->verdict),
        (unsigned long long)r->scenario->seed);
    print_silence(r->silence, out);
    print_tokens(r, out);
    print_latencies(r, out);
    print_faults(r, out);
    print_collector(r, out);
    fprintf(out, "  durability  %s\n", r->environment->proof.verdict);
    print_invariants(r, out);
    print_expectations(r, out);
    if (r->observed->program)
        fprintf(out, "  program     %s\n", r->observed->program);
    if (r->observed->changed)
        fprintf(out, "  changed     %s\n", r->observed->changed);
    fprintf(out, "  result      %s\n", r->folder->path);
    print_repeat(r, out);
    // A verdict that nobody can read must not end with exit code 0.
    return fflush(out) == 0 || err_sys(e, ERR_OUTPUT, "cannot write the verdict");
}
