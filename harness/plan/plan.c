#include "plan/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "plan/arrivals.h"
#include "plan/rng.h"

// Every choice has numbers of its own, in every phase, so that changing one
// share or one phase leaves all other choices as they were.
enum stream {
    STREAM_ARRIVALS,
    STREAM_ROLLBACK,
    STREAM_HOLD,
    STREAM_UNSENDABLE,
    STREAM_INELIGIBLE,
    STREAM_RECOVERY,
    STREAM_VARIANT,
    STREAM_ROWS,
    STREAM_CONFLICT,
    STREAM_CHANGE,
    STREAM_CHANGE_AT,
    STREAM_CHANGE_BACK,
    STREAM_COUNT,
};

// Room for choices to come, so that they do not change the plans of old seeds.
#define STREAMS_PER_PHASE 32

// Each fault of the file has a stream of its own, behind those of all phases.
#define FAULT_STREAMS (1u << 20)
#define BACKLOG_STREAMS (1u << 21)

// The server, a delay, a throttle, silence of each direction; each of 64
// collectors and its reader.
#define LASTING_MAX (5 + 2 * 64)

// A token with a batch timeout of minutes changes no later than this.
static const int64_t wait_max_ns = NS_PER_S;

static const double conflict_share = 0.2; // of the upserts of activation tokens

struct maker {
    struct plan *plan;
    const struct load_phase *phase;
    uint8_t phase_index;
    int64_t phase_start_ns;
    int64_t wait_ns; // how long a token may wait, as far as is planned
    struct rng streams[STREAM_COUNT];
};

static bool check_size(const struct scenario *s, struct err *e);
static bool add_backlog(struct maker *m, uint64_t seed, struct err *e);
static bool add_phase(struct maker *m, struct err *e);
static int by_change_time(const void *a, const void *b);
static bool add_faults(struct plan *p, const struct scenario *s, struct err *e);
static void leave_out_collisions(struct plan *p, const struct scenario *s);

bool plan_make(struct plan *p, const struct scenario *s, struct err *e)
{
    struct maker m = {.plan = p, .wait_ns = clock_min(s->collector.batch_timeout_ns, wait_max_ns)};

    *p = (struct plan){.load_ns = scenario_load_ns(s)};
    p->end_ns = p->load_ns;
    bool ok = check_size(s, e);
    for (size_t i = 0; ok && i < s->load_count; i++) {
        m.phase = &s->load[i];
        m.phase_index = (uint8_t)i;
        if (s->load[i].backlog > 0)
            ok = add_backlog(&m, s->seed, e);
        for (size_t stream = 0; stream < STREAM_COUNT; stream++)
            rng_init(&m.streams[stream], s->seed, i * STREAMS_PER_PHASE + stream);
        ok = ok && add_phase(&m, e);
        m.phase_start_ns += s->load[i].for_ns;
    }
    if (ok && p->change_count > 0)
        qsort(p->changes, p->change_count, sizeof *p->changes, by_change_time);
    ok = ok && add_faults(p, s, e);
    if (ok)
        leave_out_collisions(p, s);
    else
        plan_fini(p);
    return ok;
}

void plan_fini(struct plan *p)
{
    free(p->txns);
    free(p->kinds);
    free(p->changes);
    free(p->faults);
    *p = (struct plan){0};
}

const char *change_kind_name(enum change_kind kind)
{
    static const char *const names[CHANGE_KINDS] = {
        [CHANGE_CONSUME] = "consume",
        [CHANGE_SUSPEND] = "suspend",
        [CHANGE_REACTIVATE] = "reactivate",
        [CHANGE_EXPIRE] = "expire",
        [CHANGE_DELETE] = "delete",
    };

    return names[kind];
}

const char *token_kind_name(enum token_kind kind)
{
    static const char *const names[TOKEN_KINDS] = {
        [TOKEN_ACTIVATION] = "activation",
        [TOKEN_RECOVERY] = "recovery",
        [TOKEN_EXPIRED] = "expired",
        [TOKEN_CONSUMED] = "consumed",
        [TOKEN_SUSPENDED] = "suspended",
        [TOKEN_SHORT_SECRET] = "short-secret",
        [TOKEN_WITHOUT_CODE] = "without-code",
        [TOKEN_BAD_NAME] = "bad-name",
        [TOKEN_CONFLICT] = "conflict",
    };

    return names[kind];
}

enum name_shape plan_name_shape(const struct plan *p, const struct plan_txn *txn, uint32_t token)
{
    // Neighbours are to differ in more than their last digit's way.
    uint32_t choice = (token * UINT32_C(2654435761)) >> 16;

    if (p->kinds[token] == TOKEN_BAD_NAME)
        return NAME_COMMA + choice % (NAME_SHAPES - NAME_COMMA);
    return txn->flags & TXN_HOSTILE ? choice % NAME_COMMA : NAME_PLAIN;
}

static bool too_many_tokens(struct err *e)
{
    return err_set(e, ERR_USAGE,
        "the scenario's rates and phases come to more than %u tokens, the most that a plan holds",
        PLAN_TOKENS_MAX);
}

static double planned_tokens(const struct load_phase *phase)
{
    double rate = phase->closed ? ARRIVALS_CLOSED_PER_S : (phase->rate_from + phase->rate_to) / 2;

    if (phase->arrivals == ARRIVALS_TRACE)
        return (double)phase->trace_count * phase->rows_to;
    return rate * ((double)phase->for_ns / 1e9);
}

// Refuses before any memory is taken; what chance adds is caught on the way.
static bool check_size(const struct scenario *s, struct err *e)
{
    double tokens = 0;

    for (size_t i = 0; i < s->load_count; i++)
        tokens += planned_tokens(&s->load[i]) + s->load[i].backlog;
    return tokens <= PLAN_TOKENS_MAX || too_many_tokens(e);
}

static bool no_memory(struct err *e)
{
    return err_set(e, ERR_INTERNAL, "out of memory for the plan");
}

static bool draw(struct maker *m, enum stream stream, double share)
{
    return rng_uniform(&m->streams[stream]) < share;
}

// The share of what is left after `taken` that makes `share` of the whole.
static double of_the_rest(double share, double taken)
{
    return taken < 1 ? share / (1 - taken) : 0;
}

static enum token_kind draw_kind(struct maker *m)
{
    const struct load_phase *phase = m->phase;
    double special = phase->unsendable + phase->ineligible;
    // All are drawn for every token, so that no choice shifts another's numbers.
    bool unsendable = draw(m, STREAM_UNSENDABLE, phase->unsendable);
    bool ineligible = draw(m, STREAM_INELIGIBLE, of_the_rest(phase->ineligible, phase->unsendable));
    bool recovery = draw(m, STREAM_RECOVERY, of_the_rest(phase->recovery, special));
    uint64_t variant = rng_next(&m->streams[STREAM_VARIANT]) >> 32;
    bool conflict = draw(m, STREAM_CONFLICT, phase->insert == INSERT_UPSERT ? conflict_share : 0);

    if (unsendable && phase->names == NAMES_HOSTILE && variant / 2 % 2 == 0)
        return TOKEN_BAD_NAME;
    if (unsendable)
        return variant % 2 == 0 ? TOKEN_SHORT_SECRET : TOKEN_WITHOUT_CODE;
    if (ineligible)
        return (enum token_kind)(TOKEN_EXPIRED + variant % 3);
    return recovery ? TOKEN_RECOVERY : conflict ? TOKEN_CONFLICT : TOKEN_ACTIVATION;
}

static size_t draw_rows(struct maker *m)
{
    uint64_t choice = (uint64_t)(m->phase->rows_to - m->phase->rows_from) + 1;

    return (size_t)m->phase->rows_from + rng_below(&m->streams[STREAM_ROWS], choice);
}

// The kind of a token's change; CHANGE_KINDS: it stays as it is.
static enum change_kind draw_change(struct maker *m)
{
    const struct load_phase *p = m->phase;
    const double shares[CHANGE_KINDS] = {
        p->consume, p->suspend, p->reactivate, p->expire, p->delete};
    double at = rng_uniform(&m->streams[STREAM_CHANGE]);
    enum change_kind kind = 0;

    while (kind < CHANGE_KINDS && at >= shares[kind])
        at -= shares[kind++];
    return kind;
}

static int64_t draw_wait_ns(struct maker *m, enum stream stream)
{
    return (int64_t)(rng_uniform(&m->streams[stream]) * (double)m->wait_ns);
}

// Drawn for every token, and kept for those that would come out.
static bool add_change(struct maker *m, const struct plan_txn *txn, uint32_t token, struct err *e)
{
    struct plan *p = m->plan;
    struct plan_change change = {.at_ns = txn->at_ns + draw_wait_ns(m, STREAM_CHANGE_AT),
        .back_ns = draw_wait_ns(m, STREAM_CHANGE_BACK),
        .token = token,
        .kind = (uint8_t)draw_change(m)};

    if (change.kind == CHANGE_KINDS || !token_kind_deliverable(p->kinds[token]) ||
        (txn->flags & (TXN_ROLLBACK | TXN_BACKLOG)))
        return true;
    if (txn->flags & TXN_HOLD)
        change.at_ns += m->phase->hold_for_ns;
    if (change.kind != CHANGE_REACTIVATE)
        change.back_ns = 0;
    if (!array_grow(&p->changes, p->change_count, 1, sizeof change))
        return no_memory(e);
    p->changes[p->change_count++] = change;
    return true;
}

static int by_change_time(const void *a, const void *b)
{
    const struct plan_change *x = a, *y = b;

    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

static bool add_rows(struct maker *m, int64_t at_ns, size_t rows, unsigned flags, struct err *e)
{
    struct plan *p = m->plan;

    if (p->token_count + rows > PLAN_TOKENS_MAX)
        return too_many_tokens(e);
    if (!array_grow(&p->txns, p->txn_count, 1, sizeof *p->txns) ||
        !array_grow(&p->kinds, p->token_count, rows, sizeof *p->kinds))
        return no_memory(e);

    struct plan_txn *t = &p->txns[p->txn_count++];
    *t = (struct plan_txn){
        .at_ns = m->phase_start_ns + at_ns,
        .first_token = (uint32_t)p->token_count,
        .rows = (uint16_t)rows,
        .phase = m->phase_index,
        .flags = (uint8_t)(flags | (m->phase->names == NAMES_HOSTILE ? TXN_HOSTILE : 0)),
    };
    for (size_t i = 0; i < rows; i++) {
        uint32_t token = (uint32_t)p->token_count++;
        p->kinds[token] = (uint8_t)draw_kind(m);
        if (!add_change(m, t, token, e))
            return false;
    }
    return true;
}

static bool add_txn(struct maker *m, int64_t at_ns, struct err *e)
{
    size_t rows = draw_rows(m);
    unsigned flags = draw(m, STREAM_ROLLBACK, m->phase->rollback) ? TXN_ROLLBACK : 0;

    flags |= draw(m, STREAM_HOLD, m->phase->hold_share) ? TXN_HOLD : 0;
    return add_rows(m, at_ns, rows, flags, e);
}

// With numbers of its own, so that the load behind it stays the same.
static bool add_backlog(struct maker *m, uint64_t seed, struct err *e)
{
    size_t left = (size_t)m->phase->backlog;

    for (size_t stream = 0; stream < STREAM_COUNT; stream++)
        rng_init(&m->streams[stream], seed, BACKLOG_STREAMS + stream);
    while (left > 0) {
        size_t rows = draw_rows(m);
        rows = rows < left ? rows : left;
        if (!add_rows(m, 0, rows, TXN_BACKLOG, e))
            return false;
        left -= rows;
    }
    return true;
}

static bool add_phase(struct maker *m, struct err *e)
{
    struct arrivals_source source;
    int64_t at_ns;

    arrivals_init(&source, m->phase, m->streams[STREAM_ARRIVALS]);
    while (arrivals_next(&source, &at_ns))
        if (!add_txn(m, at_ns, e))
            return false;
    return true;
}

static size_t occurrences(const struct fault_spec *f)
{
    return f->every_ns == 0 ? 1 : (size_t)((f->until_ns - f->at_ns) / f->every_ns) + 1;
}

// Of two faults at one moment the one that stands first in the file comes first.
static int by_time(const void *a, const void *b)
{
    const struct plan_fault *x = a, *y = b;

    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return x->spec < y->spec ? -1 : x->spec > y->spec;
}

// The n-th time of a repeated fault, which no jitter brings to after its last.
static int64_t fault_at_ns(const struct fault_spec *f, size_t n, struct rng *rng)
{
    int64_t at_ns = f->at_ns + (int64_t)n * f->every_ns;
    bool jitters = f->every_ns > 0 && f->jitter_ns > 0 && !(f->verb->params & PARAM_JITTER);

    if (jitters)
        at_ns += (int64_t)rng_below(rng, (uint64_t)(f->jitter_ns / NS_PER_US) + 1) * NS_PER_US;
    return jitters ? clock_min(at_ns, f->until_ns) : at_ns;
}

static void add_fault(struct plan *p, const struct scenario *s, uint32_t spec)
{
    const struct fault_spec *f = &s->faults[spec];
    struct rng rng;

    rng_init(&rng, s->seed, FAULT_STREAMS + spec);
    for (size_t n = 0; n < occurrences(f); n++) {
        int64_t at_ns = fault_at_ns(f, n, &rng);
        p->faults[p->fault_count++] =
            (struct plan_fault){.at_ns = at_ns, .end_ns = at_ns + plan_lasts_ns(f), .spec = spec};
        if (at_ns + plan_lasts_ns(f) > p->end_ns)
            p->end_ns = at_ns + plan_lasts_ns(f);
    }
}

static bool add_faults(struct plan *p, const struct scenario *s, struct err *e)
{
    size_t count = 0;

    for (size_t i = 0; i < s->fault_count; i++) {
        count += occurrences(&s->faults[i]);
        if (count > PLAN_FAULTS_MAX)
            return err_set(e, ERR_USAGE,
                "the scenario comes to more than %u faults, the most that a plan holds",
                PLAN_FAULTS_MAX);
    }
    p->faults = calloc(count + 1, sizeof *p->faults);
    if (!p->faults)
        return err_set(e, ERR_SYSTEM, "out of memory for the plan");
    for (size_t i = 0; i < s->fault_count; i++)
        add_fault(p, s, (uint32_t)i);
    qsort(p->faults, p->fault_count, sizeof *p->faults, by_time);
    return true;
}

int64_t plan_lasts_ns(const struct fault_spec *f)
{
    return f->for_ns == FOR_REST ? 0 : f->for_ns;
}

static bool meet_at_instance(const struct fault_spec *a, const struct fault_spec *b)
{
    return a->instance < 0 || b->instance < 0 || a->instance == b->instance;
}

static bool is_one_of(const struct fault_spec *f, enum verb_id one, enum verb_id other)
{
    return f->verb->id == one || f->verb->id == other;
}

bool plan_collide(const struct fault_spec *a, const struct fault_spec *b)
{
    // One server cannot be stopped while it is away already.
    if (a->verb->stops_server)
        return b->verb->stops_server;
    switch (a->verb->id) {
    case VERB_DELAY:
    case VERB_THROTTLE:
    case VERB_SLOW_DISK:
        return a->verb->id == b->verb->id;
    case VERB_PARTITION:
    case VERB_HALF_OPEN:
        return is_one_of(b, VERB_PARTITION, VERB_HALF_OPEN) &&
               (a->verb->id == VERB_PARTITION || b->verb->id == VERB_PARTITION ||
                   a->direction == b->direction);
    case VERB_PAUSE_COLLECTOR:
        // A collector that stands still cannot obey stop-collector.
        return (is_one_of(b, VERB_PAUSE_COLLECTOR, VERB_CLOSE_READER) ||
                   b->verb->id == VERB_STOP_COLLECTOR) &&
               meet_at_instance(a, b);
    case VERB_CLOSE_READER: // lets the collector go on
        return is_one_of(b, VERB_PAUSE_COLLECTOR, VERB_CLOSE_READER) && meet_at_instance(a, b);
    case VERB_PAUSE_READER:
    case VERB_SLOW_READER:
        return is_one_of(b, VERB_PAUSE_READER, VERB_SLOW_READER) && meet_at_instance(a, b);
    case VERB_PAUSE_SENDER:
    case VERB_HANG_SENDER:
        return is_one_of(b, VERB_PAUSE_SENDER, VERB_HANG_SENDER) && meet_at_instance(a, b);
    default:
        return false;
    }
}

static bool is_remembered(const struct scenario *s, const struct plan_fault *f)
{
    const struct fault_spec *spec = &s->faults[f->spec];

    return plan_collide(spec, spec) && f->end_ns > f->at_ns;
}

static void leave_out_collisions(struct plan *p, const struct scenario *s)
{
    // Faults that last and could collide. Those kept so far do not, so they are few.
    const struct plan_fault *lasting[LASTING_MAX];
    size_t count = 0;

    for (size_t i = 0; i < p->fault_count; i++) {
        struct plan_fault *f = &p->faults[i];
        size_t kept = 0;
        for (size_t j = 0; j < count; j++) {
            if (lasting[j]->end_ns <= f->at_ns)
                continue;
            lasting[kept++] = lasting[j];
            if (plan_collide(&s->faults[lasting[j]->spec], &s->faults[f->spec]))
                f->busy = (uint32_t)(lasting[j] - p->faults) + 1;
        }
        count = kept;
        if (!f->busy && is_remembered(s, f)) {
            assert(count < LASTING_MAX);
            lasting[count++] = f;
        }
    }
}
