// mailproof report: renders the reports of stored runs again from their histories. Like `mailproof
// check` it judges the runs by the rules of this version.
#include "cli/cli.h"
#include "report/rejudge.h"
#include "os/paths.h"
#include "report/gather.h"
#include "report/pages/index.h"
#include "report/report.h"

static bool render_again(
    struct rejudge *run, const struct folder *folder, const struct options *o, struct err *e)
{
    struct environment environment;
    struct observed observed FREED_BY(observed_fini) = {0};
    struct silence silence;
    struct report report = {
        .scenario = &run->scenario,
        .ledger = &run->history.ledger,
        .result = &run->result,
        .input = &run->input,
        .environment = &environment,
        .observed = &observed,
        .silence = &silence,
        .folder = folder,
        .promises = &observed.promises,
    };

    // Only what the folder holds may be in a report. The folder has the logs, so the cause of a
    // silence can be found again.
    silence_find(&silence, &run->history.ledger, &run->result, folder->logs);
    return environment_read(&environment, folder->path, e) &&
           observed_read(&observed, run->history.ledger.start_ns, folder->path, e) &&
           report_write(&report, e) &&
           (!o->report.trace_spans || report_write_traces(&report, e)) &&
           (!o->report.tokens || report_write_tokens(&report, e));
}

// Judges one stored run again, writes its reports and prints the verdict. False only when one of
// these steps fails, whatever the verdict is.
static bool render_folder(const char *path, const struct options *o, struct err *e)
{
    struct folder folder;
    struct rejudge *run FREED_BY(memory_free) = memory_zeroed(1, sizeof *run);
    bool ok = folder_open(&folder, path, e) && rejudge_scenario(run, folder.path, e) &&
              rejudge_history(run, folder.path, e);

    if (ok)
        rejudge_judge(run);
    ok = ok && render_again(run, &folder, o, e);
    if (ok)
        printf("%s: %s  %s/report.html%s%s\n", run->scenario.name,
            verdict_name(run->result.verdict), folder.path,
            o->report.trace_spans ? ", trace.json, trace.otlp.json" : "",
            o->report.tokens ? ", tokens.csv, tokens.jsonl" : "");
    rejudge_fini(run);
    return ok;
}

// Renders all results below a folder, and then its index. If one fails, the others are still
// rendered.
static int render_all(const char *dir, const struct options *o)
{
    struct gathered g FREED_BY(gather_fini) = {0};
    struct err e = {0};
    size_t without_history = 0;
    int code = EXIT_OK;

    bool ok = gather_results(&g, dir, &e);
    for (size_t i = 0; ok && i < g.count; i++) {
        if (!path_has(g.folders[i], HISTORY_NAME))
            without_history++;
        else if (!render_folder(g.folders[i], o, &e))
            code = cli_worse(code, cli_fail(&e));
    }
    if (ok && g.count == 0)
        ok = err_set(&e, ERR_USAGE, "report: %.500s holds no result of a run", dir);
    ok = ok && index_write(dir, &e);
    if (ok && without_history > 0)
        printf("%zu %s\n", without_history,
            NOUN(without_history, "result has no history and stays as it is",
                "results have no history and stay as they are"));
    if (ok)
        printf("index  %s/index.html\n", dir);
    return ok ? code : cli_worse(code, cli_fail(&e));
}

static int report_path(const char *path, const struct options *o)
{
    struct err e = {0};

    if (path_has(path, "result.json") || path_has(path, "scenario.yaml"))
        return render_folder(path, o, &e) ? EXIT_OK : cli_fail(&e);
    return render_all(path, o);
}

int cli_report(const struct options *o)
{
    int worst = EXIT_OK;
    struct err e;

    if (!*o->args) {
        err_set(&e, ERR_USAGE, "report: name a result folder, or a folder of them");
        return cli_fail(&e);
    }
    for (char *const *path = o->args; *path; path++)
        worst = cli_worse(worst, report_path(*path, o));
    return worst;
}
