#include "fault/fault.h"

#include <stdio.h>

#include "base/clock.h"
#include "postgres/migrate.h"

static const struct fault_verb table[] = {
    {VERB_TERMINATE_BACKEND, fault_terminate_backend, NULL},
    {VERB_CANCEL_QUERY, fault_cancel_query, NULL},
    {VERB_STOP_SERVER, fault_stop_server, fault_start_server},
    {VERB_RESTART_SERVER, fault_stop_server, fault_start_server},
    {VERB_CRASH_SERVER, fault_stop_server, fault_start_server},
    {VERB_KILL_SERVER, fault_stop_server, fault_start_server},
    {VERB_PAUSE_SERVER, fault_pause_server, fault_continue_server},
    {VERB_KILL_COLLECTOR, fault_kill_collector, NULL},
    {VERB_STOP_COLLECTOR, fault_stop_collector, NULL},
    {VERB_PAUSE_COLLECTOR, fault_pause_collector, fault_continue_collector},
};

static const struct fault_verb *find(enum verb_id id)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].id == id)
            return &table[i];
    }
    return NULL;
}

bool fault_known(enum verb_id id)
{
    return find(id) != NULL;
}

static void failed(struct fault_record *r, const struct err *e)
{
    r->ok = false;
    snprintf(r->evidence, sizeof r->evidence, "%.*s", (int)sizeof r->evidence - 1, e->text);
}

void fault_begin(struct fault_context *c, struct fault_record *r)
{
    const struct fault_verb *verb = find(r->spec->verb->id);
    struct err e = {0};

    r->began_ns = clock_now_ns();
    r->ok = verb->begin(c, r, &e);
    r->ended_ns = clock_now_ns();
    r->undone = !verb->end;
    if (!r->ok)
        failed(r, &e);
}

void fault_end(struct fault_context *c, struct fault_record *r)
{
    const struct fault_verb *verb = find(r->spec->verb->id);
    struct err e = {0};

    r->undone = true;
    if (!verb->end)
        return;
    // Also what did not take effect is undone: half of it may have.
    if (!verb->end(c, r, &e) && r->ok)
        failed(r, &e);
    r->ended_ns = clock_now_ns();
}

bool fault_admin(struct fault_context *c, struct err *e)
{
    if (!c->server->running)
        return err_set(e, ERR_CONNECTION, "the server is not running at that time");
    if (c->admin && PQstatus(c->admin) == CONNECTION_OK)
        return true;
    PQfinish(c->admin);
    c->admin = migrate_admin(c->server, e);
    return c->admin != NULL;
}
