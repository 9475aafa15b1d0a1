#include "run/shared_server.h"

#include "fault/fault.h"
#include "postgres/sql.h"

bool shared_can_carry(const struct scenario *s)
{
    for (size_t i = 0; i < s->fault_count; i++) {
        if (s->faults[i].verb->hits == HITS_CLOCK)
            return false;
    }
    return s->postgres.standby == STANDBY_NONE && s->postgres.storage == STORAGE_PLAIN &&
           !fault_needs(s, THROUGH_KERNEL);
}

bool shared_fits(const struct scenario *s)
{
    for (size_t i = 0; i < s->fault_count; i++) {
        if (verb_stops_server(s->faults[i].verb))
            return false;
    }
    return shared_can_carry(s);
}

bool shared_open(
    struct server *server, const struct scenario *s, const char *conninfo, struct err *e)
{
    *server = (struct server){
        .provider = provider_find(&s->postgres), .conninfo = conninfo, .seed = s->seed};
    return provider_suits(server->provider, &s->postgres, e) &&
           server->provider->open(server, &s->postgres, e) && server->provider->start(server, e);
}

void shared_close(struct server *server)
{
    if (server->provider)
        server->provider->close(server);
}

bool shared_clear(struct server *server, struct err *e)
{
    PGconn *conn FREED_BY(sql_finish) = provider_connect(server, server->superuser, "postgres", e);
    char sql[160];

    snprintf(sql, sizeof sql, "DROP DATABASE IF EXISTS %s WITH (FORCE)", server->database);
    // The verb hold-horizon makes this second database.
    return conn && sql_exec(conn, sql, e) &&
           sql_exec(conn, "DROP DATABASE IF EXISTS mailproof_other WITH (FORCE)", e);
}
