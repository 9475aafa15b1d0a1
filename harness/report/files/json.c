// Writes result.json and env.json. Other programs rely on the names, so every key at the top exists
// in every run, and a figure that was not measured is null.
#include "report/report.h"

#include <math.h>

#include "report/files/parse_json.h"
#include "scenario/grammar.h"

// Returns a number, rounded to six digits after the point; null for a NAN, which was not measured.
static json_t *json_number(double value)
{
    if (isnan(value))
        return json_null();
    // A whole number is written as an integer, because a strict reader expects counts to be
    // integers. Up to 9e15 a double holds every integer exactly.
    if (!(value < rint(value) || value > rint(value)) && fabs(value) < 9e15)
        return json_integer((json_int_t)value);
    return json_real(rint(value * 1e6) / 1e6);
}

static json_t *json_metric(const struct report *r, enum metric_id id)
{
    return json_number(r->result->values[id]);
}

// Returns an object with the metrics from `first` to `last`, named without their prefix.
static json_t *metrics_object(const struct report *r, enum metric_id first, enum metric_id last)
{
    json_t *object = json_object();

    for (enum metric_id id = first; id <= last; id++) {
        const char *dot = strrchr(metrics[id].name, '.');
        json_object_set_new(object, dot ? dot + 1 : metrics[id].name, json_metric(r, id));
    }
    return object;
}

// Returns an object with all metrics under their full names, for programs that read results back
// (stored.c).
static json_t *all_metrics(const struct report *r)
{
    json_t *object = json_object();

    for (enum metric_id id = 0; id < METRIC_COUNT; id++)
        json_object_set_new(object, metrics[id].name, json_metric(r, id));
    return object;
}

// Returns how much of each invariant was judged, and what excused the rest. "promised" is false
// when the subject does not promise the invariant; then it was not checked.
static json_t *json_judged(const struct report *r)
{
    json_t *object = json_object();

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        const struct judged *j = &r->result->judged[id];
        // Metrics that are no invariants are measured, and not judged.
        if (!metrics[id].invariant)
            continue;
        json_t *excused = json_object();
        for (enum cause_kind kind = 0; kind < CAUSE_KINDS; kind++) {
            if (j->excused[kind] > 0)
                json_object_set_new(excused, cause_name(kind), json_number(j->excused[kind]));
        }
        json_object_set_new(object, metrics[id].name,
            json_pack("{s:o, s:o, s:s, s:b, s:o}", "judged", json_number(j->judged), "of",
                json_number(j->of), "over", metric_over_name(metrics[id].over), "promised",
                check_promised(r->scenario, id), "excused", excused));
    }
    return object;
}

static json_t *json_broken(const struct report *r)
{
    json_t *list = json_array();

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        if (r->result->broken[id])
            json_array_append_new(list, json_string(metrics[id].name));
    }
    return list;
}

static json_t *json_expectations(const struct report *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->scenario->expect_count; i++) {
        const struct expectation *x = &r->scenario->expect[i];
        json_array_append_new(list,
            json_pack("{s:s, s:s, s:o, s:s, s:b}", "metric", x->metric, "want", x->want, "got",
                json_metric(r, metric_find(x->metric)->id), "unit",
                metric_unit_name(metric_find(x->metric)->unit), "holds", r->result->holds[i]));
    }
    return list;
}

// Returns what became of the fault with this index. Times are in seconds since the load began;
// at_s and ended_s are null if the fault never began.
static json_t *json_fault(const struct report *r, size_t i)
{
    const struct ledger *l = r->ledger;
    const struct fault_record *f = &l->faults[i];
    bool begun = f->began_ns != 0;
    json_t *object = json_object();

    json_object_set_new(object, "planned_s", json_number(ledger_seconds(l, f->planned_ns)));
    json_object_set_new(object, "at_s", json_number(begun ? ledger_seconds(l, f->began_ns) : NAN));
    json_object_set_new(
        object, "ended_s", json_number(begun ? ledger_seconds(l, f->ended_ns) : NAN));
    json_object_set_new(object, "do", json_string(f->spec->verb->name));
    if (f->spec->verb->params & PARAM_TARGET)
        json_object_set_new(object, "target", json_string(fault_target_name(f->spec->target)));
    // A fault that was left out is no failure; `left_out` tells it from one that took effect.
    json_object_set_new(object, "ok", json_boolean(f->left_out || (begun && f->ok)));
    json_object_set_new(object, "left_out", json_boolean(f->left_out != LEFT_OUT_NOT));
    json_object_set_new(object, "evidence", json_string(f->evidence));
    json_object_set_new(object, "recovery_ms", json_number(r->result->recovery_ms[i]));
    json_object_set_new(object, "wire",
        f->wire == EXCHANGE_UNSEEN ? json_null() : json_string(exchange_name(f->wire)));
    return object;
}

static json_t *json_faults(const struct report *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->ledger->fault_count; i++)
        json_array_append_new(list, json_fault(r, i));
    return list;
}

static json_t *json_examples(const struct report *r)
{
    json_t *object = json_object();

    for (enum metric_id id = 0; id < METRIC_COUNT; id++) {
        const struct finding *f = &r->result->findings[id];
        if (f->count == 0)
            continue;
        json_t *list = json_array();
        for (size_t i = 0; i < f->example_count; i++)
            json_array_append_new(list, json_string(f->examples[i]));
        json_object_set_new(object, metrics[id].name, list);
    }
    return object;
}

static json_t *json_silence(const struct silence *s)
{
    if (!s->what[0]) // the collector was not silent
        return json_null();
    json_t *ends = json_array();
    for (size_t i = 0; i < s->end_count; i++)
        json_array_append_new(ends, json_string(s->ends[i]));
    return json_pack("{s:s, s:s, s:s, s:I, s:o}", "what", s->what, "cause", s->cause, "log",
        s->common, "times", (json_int_t)s->times, "log_ends", ends);
}

// Returns for each kind of fault how long after its end such a fault may excuse the collector, and
// how long one did at most; null: until the run's end.
static json_t *json_excuses(const struct report *r)
{
    json_t *all = json_object();

    for (int id = 0; id < VERB_COUNT; id++) {
        const struct excuse *x = &r->result->excuses[id];
        // The bound of a fault that never happened would look like an excuse.
        if (x->strikes > 0)
            json_object_set_new(all, verbs[id].name,
                json_pack("{s:I, s:o, s:o}", "strikes", (json_int_t)x->strikes, "most_ms",
                    x->to_end ? json_null() : json_real((double)x->most_ns / 1e6), "used_ms",
                    x->to_end ? json_null() : json_real((double)x->used_ns / 1e6)));
    }
    return all;
}

static json_t *json_reasons(const struct report *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->result->reason_count; i++)
        json_array_append_new(list, json_string(r->result->reasons[i]));
    if (r->input->gave_up)
        json_array_append_new(list, json_string(r->input->gave_up));
    return list;
}

static json_t *json_cuts(const struct report_cuts *c)
{
    if (!c)
        return json_null();
    return json_pack("{s:s, s:I, s:I, s:I, s:I}", "mode", c->mode, "tried", (json_int_t)c->tried,
        "reached", (json_int_t)c->reached, "broken", (json_int_t)c->broken, "inconclusive",
        (json_int_t)c->inconclusive);
}

static bool append_report_json(json_t *root, struct buf *out, struct err *e)
{
    return append_root(root, JSON_INDENT(2) | JSON_REAL_PRECISION(15), out) ||
           err_set(e, ERR_INTERNAL, "cannot make JSON");
}

bool report_result_json(const struct report *r, struct buf *out, struct err *e)
{
    const struct result *v = r->result;
    json_t *root = json_pack("{s:i, s:s, s:I, s:s, s:i}", "schema", 1, "scenario",
        r->scenario->name, "seed", (json_int_t)r->scenario->seed, "verdict",
        verdict_name(v->verdict), "exit_code", verdict_exit_code(v->verdict));
    json_t *latency = json_object();

    json_object_set_new(
        latency, "from_intended", metrics_object(r, METRIC_LATENCY_P50, METRIC_LATENCY_MEAN));
    json_object_set_new(latency, "from_commit",
        metrics_object(r, METRIC_COMMIT_LATENCY_P50, METRIC_COMMIT_LATENCY_MEAN));
    json_object_set_new(root, "rules", json_integer(CHECK_RULES));
    json_object_set_new(root, "judged", json_judged(r));
    json_object_set_new(root, "excuses", json_excuses(r));
    json_object_set_new(root, "slack_ms", json_real((double)v->slack_ns / 1e6));
    json_object_set_new(root, "changed", json_pack("s?", r->observed->changed));
    json_object_set_new(root, "program", json_pack("s?", r->observed->program));
    json_object_set_new(root, "silence", json_silence(r->silence));
    json_object_set_new(root, "reasons", json_reasons(r));
    json_object_set_new(root, "interrupted", json_boolean(r->input->interrupted));
    json_object_set_new(root, "tokens", metrics_object(r, METRIC_ATTEMPTED, METRIC_CONFLICTED));
    json_object_set_new(root, "process", metrics_object(r, METRIC_UNPLANNED_EXIT, METRIC_HOLDS));
    json_object_set_new(
        root, "rate_per_s", metrics_object(r, METRIC_RATE_OFFERED, METRIC_RATE_DELIVERED));
    json_object_set_new(root, "latency_ms", latency);
    json_object_set_new(root, "generator",
        metrics_object(r, METRIC_GENERATOR_LAG_P99_MS, METRIC_GENERATOR_DROPPED));
    // Always null: only version 1 of the rules had a budget for repeats.
    json_object_set_new(root, "duplicate_bound", json_null());
    json_object_set_new(root, "faults", json_faults(r));
    json_object_set_new(root, "cuts", json_cuts(r->cuts));
    json_object_set_new(
        root, "collector", metrics_object(r, METRIC_COLLECTOR_DEATHS, METRIC_COLLECTOR_CPU_S));
    report_add_measurements(r, root);
    json_object_set_new(root, "metrics", all_metrics(r));
    json_object_set_new(root, "broken", json_broken(r));
    json_object_set_new(root, "expectations", json_expectations(r));
    json_object_set_new(root, "examples", json_examples(r));
    json_object_set_new(root, "environment", environment_json(r->environment));
    return append_report_json(root, out, e);
}

bool report_env_json(const struct report *r, struct buf *out, struct err *e)
{
    json_t *root = environment_json(r->environment);

    json_object_set_new(root, "seed", json_integer((json_int_t)r->scenario->seed));
    return append_report_json(root, out, e);
}
