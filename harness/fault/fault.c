#include "fault/fault.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "fault/agenda.h"
#include "os/mutant.h"
#include "postgres/migrate.h"

static const struct fault_verb table[] = {
    {VERB_TERMINATE_BACKEND, fault_terminate_backend, NULL, NEEDS_NOTHING},
    {VERB_CANCEL_QUERY, fault_cancel_query, NULL, NEEDS_NOTHING},
    {VERB_STOP_SERVER, fault_stop_server, fault_start_server, NEEDS_STOP},
    {VERB_RESTART_SERVER, fault_stop_server, fault_start_server, NEEDS_STOP},
    {VERB_CRASH_SERVER, fault_stop_server, fault_start_server, NEEDS_STOP},
    {VERB_KILL_SERVER, fault_stop_server, fault_start_server, NEEDS_STOP},
    {VERB_CUT_POWER, fault_stop_server, fault_start_server, NEEDS_DISK},
    {VERB_KILL_HOST, fault_kill_host, fault_start_host, NEEDS_STOP},
    {VERB_SLOW_DISK, fault_begin_slow_disk, fault_end_slow_disk, NEEDS_DISK},
    {VERB_FAIL_FLUSH, fault_fail_flush, fault_repair_disk, NEEDS_DISK},
    {VERB_FILL_DISK, fault_fill_disk, fault_empty_disk, NEEDS_DISK},
    {VERB_PROMOTE_STANDBY, fault_promote_standby, NULL, NEEDS_PROMOTE},
    {VERB_PAUSE_SERVER, fault_pause_server, fault_continue_server, NEEDS_PAUSE},
    {VERB_KILL_COLLECTOR, fault_kill_collector, fault_start_collector, NEEDS_NOTHING},
    {VERB_STOP_COLLECTOR, fault_stop_collector, fault_start_collector, NEEDS_NOTHING},
    {VERB_PAUSE_COLLECTOR, fault_pause_collector, fault_continue_collector, NEEDS_NOTHING},
    {VERB_PAUSE_READER, fault_pause_reader, fault_resume_reader, NEEDS_NOTHING},
    {VERB_SLOW_READER, fault_slow_reader, fault_resume_reader, NEEDS_NOTHING},
    {VERB_CLOSE_READER, fault_close_reader, NULL, NEEDS_NOTHING},
    {VERB_KILL_SENDER, fault_kill_sender, NULL, NEEDS_NOTHING},
    {VERB_PAUSE_SENDER, fault_pause_sender, fault_resume_sender, NEEDS_NOTHING},
    {VERB_HANG_SENDER, fault_hang_sender, fault_resume_sender, NEEDS_NOTHING},
    {VERB_PARTITION, fault_begin_silence, fault_end_silence, NEEDS_ADDRESS},
    {VERB_HALF_OPEN, fault_begin_silence, fault_end_silence, NEEDS_ADDRESS},
    {VERB_RESET, fault_reset, NULL, NEEDS_ADDRESS},
    {VERB_DELAY, fault_begin_slow, fault_end_slow, NEEDS_ADDRESS},
    {VERB_THROTTLE, fault_begin_slow, fault_end_slow, NEEDS_ADDRESS},
    {VERB_CUT_AT, fault_cut_at, NULL, NEEDS_ADDRESS},
    {VERB_HOLD_HORIZON, fault_begin_hold_horizon, fault_end_hold_horizon, NEEDS_NOTHING},
    {VERB_OLD_SNAPSHOT, fault_begin_old_snapshot, fault_end_old_snapshot, NEEDS_NOTHING},
    {VERB_LOCK_JOBS, fault_begin_lock_jobs, fault_end_lock_jobs, NEEDS_NOTHING},
    {VERB_FILL_NOTIFY_QUEUE, fault_begin_strain, fault_end_strain, NEEDS_NOTHING},
    {VERB_EXHAUST_CONNECTIONS, fault_begin_strain, fault_end_strain, NEEDS_NOTHING},
    {VERB_LONG_VACUUM, fault_begin_strain, fault_end_strain, NEEDS_NOTHING},
    {VERB_ACTIVE_READERS, fault_begin_strain, fault_end_strain, NEEDS_NOTHING},
};

static const struct fault_verb *find(enum verb_id id)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].id == id)
            return &table[i];
    }
    return NULL;
}

static bool is_possible(const struct provider *p, const struct fault_verb *verb)
{
    if (!verb)
        return false;
    return verb->need == NEEDS_STOP      ? p->stop != NULL
           : verb->need == NEEDS_PAUSE   ? p->pause != NULL
           : verb->need == NEEDS_PROMOTE ? p->promote != NULL
           : verb->need == NEEDS_DISK    ? p->disk != NULL
           : verb->need == NEEDS_ADDRESS ? p->address != NULL
                                         : true;
}

bool fault_needs(const struct scenario *s, enum fault_through through)
{
    for (size_t i = 0; i < s->fault_count; i++) {
        if (s->faults[i].verb->on_network && s->faults[i].through == through)
            return true;
    }
    return false;
}

bool fault_possible(const struct provider *provider, const struct scenario *s, struct err *e)
{
    if (!provider_suits(provider, &s->postgres, e))
        return false;
    for (size_t i = 0; i < s->fault_count; i++) {
        const struct verb *verb = s->faults[i].verb;
        if (!is_possible(provider, find(verb->id)))
            return err_set(e, ERR_SKIP,
                "%s needs a server that the harness controls; provider %s does not", verb->name,
                provider->name);
        if (s->faults[i].through == THROUGH_KERNEL && provider != &provider_local)
            return err_set(e, ERR_SKIP, "%s through: kernel needs provider: local, which %s is not",
                verb->name, provider->name);
    }
    return true;
}

static void failed(struct fault_record *r, const struct err *e)
{
    r->ok = false;
    snprintf(r->evidence, sizeof r->evidence, "%.*s", (int)sizeof r->evidence - 1, e->text);
}

// Whether another fault is the reason why this one found nothing to hit.
static bool is_left_out(const struct fault_context *c, struct fault_record *r, const struct err *e)
{
    const struct fault_record *busy = NULL;

    if (e->kind == ERR_CONNECTION || e->kind == ERR_SKIP)
        busy = agenda_culprit(c->begun, c->begun_count, r, c->recovery_ns);
    if (!busy)
        return false;
    r->left_out = LEFT_OUT_BUSY;
    snprintf(r->evidence, sizeof r->evidence, "left out: %s was at work; %.100s",
        busy->spec->verb->name, e->text);
    return true;
}

void fault_begin(struct fault_context *c, struct fault_record *r)
{
    const struct fault_verb *verb = find(r->spec->verb->id);
    struct err e = {0}, ignored;

    r->began_ns = clock_now_ns();
    r->undone = !verb->end;
    r->wire = c->proxy ? proxy_state(c->proxy) : EXCHANGE_UNSEEN;
    r->ok = mutant_is("fault", r->spec->verb->name) || verb->begin(c, r, &e);
    r->ended_ns = clock_now_ns();
    if (!r->ok && !is_left_out(c, r, &e))
        failed(r, &e);
    if (!r->left_out)
        return;
    // Half of it may have happened.
    if (verb->end && !verb->end(c, r, &ignored)) {
        // There was nothing to undo.
    }
    r->undone = true;
    r->began_ns = r->ended_ns = 0;
}

void fault_end(struct fault_context *c, struct fault_record *r)
{
    const struct fault_verb *verb = find(r->spec->verb->id);
    char why[sizeof r->evidence];
    struct err e = {0};

    r->undone = true;
    if (!verb->end)
        return;
    memcpy(why, r->evidence, sizeof why);
    // Also what did not take effect is undone: half of it may have. What its end
    // saw is no evidence then; the reason is. One that is left out only now keeps its
    // times: it may have been felt.
    bool ended = mutant_is("fault", r->spec->verb->name) || verb->end(c, r, &e);
    if (!r->ok)
        memcpy(r->evidence, why, sizeof why);
    else if (!ended && !is_left_out(c, r, &e))
        failed(r, &e);
    r->ended_ns = clock_now_ns();
}

void fault_abandon(struct fault_context *c, struct fault_record *records, size_t count)
{
    for (size_t i = 0; records && i < count; i++) {
        if (records[i].hold)
            fault_end(c, &records[i]);
    }
}

int64_t fault_patience_until_ns(const struct fault_context *c)
{
    // A collector that is just reconnecting, or being started again, is waited for.
    const int64_t patience_ns = 2 * NS_PER_S;

    return agenda_patience_until_ns(c->begun, c->begun_count, clock_now_ns(), patience_ns);
}

bool fault_admin(struct fault_context *c, struct err *e)
{
    if (!c->server->running)
        return err_set(e, ERR_CONNECTION, "the server is not running at that time");
    if (c->server->paused)
        return err_set(e, ERR_CONNECTION, "the server is paused at that time");
    if (c->admin && PQstatus(c->admin) == CONNECTION_OK)
        return true;
    PQfinish(c->admin);
    c->admin = migrate_admin(c->server, e);
    return c->admin != NULL;
}
