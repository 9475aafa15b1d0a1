// Each collector has a number, and its session holds the lock of that number. A collector whose
// lock is free has lost its session, and may come back within the grace. A collector hangs if it
// holds its lock and has something in hand, but has not renewed its lease for as long as a lease
// lasts. owners.h times both by our own clock, and the second only while we watch.
#include "loop/peers.h"

#include "base/log.h"
#include "loop/bell_requests.h"
#include "loop/settle.h"
#include "loop/take.h"
#include "loop/work.h"
#include "queue/queue_lines.h"
#include "session/column.h"

#define LOOK_NS (100 * NS_PER_MS) // between two looks while some owner may have to be freed
#define IDLE_NS NS_PER_S          // between two looks at others that have nothing in hand
#define INVALID_TEXT "22P02"      // the server says that the name of the queue is no job_type

// The columns of the answer of mailroom_peers. Row 0 tells of the queue and of us, in the columns
// up to ADOPTED, which counts the tokens that were taken over from others. Each further row tells
// of another collector, in the columns after ADOPTED.
enum {
    STATE,
    EPOCH,
    HOLDER,
    PROGRESS,
    WAITS,
    LANES,
    ADOPTED,
    OTHER,
    RENEWED,
    ALIVE,
    BUSY,
    COLUMNS
};

// False: the answer has other rows or columns than mailroom_peers gives.
static bool check_columns(const PGresult *r, struct err *e)
{
    return (PQntuples(r) >= 1 && PQnfields(r) == COLUMNS) ||
           err_set(e, ERR_SCHEMA, "mailroom_peers does not answer as migrations/000021 made it");
}

void peers_restart(struct collector *c)
{
    bool recorded = c->peers.recorded;

    c->peers =
        (struct peers){.recorded = recorded, .renewed_ns = c->now_ns, .look_at_ns = c->now_ns};
}

bool peers_join(struct collector *c, bool new_cursor, struct err *e)
{
    const struct config *cfg = c->config;
    struct run run = {.host = ""};

    gethostname(run.host, sizeof run.host - 1);
    snprintf(run.settings, sizeof run.settings,
        "limit %" PRId64 ", timeout %s%" PRId64 " ms, in flight %" PRId64 ", attempts %" PRId64,
        cfg->batch_limit, cfg->batch_least_ms > 0 ? "up to " : "", cfg->batch_timeout_ms,
        cfg->leased.in_flight, cfg->leased.attempts);
    enum turn_claim claim = turn_claim(c);
    c->peers.makes_cursor = new_cursor;
    return queue_send_join(&c->queue, &c->link.session,
        &(struct peers_request){.new_cursor = new_cursor,
            .renew = true,
            // Names the holder that we may displace. mailroom_peers refuses if another collector is
            // the holder by then.
            .over = claim == CLAIM_GRACE ? c->queue.seen.holder : NULL,
            .hung = claim == CLAIM_LEASE ? c->queue.seen.epoch : 0,
            // The history of runs has one row for each process, not one for each session.
            .run = c->peers.recorded ? NULL : &run},
        // To make a new cursor all waiting tokens are read, which may take any time.
        new_cursor ? CLOCK_NEVER : work_deadline_ns(c), e);
}

// Begins to serve, because the answer says that the queue is ours, or that we have joined it.
static void joined(struct collector *c, const PGresult *r)
{
    int64_t adopted = column_int64(r, 0, ADOPTED);

    c->queue.lanes = strchr(PQgetvalue(r, 0, LANES), ',') != NULL;
    c->queue.epoch = column_int64(r, 0, EPOCH);
    c->peers.recorded = true;
    if (c->peers.makes_cursor && c->queue.policy->exclusive)
        log_line("QUEUE", "made a new cursor; %" PRId64 " %s", adopted,
            NOUN(adopted, "token waits", "tokens wait"));
    else if (adopted > 0)
        log_line("QUEUE", "delivering %" PRId64 " %s that others had taken", adopted,
            NOUN(adopted, "token", "tokens"));
    turn_begin(c);
    peers_restart(c);
    settle_restart(c);
    take_restart(c);
}

// Stands by: notes what the answer tells of the holder. `free`: as in turn_watch.
static void watch_holder(struct collector *c, const PGresult *r, bool free)
{
    struct seen seen = {.epoch = column_int64(r, 0, EPOCH),
        .progress = column_int64(r, 0, PROGRESS),
        .waits = *PQgetvalue(r, 0, WAITS) != 0};

    snprintf(seen.holder, sizeof seen.holder, "%s", PQgetvalue(r, 0, HOLDER));
    turn_watch(c, free, &seen);
}

bool peers_on_join(struct collector *c, const PGresult *r, struct err *e)
{
    // Unless the answer below says something else, we ask again at once.
    c->turn.step = TURN_WATCH;
    c->turn.look_at_ns = c->now_ns;
    if (!session_check(r, e))
        return strcmp(e->sqlstate, INVALID_TEXT) == 0 ? queue_fail_unknown(c->queue.name, e)
                                                      : false;
    if (!check_columns(r, e))
        return false;
    const char *state = PQgetvalue(r, 0, STATE);
    bool is_new = strcmp(state, "new") == 0, moved = strcmp(state, "moved") == 0,
         free = strcmp(state, "free") == 0, held = strcmp(state, "held") == 0;
    if (strcmp(state, "unknown") == 0)
        return queue_fail_unknown(c->queue.name, e);
    // Any other state is the name of the mode that the queue is used in.
    if (strcmp(state, "ours") != 0 && !is_new && !moved && !free && !held)
        return queue_fail_other_mode(&c->queue, state, e);
    // A queue that is new has no lanes yet.
    if (PQgetvalue(r, 0, LANES)[0] != '\0' &&
        !queue_check_lanes(c->queue.lanes_wanted, PQgetvalue(r, 0, LANES), e))
        return false;
    if (free || held) {
        watch_holder(c, r, free);
        return true;
    }
    if (!is_new && !moved) {
        joined(c, r);
        return true;
    }
    // The cursor has to be made first, so we join once more, and let that take any time.
    c->turn.step = TURN_ASKED;
    log_line("QUEUE", "%s",
        is_new ? "first start on this queue; making its cursor"
               : "the database came from another cluster; making a new cursor");
    return queue_send_patience(&c->queue, &c->link.session, true, e) && peers_join(c, true, e) &&
           queue_send_patience(&c->queue, &c->link.session, false, e);
}

// --- the others ---------------------------------------------------------------------

// True while a line, a row or an answer is in hand that the database does not know to be done.
static bool holds_something(const struct collector *c)
{
    return settle_in_hand(c) || settle_pending(c) || c->settle.giving_back;
}

// True while others must see that we live, so that our lease must be renewed: something is in hand
// or, where one works at a time, tokens wait, or may wait without our knowing.
static bool shows_life(const struct collector *c)
{
    return holds_something(c) || c->settle.lock_count > 0 ||
           (c->queue.policy->exclusive &&
               (window_due_ns(&c->window) != CLOCK_NEVER || c->take.budget_ns > c->now_ns ||
                   !output_ready(&c->sender.output) || bell_request_polls(c)));
}

// Returns when to look at the other collectors; CLOCK_NEVER: not at all.
static int64_t look_due_ns(const struct collector *c)
{
    const struct peers *p = &c->peers;

    if (c->queue.policy->exclusive)
        return CLOCK_NEVER;
    // Another one has something in hand, or is gone and may have left something. Or we have asked
    // for tokens since our last look, and a look costs little beside that.
    if (owners_need_looks(&p->others) || c->take.asked_ns > p->look_sent_ns)
        return p->look_at_ns;
    // We sleep. Where lines are answered, a token comes due again without an announcement, so
    // another may have taken something since our last look.
    return c->queue.policy->answers && p->others.n > 0 ? p->others.looked_ns + IDLE_NS
                                                       : CLOCK_NEVER;
}

bool peers_step(struct collector *c, struct err *e)
{
    struct peers *p = &c->peers;
    int64_t due_ns = look_due_ns(c), renew_ns = CLOCK_NEVER;

    if (shows_life(c))
        renew_ns = clock_max(p->renewed_ns + work_lease_ns(c->config) / 3, p->retry_at_ns);
    else // while we need not show life, our lease does not run out
        p->renewed_ns = c->now_ns;
    due_ns = clock_min(due_ns, renew_ns);
    if (session_awaits(&c->link.session, QUEUE_PEERS))
        return true;
    if (c->now_ns < due_ns) {
        work_wake_at(c, due_ns);
        return true;
    }
    // We stood still for longer than a lease lasts: others may have taken us for dead. A new
    // session asks which lines are still ours. Where lines are not answered, that is not needed,
    // because settling a line tells whether it is still ours.
    if (c->queue.policy->answers && holds_something(c) &&
        c->now_ns - p->renewed_ns > work_lease_ns(c->config))
        return err_set(e, ERR_CONNECTION, "we have not renewed our lease in time");
    struct owner *gone = owners_due(
        &p->others, c->config->grace_ms * NS_PER_MS, work_lease_ns(c->config), c->now_ns);
    p->freeing = gone ? *gone : (struct owner){0};
    p->look_sent_ns = c->now_ns;
    p->look_at_ns = c->now_ns + LOOK_NS;
    bool renew = c->now_ns >= renew_ns;
    p->asked_ns = renew ? c->now_ns : 0;
    return queue_send_peers(&c->queue, &c->link.session,
        &(struct peers_request){.renew = renew, .gone = gone}, work_deadline_ns(c), e);
}

// Logs that the tokens of the owner in `freeing` were freed.
static void log_freed(const struct collector *c, int64_t tokens)
{
    const struct owner *freed = &c->peers.freeing;
    const char *noun = NOUN(tokens, "token", "tokens");

    if (c->queue.policy->answers)
        log_line("QUEUE", "freed %" PRId64 " %s of collector %" PRId64 ": %s", tokens, noun,
            freed->number, freed->alive ? "it does not renew its lease" : "it is gone");
    else
        log_line("QUEUE", "delivering %" PRId64 " %s of another collector, which %s", tokens, noun,
            freed->alive ? "hangs" : "is gone");
}

bool peers_on_peers(struct collector *c, const PGresult *r, struct err *e)
{
    struct peers *p = &c->peers;
    int before = p->others.n;

    if (!session_check(r, e)) {
        p->retry_at_ns = c->now_ns + LOOK_NS;
        return work_may_retry(e);
    }
    if (!check_columns(r, e))
        return false;
    if (strcmp(PQgetvalue(r, 0, STATE), "ours") != 0)
        return queue_fail_lost(&c->queue, e);
    // The renewed lease lasts from the request on. But if nothing was in hand meanwhile, peers_step
    // has set renewed_ns to a later time.
    p->renewed_ns = clock_max(p->renewed_ns, p->asked_ns);
    int64_t freed = column_int64(r, 0, ADOPTED);
    if (freed > 0)
        log_freed(c, freed);
    for (int i = 1; i < PQntuples(r); i++)
        owners_note(&p->others,
            (struct owner){.number = column_int64(r, i, OTHER),
                .renewed = column_int64(r, i, RENEWED),
                .alive = *PQgetvalue(r, i, ALIVE) != 0,
                .busy = *PQgetvalue(r, i, BUSY) != 0},
            c->now_ns);
    owners_end_look(&p->others, c->now_ns);
    if (p->freeing.alive)
        owners_freed(&p->others, p->freeing.number, c->now_ns);
    p->freeing = (struct owner){0};
    // Nobody announces what we freed, what an owner that left gave back, or what else has no owner
    // and is due (WAITS), such as what a person gives to mailroom_retry. So we look for it.
    if (freed > 0 || p->others.n < before || *PQgetvalue(r, 0, WAITS) != 0)
        take_look_at_all(c);
    return true;
}
