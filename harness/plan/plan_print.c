// Prints the timeline: inserts, changes and faults merged in the order of their times.

#include <jansson.h>

#include "plan/plan.h"
#include "scenario/grammar.h"

struct printer {
    const struct plan *plan;
    const struct scenario *scenario;
    struct buf *out;
    bool first; // JSON: nothing was printed yet, so the next entry needs no comma before it
    void (*txn)(struct printer *pr, const struct plan_txn *t, size_t index);
    void (*change)(struct printer *pr, const struct plan_change *c);
    void (*fault)(struct printer *pr, const struct plan_fault *f);
};

// Returns the index of the transaction to print after this one. Of a closed loop only the first is
// printed, because the others have no planned time and nobody knows how many will be sent.
static size_t next_printed(const struct printer *pr, size_t txn)
{
    const struct plan *p = pr->plan;
    uint8_t phase = p->txns[txn].phase;

    txn++;
    // A backlog's transactions are all sent, so all are printed.
    while (pr->scenario->load[phase].closed && !(p->txns[txn - 1].flags & TXN_BACKLOG) &&
           txn < p->txn_count && p->txns[txn].phase == phase)
        txn++;
    return txn;
}

// Prints all events in the order of their times; of those of the same moment first the faults, then
// the inserts, then the changes. False when `out` has failed.
static bool print_merged(struct printer *pr)
{
    const struct plan *p = pr->plan;
    size_t t = 0, f = 0, c = 0; // the next transaction, fault and change

    while (!pr->out->failed) {
        int64_t txn_ns = t < p->txn_count ? p->txns[t].at_ns : INT64_MAX;
        int64_t fault_ns = f < p->fault_count ? p->faults[f].at_ns : INT64_MAX;
        int64_t change_ns = c < p->change_count ? p->changes[c].at_ns : INT64_MAX;
        if (f < p->fault_count && fault_ns <= txn_ns && fault_ns <= change_ns) {
            pr->fault(pr, &p->faults[f++]);
        } else if (t < p->txn_count && txn_ns <= change_ns) {
            pr->txn(pr, &p->txns[t], t);
            t = next_printed(pr, t);
        } else if (c < p->change_count) {
            pr->change(pr, &p->changes[c++]);
        } else {
            break;
        }
        pr->first = false;
    }
    return !pr->out->failed;
}

static void print_time(struct buf *out, int64_t ns)
{
    buf_printf(out, "%12.6f  ", (double)ns / 1e9);
}

// Prints "activation" for one token, "97 activation, 3 recovery" for several.
static void print_txn_kinds(struct printer *pr, const struct plan_txn *t)
{
    const uint8_t *kinds = pr->plan->kinds + t->first_token;
    size_t counts[TOKEN_KINDS] = {0};
    const char *before = "";

    for (size_t i = 0; i < t->rows; i++)
        counts[kinds[i]]++;
    for (enum token_kind k = 0; k < TOKEN_KINDS; k++) {
        if (counts[k] == 0)
            continue;
        if (t->rows == 1)
            buf_append_str(pr->out, token_kind_name(k));
        else
            buf_printf(pr->out, "%s%zu %s", before, counts[k], token_kind_name(k));
        before = ", ";
    }
}

static void print_txn(struct printer *pr, const struct plan_txn *t, size_t index)
{
    const struct load_phase *phase = &pr->scenario->load[t->phase];

    print_time(pr->out, t->at_ns);
    buf_printf(pr->out, "%s  txn %zu  token %" PRIu32,
        t->flags & TXN_BACKLOG ? "backlog" : "insert", index, t->first_token);
    if (t->rows > 1)
        buf_printf(pr->out, "-%" PRIu32, t->first_token + t->rows - 1);
    buf_append_str(pr->out, "  ");
    print_txn_kinds(pr, t);
    // Only a closed loop's first transaction is printed (next_printed). It speaks for the others.
    if (phase->closed && !(t->flags & TXN_BACKLOG))
        buf_printf(pr->out, "  and on, as fast as %d %s can, for %g s", phase->connections,
            NOUN(phase->connections, "connection", "connections"), (double)phase->for_ns / 1e9);
    if (t->flags & TXN_HOLD)
        buf_printf(pr->out, "  held %g s", (double)phase->hold_for_ns / 1e9);
    if (t->flags & TXN_ROLLBACK)
        buf_append_str(pr->out, "  rolled back");
    buf_append_char(pr->out, '\n');
}

static void print_change(struct printer *pr, const struct plan_change *c)
{
    print_time(pr->out, c->at_ns);
    buf_printf(pr->out, "change  token %" PRIu32 "  %s", c->token, change_kind_name(c->kind));
    if (c->kind == CHANGE_REACTIVATE)
        buf_printf(pr->out, "  after %g s", (double)c->back_ns / 1e9);
    buf_append_char(pr->out, '\n');
}

// Returns the name of the fault that this one collides with.
static const char *busy_with(const struct printer *pr, const struct plan_fault *f)
{
    return pr->scenario->faults[pr->plan->faults[f->busy - 1].spec].verb->name;
}

static void print_fault(struct printer *pr, const struct plan_fault *f)
{
    const struct fault_spec *spec = &pr->scenario->faults[f->spec];

    print_time(pr->out, f->at_ns);
    buf_printf(pr->out, "fault   %s", spec->verb->name);
    if (spec->verb->params & PARAM_TARGET)
        buf_printf(pr->out, "  target %s", fault_target_name(spec->target));
    if ((spec->verb->params & PARAM_INSTANCE) && spec->instance >= 0)
        buf_printf(pr->out, "  instance %d", spec->instance);
    if (f->end_ns > f->at_ns)
        buf_printf(pr->out, "  until %.6f", (double)f->end_ns / 1e9);
    if (spec->for_ns == FOR_REST)
        buf_append_str(pr->out, "  for the rest");
    if (f->busy)
        buf_printf(pr->out, "  left out: %s is at work", busy_with(pr, f));
    buf_append_char(pr->out, '\n');
}

bool plan_print(const struct plan *p, const struct scenario *s, struct buf *out)
{
    struct printer pr = {.plan = p,
        .scenario = s,
        .out = out,
        .txn = print_txn,
        .change = print_change,
        .fault = print_fault};

    buf_printf(out, "# %s, seed %" PRIu64 ": %s%zu %s in %zu %s, %zu %s, %g s of load\n", s->name,
        s->seed, scenario_has_closed_loop(s) ? "at most " : "", p->token_count,
        NOUN(p->token_count, "token", "tokens"), p->txn_count,
        NOUN(p->txn_count, "transaction", "transactions"), p->fault_count,
        NOUN(p->fault_count, "fault", "faults"), (double)p->load_ns / 1e9);
    return print_merged(&pr);
}

static int append_plan_json(const char *text, size_t len, void *data)
{
    return buf_append(data, text, len) ? 0 : -1;
}

// Appends a JSON value and frees it. NULL: a text in it is not UTF-8; `out` then fails.
static void put_json(struct printer *pr, json_t *value)
{
    buf_append_str(pr->out, pr->first ? "\n  " : ",\n  ");
    if (!value || json_dump_callback(value, append_plan_json, pr->out, JSON_COMPACT) != 0)
        pr->out->failed = true;
    json_decref(value);
}

static void put_json_txn(struct printer *pr, const struct plan_txn *t, size_t index)
{
    const uint8_t *kinds = pr->plan->kinds + t->first_token;
    const struct load_phase *phase = &pr->scenario->load[t->phase];
    json_t *names = json_array();

    for (size_t i = 0; i < t->rows; i++)
        json_array_append_new(names, json_string(token_kind_name(kinds[i])));
    json_t *txn = json_pack("{s:I, s:s, s:I, s:s, s:I, s:o, s:I, s:b}", "at_ns",
        (json_int_t)t->at_ns, "what", "insert", "txn", (json_int_t)index, "phase", phase->name,
        "first_token", (json_int_t)t->first_token, "tokens", names, "held_ns",
        (json_int_t)(t->flags & TXN_HOLD ? phase->hold_for_ns : 0), "rollback",
        (t->flags & TXN_ROLLBACK) != 0);

    // at_ns says nothing about a backlog, which is committed before the collector starts.
    if (txn && (t->flags & TXN_BACKLOG))
        json_object_set_new(txn, "backlog", json_true());
    if (txn && phase->closed && !(t->flags & TXN_BACKLOG))
        json_object_set_new(txn, "closed_loop", json_true());
    put_json(pr, txn);
}

static void put_json_change(struct printer *pr, const struct plan_change *c)
{
    json_t *change = json_pack("{s:I, s:s, s:I, s:s}", "at_ns", (json_int_t)c->at_ns, "what",
        "change", "token", (json_int_t)c->token, "do", change_kind_name(c->kind));

    if (c->kind == CHANGE_REACTIVATE)
        json_object_set_new(change, "back_ns", json_integer(c->back_ns));
    put_json(pr, change);
}

static void put_json_fault(struct printer *pr, const struct plan_fault *f)
{
    const struct fault_spec *spec = &pr->scenario->faults[f->spec];
    json_t *fault = json_pack("{s:I, s:s, s:s, s:I}", "at_ns", (json_int_t)f->at_ns, "what",
        "fault", "do", spec->verb->name, "end_ns", (json_int_t)f->end_ns);

    if (spec->verb->params & PARAM_TARGET)
        json_object_set_new(fault, "target", json_string(fault_target_name(spec->target)));
    if ((spec->verb->params & PARAM_INSTANCE) && spec->instance >= 0)
        json_object_set_new(fault, "instance", json_integer(spec->instance));
    if (spec->for_ns == FOR_REST)
        json_object_set_new(fault, "for_the_rest", json_true());
    if (f->busy)
        json_object_set_new(fault, "left_out_by", json_string(busy_with(pr, f)));
    put_json(pr, fault);
}

// Prints each entry as a JSON value of its own, between a head and an end that are plain text. So a
// long timeline is never in memory twice.
bool plan_print_json(const struct plan *p, const struct scenario *s, struct buf *out)
{
    struct printer pr = {.plan = p,
        .scenario = s,
        .out = out,
        .first = true,
        .txn = put_json_txn,
        .change = put_json_change,
        .fault = put_json_fault};

    // A scenario's name is made of letters, digits and '-' only.
    buf_printf(out,
        "{\"scenario\": \"%s\", \"seed\": %" PRIu64 ", \"tokens\": %zu, \"transactions\": %zu, "
        "\"faults\": %zu, \"load_ns\": %" PRId64 ", \"end_ns\": %" PRId64 ", \"timeline\": [",
        s->name, s->seed, p->token_count, p->txn_count, p->fault_count, p->load_ns, p->end_ns);
    print_merged(&pr);
    buf_append_str(out, "\n]}\n");
    return !out->failed;
}
