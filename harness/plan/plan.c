// Makes the plan. The same seed gives the same plan on every machine.
//
// Nothing reads a clock. Each choice (arrivals, rollback, hold, kind) draws from a random stream of
// its own in each phase, and draws even if its share is zero. So raising `rollback` from 0 to 0.1
// moves no insert. The compiler may not contract multiplications (see CMakeLists.txt), because
// the last digit of an arrival would then depend on the machine.
#include "plan/plan.h"

#include "plan/arrivals.h"
#include "plan/rng.h"

// The choices that draw random numbers, each from a stream of its own in each phase (rng_init).
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
    STREAM_ACCOUNT,
    STREAM_COUNT,
};

// Phase i has the stream numbers from i * STREAMS_PER_PHASE on. There are more than STREAM_COUNT,
// so that a choice which is added later does not change the plans of old seeds.
#define STREAMS_PER_PHASE 32

// The first stream number of the backlog, above those of all phases and all faults (FAULT_STREAMS
// in plan_faults.c).
#define BACKLOG_STREAMS (1u << 21)

// A change is planned at most this long after the commit, even if the batch timeout is longer.
static const int64_t change_within_max_ns = NS_PER_S;

// A code is the token's number modulo this. So two tokens of one account have different codes if
// their numbers differ by less than this.
#define CODES 100000u

#define RECENT_ACCOUNTS 8

// The share of the activations in upserts (insert: upsert) whose account exists already.
static const double conflict_share = 0.2;

struct maker {
    struct plan *plan;
    const struct load_phase *phase;
    uint8_t phase_index;
    int64_t phase_start_ns;
    int64_t change_within_ns;         // longest wait before a change, and before its second half
    struct rng streams[STREAM_COUNT]; // of the present phase, or of its backlog
    uint32_t recent[RECENT_ACCOUNTS]; // accounts of this phase that may get a further token
    size_t recent_count;
};

static bool check_size(const struct scenario *s, struct err *e);
static bool add_backlog(struct maker *m, uint64_t seed, struct err *e);
static bool add_plan_phase(struct maker *m, struct err *e);
static int by_change_time(const void *a, const void *b);

bool plan_make(struct plan *p, const struct scenario *s, struct err *e)
{
    struct maker m = {.plan = p,
        .change_within_ns = clock_min(s->collector.batch_timeout_ns, change_within_max_ns)};

    *p = (struct plan){.load_ns = scenario_load_ns(s)};
    p->end_ns = p->load_ns;
    bool ok = check_size(s, e);
    for (size_t i = 0; ok && i < s->load_count; i++) {
        m.phase = &s->load[i];
        m.phase_index = (uint8_t)i;
        // This comes before the load, whose streams then replace the backlog's in m.streams.
        if (s->load[i].backlog > 0)
            ok = add_backlog(&m, s->seed, e);
        for (size_t stream = 0; stream < STREAM_COUNT; stream++)
            rng_init(&m.streams[stream], s->seed, i * STREAMS_PER_PHASE + stream);
        m.recent_count = 0;
        ok = ok && add_plan_phase(&m, e);
        m.phase_start_ns += s->load[i].for_ns;
    }
    if (ok && p->change_count > 0)
        qsort(p->changes, p->change_count, sizeof *p->changes, by_change_time);
    ok = ok && plan_add_faults(p, s, e);
    if (!ok)
        plan_fini(p);
    return ok;
}

void plan_fini(struct plan *p)
{
    free(p->txns);
    free(p->kinds);
    free(p->accounts);
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
        [CHANGE_EMAIL] = "email",
        [CHANGE_LOGIN] = "login",
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
        [TOKEN_ACTIVE] = "active",
        [TOKEN_PROVISIONED] = "provisioned",
    };

    return names[kind];
}

enum name_shape plan_name_shape(const struct plan *p, const struct plan_txn *txn, uint32_t account)
{
    // Multiplicative hashing (the factor is 2^32 over the golden ratio) scatters the shapes, so
    // that neighbouring accounts get different ones.
    uint32_t choice = (account * UINT32_C(2654435761)) >> 16;

    if (p->kinds[account] == TOKEN_BAD_NAME)
        return NAME_COMMA + choice % (NAME_SHAPES - NAME_COMMA);
    // Every load has some mixed names, because a careless collector would change these on the way,
    // for example by escaping a sign.
    enum name_shape simple = choice % 8 == 0 ? NAME_MIXED : NAME_PLAIN;
    return txn->flags & TXN_HOSTILE ? choice % NAME_COMMA : simple;
}

void plan_names(
    const struct plan *p, const struct plan_txn *txn, uint32_t token, struct names *names)
{
    uint32_t account = plan_account(p, token);

    // The account may come from an earlier transaction, but only from one of the same phase, and
    // all transactions of a phase agree in TXN_HOSTILE. So `txn` serves as well as the account's
    // own.
    names_make(names, account, p->segment, plan_name_shape(p, txn, account));
}

bool plan_code(const struct plan *p, uint32_t token, char code[PLAN_CODE_SIZE])
{
    snprintf(code, PLAN_CODE_SIZE, "%05u", token % CODES);
    return !plan_has_own_account(p, token);
}

uint32_t plan_token_with_code(
    const struct plan *p, uint32_t account, const char *code, size_t code_len)
{
    char digits[PLAN_CODE_SIZE] = "";

    if (account >= p->token_count || plan_has_own_account(p, account) ||
        code_len != PLAN_CODE_SIZE - 1)
        return account;
    memcpy(digits, code, code_len);
    uint32_t number = (uint32_t)strtoul(digits, NULL, 10);
    // The numbers of an account's tokens exceed the first token's by less than CODES, so the code
    // tells by how much.
    number = account + (number + CODES - account % CODES) % CODES;
    return number < p->token_count && p->accounts[number] == account ? number : account;
}

bool plan_token(const struct plan *p, const char *login, size_t login_len, const char *code,
    size_t code_len, uint32_t *token)
{
    uint32_t account, segment;

    if (!names_token(login, login_len, &account, &segment) || segment != p->segment ||
        account >= p->token_count)
        return false;
    *token = plan_token_with_code(p, account, code, code_len);
    return true;
}

static bool too_many_tokens(struct err *e)
{
    return err_set(e, ERR_USAGE,
        "the scenario's rates and phases come to more than %u tokens, the most that a plan holds",
        PLAN_TOKENS_MAX);
}

// Returns how many tokens a phase has on average, without its backlog.
static double estimate_tokens(const struct load_phase *phase)
{
    double rate = phase->closed ? ARRIVALS_CLOSED_PER_S : (phase->rate_from + phase->rate_to) / 2;

    if (phase->arrivals == ARRIVALS_TRACE)
        return (double)phase->trace_count * (phase->rows_from + phase->rows_to) / 2;
    return rate * ((double)phase->for_ns / 1e9);
}

// Fails when the plan would hold too many tokens, by an estimate made before any memory is taken.
// Random arrivals may come to more than the estimate, so add_rows checks again.
static bool check_size(const struct scenario *s, struct err *e)
{
    double tokens = 0;

    for (size_t i = 0; i < s->load_count; i++)
        tokens += estimate_tokens(&s->load[i]) + s->load[i].backlog;
    return tokens <= PLAN_TOKENS_MAX || too_many_tokens(e);
}

static bool draw_share(struct maker *m, enum stream stream, double share)
{
    return rng_uniform(&m->streams[stream]) < share;
}

// Converts a share of the whole into a share of what is left when `taken` of the whole is gone.
static double of_the_rest(double share, double taken)
{
    return taken < 1 ? share / (1 - taken) : 0;
}

// Draws the kind of a token. The phase's shares are of all tokens, but the choices are made one
// after another, so each later share is converted by of_the_rest.
static enum token_kind draw_kind(struct maker *m)
{
    static const enum token_kind ineligibles[] = {
        TOKEN_EXPIRED, TOKEN_CONSUMED, TOKEN_SUSPENDED, TOKEN_ACTIVE, TOKEN_PROVISIONED};
    const struct load_phase *phase = m->phase;
    double special = phase->unsendable + phase->ineligible;
    // Draws every choice for every token, even where it is not used, so that a changed share does
    // not shift the random numbers of later tokens.
    bool unsendable = draw_share(m, STREAM_UNSENDABLE, phase->unsendable);
    bool ineligible =
        draw_share(m, STREAM_INELIGIBLE, of_the_rest(phase->ineligible, phase->unsendable));
    bool recovery = draw_share(m, STREAM_RECOVERY, of_the_rest(phase->recovery, special));
    uint64_t variant = rng_next(&m->streams[STREAM_VARIANT]) >> 32;
    bool conflict =
        draw_share(m, STREAM_CONFLICT, phase->insert == INSERT_UPSERT ? conflict_share : 0);

    // This choice and the next one each take a bit of their own. With one bit for both, the second
    // would always have the same result.
    if (unsendable && phase->names == NAMES_HOSTILE && variant / 2 % 2 == 0)
        return TOKEN_BAD_NAME;
    if (unsendable)
        return variant % 2 == 0 ? TOKEN_SHORT_SECRET : TOKEN_WITHOUT_CODE;
    if (ineligible)
        return ineligibles[variant % (sizeof ineligibles / sizeof *ineligibles)];
    if (recovery)
        return TOKEN_RECOVERY;
    return conflict ? TOKEN_CONFLICT : TOKEN_ACTIVATION;
}

// Draws the number of tokens of a transaction, between the phase's two limits.
static size_t draw_rows(struct maker *m)
{
    uint64_t choice = (uint64_t)(m->phase->rows_to - m->phase->rows_from) + 1;

    return (size_t)m->phase->rows_from + rng_below(&m->streams[STREAM_ROWS], choice);
}

// Returns how a token changes while it waits; CHANGE_KINDS: it does not change.
static enum change_kind draw_change(struct maker *m)
{
    const struct load_phase *p = m->phase;
    const double shares[CHANGE_KINDS] = {
        p->consume, p->suspend, p->reactivate, p->expire, p->delete, p->email, p->login};
    // The kinds lie one behind the other between 0 and 1, each as long as its share. The draw falls
    // on one of them, or behind all of them.
    double at = rng_uniform(&m->streams[STREAM_CHANGE]);
    enum change_kind kind = 0;

    while (kind < CHANGE_KINDS && at >= shares[kind])
        at -= shares[kind++];
    return kind;
}

// Draws a time between 0 and m->change_within_ns.
static int64_t draw_wait_ns(struct maker *m, enum stream stream)
{
    return (int64_t)(rng_uniform(&m->streams[stream]) * (double)m->change_within_ns);
}

static bool shares_accounts(const struct load_phase *phase)
{
    return phase->tokens_per_account > 1;
}

// Returns the account of a recovery token, named by the account's first token. It is a new account
// with probability 1 / tokens_per_account, else one of m->recent at random. So some tokens of an
// account wait together, and others come later.
static uint32_t draw_account(struct maker *m, uint32_t token)
{
    struct rng *rng = &m->streams[STREAM_ACCOUNT];
    bool again = rng_uniform(rng) * m->phase->tokens_per_account >= 1 && m->recent_count > 0;
    size_t choice = rng_below(rng, RECENT_ACCOUNTS);
    uint32_t *recent = &m->recent[choice < m->recent_count ? choice : 0];

    // A token CODES or more behind the first could have the code of another token of the account.
    if (again && token - *recent < CODES)
        return *recent;
    // The new account takes a free place among the recent ones, or that of an older account.
    recent = &m->recent[m->recent_count < RECENT_ACCOUNTS ? m->recent_count++ : choice];
    *recent = token;
    return token;
}

// Sets the account of this token. The array is made in the first phase whose tokens share accounts;
// all tokens before that get ACCOUNT_OWN. Only recoveries share accounts, because each activation
// inserts an account of its own.
static void add_account(struct maker *m, uint32_t token)
{
    struct plan *p = m->plan;

    if (!p->accounts && !shares_accounts(m->phase))
        return;
    size_t count = p->accounts ? token : 0;
    memory_grow(&p->accounts, count, token + 1 - count, sizeof *p->accounts);
    for (size_t i = count; i <= token; i++)
        p->accounts[i] = ACCOUNT_OWN;
    if (shares_accounts(m->phase) && p->kinds[token] == TOKEN_RECOVERY)
        p->accounts[token] = draw_account(m, token);
}

// Draws a change for every token, so that a token without one does not shift the draws of those
// after it. Adds the change if the token would be delivered, is not of the backlog, and has an
// account of its own: in a shared account the other tokens would change, too.
static void add_change(struct maker *m, const struct plan_txn *txn, uint32_t token)
{
    struct plan *p = m->plan;
    struct plan_change change = {.at_ns = txn->at_ns + draw_wait_ns(m, STREAM_CHANGE_AT),
        .back_ns = draw_wait_ns(m, STREAM_CHANGE_BACK),
        .token = token,
        .kind = (uint8_t)draw_change(m)};

    bool delivered = token_kind_deliverable(p->kinds[token]) && !(txn->flags & TXN_ROLLBACK);
    if (change.kind == CHANGE_KINDS || !delivered || (txn->flags & TXN_BACKLOG) ||
        !plan_has_own_account(p, token))
        return;
    if (txn->flags & TXN_HOLD)
        change.at_ns += m->phase->hold_for_ns;
    // Only CHANGE_REACTIVATE has a second half, in which the account comes back.
    if (change.kind != CHANGE_REACTIVATE)
        change.back_ns = 0;
    memory_grow(&p->changes, p->change_count, 1, sizeof change);
    p->changes[p->change_count++] = change;
}

static int by_change_time(const void *a, const void *b)
{
    const struct plan_change *x = a, *y = b;

    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

// Adds a transaction of `rows` tokens; at_ns counts from the phase's start. False with too many
// tokens.
static bool add_rows(struct maker *m, int64_t at_ns, size_t rows, unsigned flags, struct err *e)
{
    struct plan *p = m->plan;

    // Checked here again, because only the arrivals tell how many tokens the plan has.
    if (p->token_count + rows > PLAN_TOKENS_MAX)
        return too_many_tokens(e);
    memory_grow(&p->txns, p->txn_count, 1, sizeof *p->txns);
    memory_grow(&p->kinds, p->token_count, rows, sizeof *p->kinds);

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
        add_account(m, token);
        add_change(m, t, token);
    }
    return true;
}

// Adds a transaction of the load at at_ns, counted from the phase's start. Draws its number of
// tokens, and whether it is rolled back and held open.
static bool add_txn(struct maker *m, int64_t at_ns, struct err *e)
{
    size_t rows = draw_rows(m);
    unsigned flags = draw_share(m, STREAM_ROLLBACK, m->phase->rollback) ? TXN_ROLLBACK : 0;

    flags |= draw_share(m, STREAM_HOLD, m->phase->hold_share) ? TXN_HOLD : 0;
    return add_rows(m, at_ns, rows, flags, e);
}

// Adds the phase's backlog. It draws from streams of its own, so that a backlog does not change the
// load that follows.
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

// Adds the transactions of the phase, at the times that its rate gives.
static bool add_plan_phase(struct maker *m, struct err *e)
{
    struct arrivals_source source;
    int64_t at_ns;

    arrivals_init(&source, m->phase, m->streams[STREAM_ARRIVALS]);
    while (arrivals_next(&source, &at_ns))
        if (!add_txn(m, at_ns, e))
            return false;
    return true;
}
