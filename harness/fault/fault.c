// Begins and ends one fault, and proves that it took effect.
//
// A fault without evidence makes the run inconclusive: a collector that was never hit has proved
// nothing. So every verb looks at what it has done (a start time that has changed, packets that a
// filter has counted). Only cancel-query trusts that a signal was sent, where it cannot read the
// server's log.
//
// A fault may find nothing to hit because another planned fault is at work, or was undone a moment
// ago. It is then left out, its evidence names that other fault, and the run stays conclusive. A
// fault waits 2 s for a victim, but not past the end of a fault that keeps the victims away. When
// it had to wait, it strikes some time after the victim came (a part of its `every` that the seed
// decides). If it struck at once, a fault that repeats would hit each session right after it was
// opened, and never at work. The record says when the fault began to look for its victim
// (sought_ns) and when it struck (began_ns). The subject is not excused for the time between the
// two.
#include "fault/family.h"

#include "fault/scheduler.h"
#include "os/interrupt.h"
#include "os/mutant.h"
#include "base/utf8.h"
#include "postgres/migrate.h"

static const int64_t poll_ns = 2 * NS_PER_MS;

const struct fault_verb *fault_verb_find(enum verb_id id)
{
    static const struct fault_verb *const families[] = {fault_backend_verbs, fault_server_verbs,
        fault_host_verbs, fault_cluster_verbs, fault_storage_verbs, fault_collector_verbs,
        fault_reader_verbs, fault_sender_verbs, fault_network_verbs, fault_idle_verbs,
        fault_busy_verbs, fault_clock_verbs};

    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        for (const struct fault_verb *verb = families[i]; verb->begin; verb++) {
            if (verb->id == id)
                return verb;
        }
    }
    return NULL;
}

// True when the provider has the feature that the verb needs.
static bool is_verb_possible(const struct provider *p, const struct fault_verb *verb)
{
    assert(verb); // fault_test.c proves that each verb has a family
    return verb->need == NEEDS_STOP      ? p->stop != NULL
           : verb->need == NEEDS_PAUSE   ? p->pause != NULL
           : verb->need == NEEDS_PROMOTE ? p->promote != NULL
           : verb->need == NEEDS_CLUSTER ? (p->strikes & 1u << fault_cluster_of(verb->id)) != 0
           : verb->need == NEEDS_DISK    ? p->disk != NULL
           : verb->need == NEEDS_ADDRESS ? p->address != NULL
           : verb->need == NEEDS_CLOCK   ? p->clock != NULL
                                         : true;
}

bool fault_needs(const struct scenario *s, enum fault_through through)
{
    for (size_t i = 0; i < s->fault_count; i++) {
        if (s->faults[i].verb->hits == HITS_NETWORK && s->faults[i].through == through)
            return true;
    }
    return false;
}

// Says why the provider cannot carry out a verb, and returns false.
static bool refuse_verb(const struct provider *p, const struct verb *verb, struct err *e)
{
    const bool is_yours = p == &provider_url || p == &provider_cluster;

    if (!verb->needs_cluster)
        return err_set(e, ERR_SKIP,
            is_yours ? "%s needs a server that the harness controls, and not one of yours "
                       "(provider: %s)"
                     : "%s cannot be done to a server of provider: %s",
            verb->name, p->name);
    return err_set(e, ERR_SKIP,
        p->strike ? "%s ends or cuts off machines of a cluster, which needs provider: patroni; a "
                    "cluster of yours (provider: %s with postgres.rest) can only be asked to "
                    "switch over"
                  : "%s needs provider: patroni, which %s is not, or postgres.rest for a cluster "
                    "of yours",
        verb->name, p->name);
}

bool fault_possible(const struct provider *provider, const struct scenario *s, struct err *e)
{
    if (!provider_suits(provider, &s->postgres, e))
        return false;
    for (size_t i = 0; i < s->fault_count; i++) {
        const struct verb *verb = s->faults[i].verb;
        if (!is_verb_possible(provider, fault_verb_find(verb->id)))
            return refuse_verb(provider, verb, e);
        // A client that knows every member of the cluster would go around the proxy.
        if (verb->hits == HITS_NETWORK && provider->strike && s->postgres.route != ROUTE_PROXY)
            return err_set(e, ERR_SKIP,
                "%s needs one address of the cluster: postgres.route: proxy", verb->name);
        if (s->faults[i].through == THROUGH_KERNEL && provider != &provider_local)
            return err_set(e, ERR_SKIP, "%s through: kernel needs provider: local, which %s is not",
                verb->name, provider->name);
    }
    return true;
}

static void note_fault_failure(struct fault_record *r, const struct err *e)
{
    r->ok = false;
    snprintf(r->evidence, sizeof r->evidence, "%.*s", (int)sizeof r->evidence - 1, e->text);
    utf8_mend(r->evidence);
}

// True when a verb failed because there was nothing to hit: no session, process or server.
static bool found_no_victim(const struct err *e)
{
    return e->kind == ERR_CONNECTION || e->kind == ERR_SKIP;
}

// Marks r as left out and returns true when another fault explains why r found nothing to hit.
static bool mark_left_out(
    const struct fault_context *c, struct fault_record *r, const struct err *e)
{
    const struct fault_record *culprit = NULL;

    if (found_no_victim(e))
        culprit = scheduler_culprit(c->begun, c->begun_count, r, c->recovery_ns);
    if (!culprit)
        return false;
    r->left_out = LEFT_OUT_BUSY;
    snprintf(r->evidence, sizeof r->evidence, "left out: %s was at work; %.100s",
        culprit->spec->verb->name, e->text);
    utf8_mend(r->evidence);
    return true;
}

// Waits until the fault may strike: at once if its victim is there, otherwise a random time after
// the victim has come, so that a repeated fault does not hit each session when it is new. Returns
// false when no victim came by the deadline.
static bool await_victim(struct fault_context *c, const struct fault_record *r,
    const struct fault_verb *verb, int64_t deadline, struct err *e)
{
    if (!verb->look || verb->look(c, r, e))
        return true;
    while (found_no_victim(e) && clock_now_ns() <= deadline) {
        if (!interrupt_sleep(poll_ns, e))
            return false;
        if (verb->look(c, r, e))
            return interrupt_sleep_until(
                       scheduler_strike_ns(c->begun, c->begun_count, r, clock_now_ns(), c->seed)) ||
                   err_set(e, ERR_INTERRUPTED, "interrupted");
    }
    return false;
}

// Seeks a victim and strikes it. A victim may leave between the look and the strike.
static bool strike_fault(
    struct fault_context *c, struct fault_record *r, const struct fault_verb *verb, struct err *e)
{
    int64_t deadline = fault_victim_deadline_ns(c);

    for (;;) {
        if (!await_victim(c, r, verb, deadline, e))
            return false;
        r->began_ns = clock_now_ns();
        // `mailproof explore` counts in which states of a connection a fault was tried.
        r->wire = c->proxy ? proxy_state(c->proxy) : EXCHANGE_UNSEEN;
        if (verb->begin(c, r, e))
            return true;
        // Only a victim that has left is worth another try.
        if (!verb->look || !found_no_victim(e) || clock_now_ns() > deadline)
            return false;
    }
}

// Undoes the fault. One that did not take effect is undone as well, because a part of it may have
// happened; its evidence keeps the reason why it failed.
static bool undo_fault(
    struct fault_context *c, struct fault_record *r, const struct fault_verb *verb, struct err *e)
{
    char why[sizeof r->evidence];

    memcpy(why, r->evidence, sizeof why);
    // A mutant of the harness (mutant.h) has done nothing that could be undone.
    bool ended = mutant_is("fault", r->spec->verb->name) || verb->end(c, r, e);
    if (!r->ok)
        memcpy(r->evidence, why, sizeof why);
    return ended;
}

void fault_begin(struct fault_context *c, struct fault_record *r)
{
    const struct fault_verb *verb = fault_verb_find(r->spec->verb->id);
    struct err e = {0}, ignored;

    r->sought_ns = r->began_ns = clock_now_ns();
    r->undone = !verb->end;
    // A mutant of the harness (mutant.h) does nothing, and claims that the fault took effect.
    r->ok = mutant_is("fault", r->spec->verb->name) || strike_fault(c, r, verb, &e);
    r->ended_ns = clock_now_ns();
    if (!r->ok && !mark_left_out(c, r, &e))
        note_fault_failure(r, &e);
    if (!r->left_out)
        return;
    // An error does not matter here, because there may be nothing to undo.
    if (verb->end)
        (void)undo_fault(c, r, verb, &ignored);
    r->undone = true;
    // A record without times excuses nothing.
    r->sought_ns = r->began_ns = r->ended_ns = 0;
}

// True when fault r took the server away, and the server is still away.
static bool stays_down(const struct fault_context *c, const struct fault_record *r)
{
    return (r->spec->verb->takes & THING_SERVER) && r->spec->verb->keeps_away &&
           !c->server->running;
}

void fault_end(struct fault_context *c, struct fault_record *r)
{
    const struct fault_verb *verb = fault_verb_find(r->spec->verb->id);
    struct err e = {0};

    r->undone = true;
    if (!verb->end)
        return;
    bool fails_now = !undo_fault(c, r, verb, &e) && r->ok;
    // No other fault explains why the server that this fault took away stays down. A fault that is
    // left out only now keeps its times, because the subject may have felt it.
    if (fails_now && (stays_down(c, r) || !mark_left_out(c, r, &e)))
        note_fault_failure(r, &e);
    // A fault of the leader excuses nothing after another member has taken over.
    r->ended_ns = r->served_ns ? r->served_ns : clock_now_ns();
}

void fault_abandon(struct fault_context *c, struct fault_record *records, size_t count)
{
    for (size_t i = 0; records && i < count; i++) {
        if (records[i].kept)
            fault_end(c, &records[i]);
    }
}

int64_t fault_victim_deadline_ns(const struct fault_context *c)
{
    return scheduler_victim_deadline_ns(
        c->begun, c->begun_count, clock_now_ns(), SCHEDULER_VICTIM_WAIT_NS);
}

bool fault_admin(struct fault_context *c, struct err *e)
{
    if (!c->server->running)
        return err_set(e, ERR_CONNECTION, "the server is not running at that time");
    if (c->server->paused)
        return err_set(e, ERR_CONNECTION, "the server is paused at that time");
    // An earlier fault may have ended this connection.
    if (c->admin && PQstatus(c->admin) == CONNECTION_OK)
        return true;
    PQfinish(c->admin);
    c->admin = migrate_admin(c->server, e);
    return c->admin != NULL;
}
