#include "postgres/cluster/timeline_left.h"

#include <signal.h>

#include "os/paths.h"
#include "os/process.h"
#include "postgres/sessions.h"
#include "postgres/sql.h"

// Bytes of a dump that are read. A commit takes about 150, so this is enough for minutes of
// commits.
#define DUMP_MAX (8u << 20)

int timeline_written(PGconn *conn)
{
    char value[16] = "0";
    struct err ignored;

    // A WAL file's name begins with its timeline, in eight hexadecimal digits: made a number here.
    bool ok = conn && sql_value(conn,
                          "SELECT CASE WHEN pg_is_in_recovery() THEN 0 ELSE"
                          " ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int"
                          " END",
                          value, sizeof value, &ignored);
    PQfinish(conn);
    return ok ? atoi(value) : 0;
}

bool timeline_parse_history(const char *text, struct timeline_left *left, struct err *e)
{
    const char *last = NULL;

    *left = (struct timeline_left){0};
    // Each line names a timeline and the place in the WAL at which it was left. The last line is
    // about the timeline before the present one.
    for (const char *line = text; line && *line;) {
        int timeline;
        char lsn[TIMELINE_LSN];
        if (sscanf(line, "%d\t%23[0-9A-F/]\t", &timeline, lsn) == 2)
            last = line;
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return (last && sscanf(last, "%d\t%23[0-9A-F/]", &left->timeline, left->lsn) == 2) ||
           err_set(e, ERR_SYSTEM, "this is not a history of a timeline: %.60s", text);
}

void timeline_count_commits(const char *text, struct timeline_left *left)
{
    static const char mark[] = "desc: COMMIT ";

    left->commits = 0;
    left->first_wall_ns = 0;
    for (const char *at = text; (at = strstr(at, mark)) != NULL;) {
        at += sizeof mark - 1; // the commit's time follows, written as at the start of a log line
        if (left->commits++ == 0)
            left->first_wall_ns = sessions_line_ns(at);
    }
}

// pg_waldump reports an error when it reaches the end of the WAL. Any other error is a failure.
bool timeline_read_wal(const char *bindir, const char *data_dir, uid_t uid, gid_t gid,
    struct timeline_left *left, struct err *e)
{
    struct process_spec spec = PROCESS_SPEC_INIT;
    char program[PATH_MAX], wal[PATH_MAX], timeline[16];
    char *text FREED_BY(memory_free) = memory_allocate(DUMP_MAX);
    struct err ended;

    *text = '\0'; // it stays empty when the program cannot be started
    snprintf(timeline, sizeof timeline, "%d", left->timeline);
    bool ok = path_join(program, bindir, "pg_waldump", e) && path_join(wal, data_dir, "pg_wal", e);
    spec.argv = (const char *const[]){"env", "TZ=UTC", "LC_ALL=C", program, "--path", wal,
        "--timeline", timeline, "--start", left->lsn, "--rmgr", "Transaction", NULL};
    spec.uid = uid;
    spec.gid = gid;
    spec.death_signal = SIGKILL;
    if (ok && !process_collect(&spec, text, DUMP_MAX, &ended))
        ok = strstr(text, "error in WAL record at") ||
             strstr(text, "could not find a valid record") ||
             err_set(e, ERR_SYSTEM, "pg_waldump: %.200s", *text ? text : ended.text);
    if (ok)
        timeline_count_commits(text, left);
    return ok;
}
