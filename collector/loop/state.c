#include "loop/state.h"

#define TO(state) (1U << (state))

static const struct {
    const char *name;
    const char *doing;
    const char *does;
    unsigned leads; // the states that it leads to, a bit for each
} states[STATES] = {
    [BACK_OFF] = {"back off", "waiting to reconnect",
        "waits 10 to 100 ms when somebody ended the session, up to 400 ms when the server refuses, "
        "or up to 5 s when the server is silent or a person has to act, with jitter",
        TO(CONNECT)},
    [CONNECT] = {"connect", "connecting", "connects", TO(SET_UP)},
    [SET_UP] = {"set up", "setting up a session",
        "asks whether a pooler lends the session to others, sends the set-up and waits for the "
        "answers",
        TO(STAND_BY)},
    [STAND_BY] = {"stand by", "standing by",
        "claims the queue, or waits for its turn; where several collect, joins them", TO(SERVE)},
    [SERVE] = {"serve", "serving lines",
        "takes lines, settles those that are written or answered, keeps its lease", 0},
};

const char *state_doing(enum state s)
{
    return states[s].doing;
}

bool state_leads(enum state from, enum state to)
{
    return from == to || to == BACK_OFF || (states[from].leads & TO(to));
}

void state_markdown(FILE *out)
{
    fprintf(out, "| state | does | leads to |\n|---|---|---|\n");
    for (int i = 0; i < STATES; i++) {
        const char *comma = "";
        fprintf(out, "| %s | %s | ", states[i].name, states[i].does);
        for (int to = 0; to < STATES; to++)
            if (states[i].leads & TO(to)) {
                fprintf(out, "%s%s", comma, states[to].name);
                comma = ", ";
            }
        fprintf(out, " |\n");
    }
}
