// mailroom-zoo: a collector that is broken on purpose by --defect, so that the harness can convict
// it. Without a defect, it is a good collector.
#include <getopt.h>
#include <signal.h>
#include <sysexits.h>

#include "base/base.h"
#include "base/log.h"
#include "defect.h"
#include "keeper.h"
#include "leasing.h"
#include "settings.h"
#include "stop.h"

static const char usage[] = "usage: mailroom-zoo [--defect NAME]\n"
                            "       mailroom-zoo --list    prints each defect's name, scenario, "
                            "invariants and description\n"
                            "The settings are environment variables, as for mailroom-collector.\n";

static const struct option options[] = {
    {"defect", required_argument, NULL, 'd'},
    {"list", no_argument, NULL, 'l'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

int main(int argc, char *argv[])
{
    const struct defect_row *row = defect_find("none");
    struct settings settings = {0};
    struct err e = {0};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'd':
            row = defect_find(optarg);
            if (!row) {
                fprintf(stderr, "mailroom-zoo: no defect is called '%s'; see --list\n", optarg);
                return EX_USAGE;
            }
            break;
        case 'l':
            defect_list(stdout);
            return 0;
        case 'h':
            fputs(usage, stdout);
            return 0;
        default:
            fputs(usage, stderr);
            return EX_USAGE;
        }
    }
    if (!settings_load(&settings, &e)) {
        log_line("MAIN", "%s", e.text);
        return EX_CONFIG;
    }
    stop_install();
    if (row->defect == DEFECT_IGNORES_TERM)
        signal(SIGTERM, SIG_IGN);
    int code =
        settings.leases ? leasing_run(&settings, row->defect) : keeper_run(&settings, row->defect);
    explicit_bzero(settings.key, sizeof settings.key);
    return code;
}
