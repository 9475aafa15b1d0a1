#include "run/cuts/cutreport.h"

#include <math.h>

#include "base/utf8.h"
#include "report/files/junit.h"
#include "subject/command.h"

// --- the command ------------------------------------------------------------------------

// Appends the options that repeat these trials, such as "--every-cut --cut-at 'client Bind'".
// `only` restricts them to one kind of message; NULL: the options as they were given.
static void append_options(const struct cutreport *c, const char *only, struct buf *out)
{
    const struct message_kind *kind = c->how->only;

    buf_append_str(out, c->how->action == ACTION_KILL ? "--every-kill" : "--every-cut");
    if (c->how->pairs > 0)
        buf_printf(out, " --pairs %zu", c->how->pairs);
    if (only)
        buf_printf(out, " --cut-at '%s'", only);
    else if (kind)
        buf_printf(out, " --cut-at '%s %s'", message_sender_name(kind->sender),
            message_name(kind->sender, kind->type));
}

void cutfiles_repeat(const struct cutreport *c, const char *only, struct buf *out)
{
    report_repeat_of(c->folder->path, c->scenario, c->options->collector, out);
    buf_append_char(out, ' ');
    append_options(c, only, out);
}

// --- cuts.csv -------------------------------------------------------------------------

// Appends a quoted cell, because the text may have commas and quotes.
static void append_quoted(struct buf *csv, const char *text)
{
    buf_append_char(csv, '"');
    for (; *text; text++) {
        if (*text == '"')
            buf_append_char(csv, '"');
        buf_append_char(csv, *text);
    }
    buf_append_char(csv, '"');
}

// Appends the row of the i-th trial.
static void append_row(const struct cutreport *c, size_t i, struct buf *csv)
{
    const struct trial_result *r = &c->results[i];
    const struct trial_cuts *cuts = &c->points->items[i];

    for (int k = 0; k < POINTS_CUTS_MAX; k++) {
        const struct cut_point *p = &cuts->at[k];
        if (k < cuts->count)
            buf_printf(csv, "%s,%s,%d,%s,", message_sender_name(p->sender),
                message_name(p->sender, p->type), p->n, points_side(p->side));
        else
            // A trial with one cut has empty fields for a second one, so that every row has the
            // same columns.
            buf_append_str(csv, ",,,,");
    }
    buf_printf(csv, "%d,%s,%lld", cutkinds_reached(c, i), verdict_name(r->verdict),
        (long long)(r->took_ns / 1000000));
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (metrics[id].invariant)
            buf_printf(csv, isnan(r->values[id]) ? "," : ",%.0f", r->values[id]);
    }
    const struct cut_point *first = &cuts->at[0];
    buf_append_char(csv, ',');
    append_quoted(csv, transcript_find(c->transcript, first->sender, first->type, first->n));
    buf_append_char(csv, '\n');
}

static bool write_points(const struct cutreport *c, struct err *e)
{
    struct buf csv FREED_BY(buf_fini) = BUF_INIT(16 << 20);

    buf_append_str(&csv, "sender,message,n,side,then_sender,then_message,then_n,then_side,reached,"
                         "verdict,ms");
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (metrics[id].invariant)
            buf_printf(&csv, ",%s", metrics[id].name);
    }
    buf_append_str(&csv, ",statement\n");
    for (size_t i = 0; i < c->points->count; i++)
        append_row(c, i, &csv);
    return folder_write(c->folder->path, "cuts.csv", &csv, e);
}

// --- JUnit ----------------------------------------------------------------------------

// Adds a JUnit case for one kind of message, with the command that repeats its trials. `only` is
// the kind to which the command is restricted; NULL: it tries all kinds.
static void add_case(
    const struct cutreport *c, const struct cutkind *k, const char *only, struct buf *out)
{
    char name[64], others[CUTKINDS_TEXT], message[CUTKINDS_TEXT + 120];
    struct junit_case it = {.kind = "cut", .name = name, .message = message};
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1 << 16);

    buf_append_str(&text, "repeat: ");
    cutfiles_repeat(c, only, &text);
    it.text = buf_str(&text);
    snprintf(name, sizeof name, "%s %s", k->sender, k->message);
    snprintf(message, sizeof message, "lost %.0f, duplicated %.0f, unplanned_exit %.0f, others %s",
        k->sums[METRIC_LOST], k->sums[METRIC_DUPLICATED], k->sums[METRIC_UNPLANNED_EXIT],
        cutkinds_others(k->sums, others));
    it.trouble = k->broken ? "failure" : NULL;
    junit_case(c->scenario->name, &it, out);
}

// Returns the result of the trial without any cut as if that were a kind of message, for add_case.
static struct cutkind without_cut(const struct cutreport *c, enum verdict verdict)
{
    struct cutkind k = {.sender = "without", .message = "any cut"};

    // A silent collector is not convicted (cutreport_judge).
    k.broken = c->uncut->verdict == VERDICT_VIOLATED && verdict == VERDICT_VIOLATED;
    for (enum metric_id id = 0; id < METRIC_COUNT; id++)
        k.sums[id] = metrics[id].invariant && c->uncut->broken[id] ? c->uncut->values[id] : 0;
    return k;
}

static void add_kind_case(const struct cutreport *c, const struct cutkind *k, struct buf *out)
{
    char only[64];
    bool pairs = strcmp(k->sender, "pairs") == 0; // all are one kind; --cut-at cannot name it

    snprintf(only, sizeof only, "%s %s", k->sender, k->message);
    add_case(c, k, pairs ? NULL : only, out);
}

bool cutfiles_suite(const struct cutreport *c, const struct report_cuts *n,
    const struct cutverdict *v, struct buf *out, struct err *e)
{
    const char *name = c->scenario->name;
    const struct cutkind uncut = without_cut(c, v->verdict);
    // JUnit has no third verdict. An inconclusive run becomes an error, so that no CI takes it as a
    // pass.
    const bool enough = v->verdict != VERDICT_INCONCLUSIVE;
    // Two cases are no kind of message: the verdict, and the trial without any cut.
    struct junit_counts counts = {.tests = 2, .errors = !enough, .failures = uncut.broken ? 1 : 0};
    struct junit_case conclusive = {.kind = "verdict", .name = "conclusive"};
    struct cutkind k;
    char message[100];

    for (size_t i = 0; cutkinds_next(c, &i, &k); counts.tests++)
        counts.failures += k.broken > 0;
    junit_open(name, &counts, (double)(c->end_ns - c->start_ns) / 1e9, out);
    snprintf(message, sizeof message, "%zu of %zu cut points reached, %zu inconclusive", n->reached,
        n->tried, n->inconclusive);
    conclusive.trouble = enough ? NULL : "error";
    conclusive.message = message;
    junit_case(name, &conclusive, out);
    add_case(c, &uncut, NULL, out);
    for (size_t i = 0; cutkinds_next(c, &i, &k);)
        add_kind_case(c, &k, out);
    return junit_close(out) || err_set(e, ERR_INTERNAL, "junit.xml would be too long");
}

// --- the files that every run has -------------------------------------------------------

// The sums over all trials, in the form of one run without a load, because the files of the result
// folder are written from a run.
struct sums {
    struct scenario scenario; // the scenario without its load, faults and expectations
    struct plan plan;
    struct subject_log log;
    struct ledger ledger;
    struct load_result load;
    struct check_input input;
    struct result result;
    struct fault_spec spec;
    struct fault_record *faults;
    size_t fault_count;
};

// Compares the times at which two faults began, for qsort.
static int compare_trial_times(const void *a, const void *b)
{
    const struct fault_record *x = a, *y = b;

    return (x->began_ns > y->began_ns) - (x->began_ns < y->began_ns);
}

// Makes a fault record for each cut or kill that was made, sorted by time. Its evidence names all
// cuts of its trial.
static void collect_faults(struct sums *s, const struct cutreport *c)
{
    s->spec = (struct fault_spec){
        .verb = verb_find(c->how->action == ACTION_KILL ? "kill-collector" : "cut-at"),
        .instance = -1,
    };
    s->faults = memory_zeroed(c->points->count * POINTS_CUTS_MAX, sizeof *s->faults);
    for (size_t i = 0; i < c->points->count; i++) {
        char text[POINTS_TEXT];
        // A cut that was not reached has no time and did nothing.
        for (int k = 0; k < c->results[i].reached; k++) {
            struct fault_record *f = &s->faults[s->fault_count++];
            int64_t at_ns = c->results[i].cut_ns[k];
            *f = (struct fault_record){.spec = &s->spec,
                .planned_ns = at_ns,
                .began_ns = at_ns,
                .ended_ns = at_ns,
                .ok = true,
                .undone = true};
            snprintf(
                f->evidence, sizeof f->evidence, "%.159s", points_text(&c->points->items[i], text));
        }
    }
    qsort(s->faults, s->fault_count, sizeof *s->faults, compare_trial_times);
}

static void add_judged(struct judged *sum, const struct judged *j)
{
    sum->judged += j->judged;
    sum->of += j->of;
    for (enum cause_kind kind = 0; kind < CAUSE_KINDS; kind++)
        sum->excused[kind] += j->excused[kind];
}

// Sets a finding's count to `count`. Adds the example, with the cuts of its trial in front of it,
// unless the finding has FINDING_EXAMPLES already.
static void add_example(struct finding *f, double count, const char *where, const char *example)
{
    f->count = (uint64_t)count;
    if (f->example_count == FINDING_EXAMPLES)
        return;
    snprintf(f->examples[f->example_count], sizeof f->examples[0], "%s: %s", where, example);
    utf8_mend(f->examples[f->example_count++]);
}

// Adds a trial to the sums, but not the cases of an invariant that the trial did not break.
// `where`: the text of its cuts.
static void add_trial_sums(struct result *r, const struct trial_result *t, const char *where)
{
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        bool counts = !metrics[id].invariant || t->broken[id];
        // The metrics up to METRIC_HOLDS are counts. Of those after it only the invariants are
        // added, because most others are percentiles and rates, which have no sum.
        if (isnan(t->values[id]) || (!metrics[id].invariant && id > METRIC_HOLDS))
            continue;
        r->values[id] = (isnan(r->values[id]) ? 0 : r->values[id]) + (counts ? t->values[id] : 0);
        r->broken[id] = r->broken[id] || t->broken[id];
        add_judged(&r->judged[id], &t->judged[id]);
        if (t->broken[id])
            add_example(&r->findings[id], r->values[id], where, t->example[id]);
    }
}

// Makes the result of all trials together. First check_ledger judges the run without a load, only
// to fill in all fields that a report needs. Then the sums of the trials replace its findings.
static void sum_up_trials(struct sums *s, const struct cutreport *c, const struct cutverdict *v)
{
    check_ledger(&s->result, &s->ledger, &s->input);
    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        s->result.values[id] = NAN;
        s->result.broken[id] = false;
        s->result.findings[id] = (struct finding){0};
        s->result.judged[id] = (struct judged){0};
    }
    for (size_t i = 0; i < c->points->count; i++) {
        char text[POINTS_TEXT];
        add_trial_sums(&s->result, &c->results[i], points_text(&c->points->items[i], text));
    }
    if (cutkinds_uncut_counts(c))
        add_trial_sums(&s->result, c->uncut, "without any cut");
    s->result.verdict = v->verdict;
    s->result.reason_count = 0;
    for (size_t i = 0; i < v->reason_count; i++)
        snprintf(s->result.reasons[s->result.reason_count++], sizeof s->result.reasons[0], "%s",
            v->reasons[i]);
}

static bool make_sums(
    struct sums *s, const struct cutreport *c, const struct cutverdict *v, struct err *e)
{
    s->scenario = *c->scenario;
    s->scenario.load_count = s->scenario.fault_count = s->scenario.expect_count = 0;
    s->input = (struct check_input){.load = &s->load, .reconnects = UINT64_MAX}; // not counted
    collect_faults(s, c);
    if (!ledger_init(&s->ledger, &s->scenario, &s->plan, e))
        return false;
    s->ledger.log = &s->log;
    s->ledger.faults = s->faults;
    s->ledger.fault_count = s->fault_count;
    s->ledger.start_ns = c->start_ns;
    s->ledger.load_end_ns = s->ledger.drain_end_ns = c->end_ns;
    sum_up_trials(s, c, v);
    return true;
}

// Writes the files that every run has, from the sums of the trials.
static bool write_report(
    const struct cutreport *c, const struct report_cuts *n, const struct sums *s, struct err *e)
{
    // The report of all trials does not explain why a collector was silent in one of them.
    const struct silence none = {0};
    struct environment environment;
    struct observed observed = {0};
    const struct report report = {
        .cuts = n,
        .scenario = &s->scenario,
        .ledger = &s->ledger,
        .result = &s->result,
        .input = &s->input,
        .environment = &environment,
        .observed = &observed,
        .silence = &none,
        .folder = c->folder,
    };

    environment_take(&environment, c->proof, c->server->version);
    // The command names the collector's program, whose checksum env.json gets.
    struct command command FREED_BY(command_fini) = {0};
    bool ok = command_make(&command, &s->scenario, c->options->collector, "", e);
    if (ok) {
        observed_take(&observed, NULL, c->start_ns, &s->scenario, c->options->collector,
            identity_of(command.argv, NULL, NULL));
        ok = report_write(&report, e);
        observed_fini(&observed);
    }
    return ok;
}

// Overwrites junit.xml: report_write made its cases from the sums, and here each kind of message
// gets a case.
static bool write_cuts_junit(const struct cutreport *c, const struct report_cuts *n,
    const struct cutverdict *v, struct err *e)
{
    struct buf suite FREED_BY(buf_fini) = BUF_INIT(1 << 22);
    struct buf document FREED_BY(buf_fini) = BUF_INIT(1 << 23);

    return cutfiles_suite(c, n, v, &suite, e) &&
           (report_junit_document(&suite, &document) ||
               err_set(e, ERR_INTERNAL, "junit.xml would be too long")) &&
           folder_write(c->folder->path, "junit.xml", &document, e);
}

bool cutfiles_write(const struct cutreport *c, const struct report_cuts *n,
    const struct cutverdict *v, struct err *e)
{
    struct sums *s FREED_BY(memory_free) = memory_zeroed(1, sizeof *s);
    struct report_cuts counts = *n;
    struct buf options FREED_BY(buf_fini) = BUF_INIT(1 << 12);

    counts.strip = cutstrip_json(c);
    append_options(c, NULL, &options);
    counts.options = buf_str(&options) ? options.data : "";
    // The link to the latest folder is made last, so that it never leads to an incomplete folder.
    bool ok = write_points(c, e) && make_sums(s, c, v, e) && write_report(c, &counts, s, e) &&
              write_cuts_junit(c, n, v, e) &&
              folder_copy_log(c->folder, c->server->log_path, 0, e) &&
              folder_link_latest(c->folder, e);
    result_fini(&s->result);
    ledger_fini(&s->ledger);
    json_decref(counts.strip);
    free(s->faults);
    return ok;
}
