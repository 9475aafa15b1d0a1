#include "postgres/cluster/patroni_config.h"

#include <jansson.h>

#include "postgres/provider.h"

#define PLACE_TEXT (CLUSTER_NET_ADDRESS + 12)

static const char *place_text(const struct patroni_place *p, char text[PLACE_TEXT])
{
    snprintf(text, PLACE_TEXT, "%s:%d", p->host, p->port);
    return text;
}

const char *patroni_member(int member, char name[8])
{
    snprintf(name, 8, "m%d", member % 100 + 1); // % 100: the compiler sees that there is room
    return name;
}

static void add_parameters(json_t *parameters, const struct settings *settings)
{
    for (size_t i = 0; i < settings->count; i++)
        json_object_set_new(
            parameters, settings->items[i].name, json_string(settings->items[i].value));
}

// Returns the server's settings; those of the scenario replace ours. All go into Patroni's store,
// because Patroni takes the settings that must be the same on all members only from there.
static json_t *parameters_json(const struct patroni_layout *l)
{
    json_t *p = json_pack("{s:s, s:s, s:s, s:s, s:s}", "unix_socket_directories", l->dir,
        "unix_socket_permissions", "0700", "wal_log_hints", "on", "wal_retrieve_retry_interval",
        "500ms", "wal_keep_size", "256MB");

    add_parameters(p, &provider_settings);
    add_parameters(p, l->settings);
    return p;
}

// Returns the settings that Patroni keeps in its store for all members. A member may lead even if
// it is 1 GB behind, so that a failover finds one under load, too. (The empty comments keep the
// format strings and the values apart when clang-format lays them out.)
static json_t *shared_part(const struct patroni_layout *l)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:b, s:{s:b, s:b, s:o}}", //
        "ttl", PATRONI_TTL_S, "loop_wait", PATRONI_LOOP_WAIT_S, "retry_timeout", PATRONI_RETRY_S,
        "maximum_lag_on_failover", 1 << 30, "synchronous_mode", l->synchronous, //
        "postgresql", "use_pg_rewind", 1, "use_slots", 1, "parameters", parameters_json(l));
}

static json_t *account_json(const struct patroni_layout *l)
{
    return json_pack("{s:s, s:s}", "username", "mailproof", "password", l->password);
}

// Returns the settings of one member's server; `place` is its HOST:PORT.
static json_t *server_part(const struct patroni_layout *l, const char *name, const char *place)
{
    char data[PATH_MAX + 20], pgpass[PATH_MAX + 20];

    snprintf(data, sizeof data, "%s/%s", l->dir, name);
    snprintf(pgpass, sizeof pgpass, "%s/%s.pgpass", l->dir, name);
    // The socket needs no password, because only we can reach its folder; TCP needs one. The two
    // options about diverged data: a member that has diverged from the leader and cannot be rewound
    // is made anew. (The empty comment keeps clang-format from joining the lines.)
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:{s:o, s:o, s:o}, "
                     "s:[s,s,s,s]}",
        "listen", place, "connect_address", place, "data_dir", data, "bin_dir", l->bindir, "pgpass",
        pgpass, "use_unix_socket", 1, "use_unix_socket_repl", 1,
        "remove_data_directory_on_rewind_failure", 1, "remove_data_directory_on_diverged_timelines",
        1, "authentication", "superuser", account_json(l), "replication", account_json(l), "rewind",
        account_json(l), //
        "pg_hba", "local all all trust", "local replication all trust",
        "host all all all scram-sha-256", "host replication all all scram-sha-256");
}

// Returns the configuration of one member. "bootstrap" has what the first member writes into the
// store, which Patroni calls "dcs". (The empty comments keep clang-format from joining the
// lines.)
static json_t *whole_config(const struct patroni_layout *l, int member)
{
    char name[8], server[PLACE_TEXT], rest[PLACE_TEXT], store[PLACE_TEXT];

    patroni_member(member, name);
    place_text(&l->servers[member], server);
    place_text(&l->rests[member], rest);
    place_text(&l->store, store);
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:s}, s:{s:s, s:s, s:{s:s, s:s}}, s:{s:o}, s:o}", //
        "scope", "mailproof", "name", name, "etcd3", "host", store, "username", PATRONI_STORE_USER,
        "password", l->store_password, "restapi", "listen", rest, "connect_address", rest,
        "authentication", "username", "mailproof", "password", l->password, //
        "bootstrap", "dcs", shared_part(l), "postgresql", server_part(l, name, server));
}

bool patroni_render(const struct patroni_layout *l, int member, struct buf *out, struct err *e)
{
    json_t *json FREED_BY(json_decrefp) = whole_config(l, member);
    char *text FREED_BY(memory_free) = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
    return (text && buf_printf(out, "%s\n", text)) ||
           err_set(e, ERR_INTERNAL, "cannot render the configuration of a member");
}

// HAProxy asks the Patroni of each member whether the member leads. A Patroni that has lost the
// store says no. HAProxy closes the sessions to a member that no longer leads.
bool patroni_render_proxy(const struct patroni_layout *l, struct buf *out, struct err *e)
{
    char name[8];

    bool ok = buf_printf(out,
        "global\n    maxconn 2000\n"
        "defaults\n    mode tcp\n    retries 2\n    timeout connect 2s\n    timeout client 1d\n"
        "    timeout server 1d\n    timeout check 1s\n"
        "listen leader\n    bind unix@%s/.s.PGSQL." PATRONI_PROXY_PORT " mode %s\n"
        "    option httpchk OPTIONS /primary\n    http-check expect status 200\n"
        "    default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions\n",
        l->proxy_dir, l->shares_proxy ? "666" : "600");
    for (int i = 0; i < PATRONI_MEMBERS; i++)
        ok = ok &&
             buf_printf(out, "    server %s %s:%d check addr %s port %d\n", patroni_member(i, name),
                 l->servers[i].host, l->servers[i].port, l->rests[i].host, l->rests[i].port);
    return ok || err_set(e, ERR_INTERNAL, "cannot render the proxy's configuration");
}
