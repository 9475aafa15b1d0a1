// Each collector has a number; a session of it holds the number's lock. One whose lock is free has
// lost its session, and may come back within the grace. One that holds it and has something in
// hand, but has not renewed its lease for as long as a lease lasts, hangs. owners.h times both by
// our own clock, and only while we watch.
#include "peers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "queue_lines.h"
#include "settle.h"
#include "take.h"
#include "work.h"

#define LOOK_NS (100 * NS_PER_MS)     // between two looks while somebody may die
#define JOIN_SOON_NS (10 * NS_PER_MS) // while only an old backend of ours still has to end
#define IDLE_NS NS_PER_S              // between two looks at others that are only there

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

void peers_restart(struct collector *c)
{
    bool recorded = c->peers.recorded;

    c->peers =
        (struct peers){.recorded = recorded, .renewed_ns = c->now_ns, .look_at_ns = c->now_ns};
}

bool peers_join(struct collector *c, bool settle, struct err *e)
{
    const struct config *cfg = c->config;
    struct run run = {.host = ""};

    gethostname(run.host, sizeof run.host - 1);
    snprintf(run.settings, sizeof run.settings,
        "limit %" PRId64 ", timeout %s%" PRId64 " ms, in flight %" PRId64 ", attempts %" PRId64,
        cfg->batch_limit, cfg->batch_least_ms > 0 ? "up to " : "", cfg->batch_timeout_ms,
        cfg->leased.in_flight, cfg->leased.attempts);
    return queue_send_join(&c->queue, &c->link.session, settle, c->peers.recorded ? NULL : &run,
        settle ? CLOCK_NEVER : work_deadline_ns(c), e);
}

static bool joined(struct collector *c, const PGresult *r, struct err *e)
{
    struct queue *q = &c->queue;
    const char *lanes = PQgetvalue(r, 0, LANES);

    if (!queue_check_lanes(q->lanes_wanted, lanes, e))
        return false;
    q->lanes = strchr(lanes, ',') != NULL;
    q->epoch = strtoll(PQgetvalue(r, 0, EPOCH), NULL, 10);
    c->peers.recorded = true;
    turn_begin(c);
    peers_restart(c);
    settle_restart(c);
    take_restart(c);
    return true;
}

bool peers_on_join(struct collector *c, const PGresult *r, struct err *e)
{
    const char *state;

    c->turn.step = TURN_WATCH;
    c->turn.look_at_ns = c->now_ns;
    if (!session_check(r, e))
        return queue_is_unknown(e) ? queue_unknown(c->queue.name, e) : false;
    if (PQntuples(r) < 1 || PQnfields(r) != COLUMNS)
        return err_set(e, ERR_SCHEMA, "mailroom_peers does not answer as its migration made it");
    state = PQgetvalue(r, 0, STATE);
    if (strcmp(state, "ours") == 0)
        return joined(c, r, e);
    if (strcmp(state, "unknown") == 0)
        return queue_unknown(c->queue.name, e);
    if (strcmp(state, "new") == 0 || strcmp(state, "moved") == 0) {
        c->turn.step = TURN_ASKED;
        log_line("QUEUE", "%s",
            state[0] == 'n' ? "first start on this queue; making its cursor"
                            : "the database came from another cluster; making a new cursor");
        return queue_send_patience(&c->queue, &c->link.session, true, e) &&
               peers_join(c, true, e) && queue_send_patience(&c->queue, &c->link.session, false, e);
    }
    if (strcmp(state, "held") == 0 || strcmp(state, "free") == 0) {
        c->turn.look_at_ns = c->now_ns + JOIN_SOON_NS;
        return true;
    }
    return queue_other_mode(&c->queue, state, e);
}

// --- the others ---------------------------------------------------------------------

static bool holds_something(const struct collector *c)
{
    return lines_in(&c->lines, LINE_TAKEN) + lines_in(&c->lines, LINE_OUT) +
                   lines_in(&c->lines, LINE_WRITTEN) + c->lines.held_count >
               0 ||
           outbox_left(&c->settle.outbox) > 0;
}

// A collector that takes tokens looks every time, because a look costs little beside a take. One
// that sleeps looks only while another collector has something in hand, or is gone and may have
// left something.
bool peers_step(struct collector *c, struct err *e)
{
    struct peers *p = &c->peers;
    bool awake = c->take.asked_ns > p->looked_ns;

    if (!holds_something(c)) // then a lease means nothing
        p->renewed_ns = c->now_ns;
    bool renew = holds_something(c) && c->now_ns >= p->renewed_ns + work_lease_ns(c->config) / 3;
    bool watch = owners_matter(&p->others) || awake;
    int64_t due_ns = watch ? p->look_at_ns : CLOCK_NEVER;

    if (c->queue.policy->answers && p->others.n > 0)
        due_ns = clock_min(due_ns, p->others.looked_ns + IDLE_NS);
    if (holds_something(c))
        due_ns = clock_min(due_ns, p->renewed_ns + work_lease_ns(c->config) / 3);
    if (session_awaits(&c->link.session, QUEUE_PEERS))
        return true;
    if (c->now_ns < due_ns) {
        work_wake_at(c, due_ns);
        return true;
    }
    // We stood still for longer than a lease lasts: others may have taken us for dead. A new
    // session asks which lines are still ours. Where lines are not answered, settling the line
    // tells.
    if (c->queue.policy->answers && holds_something(c) &&
        c->now_ns - p->renewed_ns > work_lease_ns(c->config))
        return err_set(e, ERR_CONNECTION, "we have not renewed our lease in time");
    const struct owner *dead = owners_due(
        &p->others, c->config->grace_ms * NS_PER_MS, work_lease_ns(c->config), c->now_ns);
    p->freeing = dead ? *dead : (struct owner){0};
    p->looked_ns = c->now_ns;
    p->look_at_ns = c->now_ns + LOOK_NS;
    if (renew)
        p->renewed_ns = c->now_ns;
    return queue_send_peers(&c->queue, &c->link.session, dead, renew, work_deadline_ns(c), e);
}

static void say_freed(const struct collector *c, int64_t tokens)
{
    const struct owner *freed = &c->peers.freeing;

    if (c->queue.policy->answers)
        log_line("QUEUE", "freed %" PRId64 " tokens of collector %" PRId64 ": %s", tokens,
            freed->number, freed->alive ? "it does not renew its lease" : "it is gone");
    else
        log_line("QUEUE", "delivering %" PRId64 " tokens of another collector, which %s", tokens,
            freed->alive ? "hangs" : "is gone");
}

bool peers_on_peers(struct collector *c, const PGresult *r, struct err *e)
{
    struct peers *p = &c->peers;
    int before = p->others.n;

    if (!session_check(r, e))
        return work_may_retry(c, e);
    if (PQntuples(r) < 1 || PQnfields(r) != COLUMNS)
        return err_set(e, ERR_SCHEMA, "mailroom_peers does not answer as its migration made it");
    if (strcmp(PQgetvalue(r, 0, STATE), "ours") != 0)
        return err_set(e, ERR_CONNECTION, "the queue was changed while we worked on it");
    int64_t adopted = strtoll(PQgetvalue(r, 0, ADOPTED), NULL, 10);
    if (adopted > 0)
        say_freed(c, adopted);
    for (int i = 1; i < PQntuples(r); i++)
        owners_tell(&p->others,
            (struct owner){.number = strtoll(PQgetvalue(r, i, OTHER), NULL, 10),
                .renewed = strtoll(PQgetvalue(r, i, RENEWED), NULL, 10),
                .alive = PQgetvalue(r, i, ALIVE)[0] == 't',
                .busy = PQgetvalue(r, i, BUSY)[0] == 't'},
            c->now_ns);
    owners_end(&p->others, c->now_ns);
    if (p->freeing.alive)
        owners_freed(&p->others, p->freeing.number, c->now_ns);
    p->freeing = (struct owner){0};
    // Nobody announces what others give back, and what a person gives to mailroom_retry.
    if (adopted > 0 || p->others.n < before || PQgetvalue(r, 0, WAITS)[0] == 't')
        take_look_at_all(c);
    return true;
}
