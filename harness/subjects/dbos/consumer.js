// A workflow and its queue, after DBOS's first example of a queue. With the argument
// "schema" it only makes its tables; with "slow" each workflow takes 0.2 to 2.8 s.
"use strict";
const { handle } = require("../answers");
const { DBOS } = require("@dbos-inc/dbos-sdk");

// DBOS needs a URL, which must name the server: it does not read libpq's variables.
const env = process.env;
const who = `${env.PGUSER}${env.PGPASSWORD ? ":" + encodeURIComponent(env.PGPASSWORD) : ""}`;
const url = `postgresql://${who}@localhost:${env.PGPORT || 5432}/${env.PGDATABASE}?host=${encodeURIComponent(env.PGHOST)}`;
// Each executor needs an ID of its own, the same after a restart: the number of the instance.
const executorID = (env.MAILPROOF_PROCESS || "").split("-")[2] || "0";
const attempts = new Map(); // number of attempts of each job in this process

DBOS.setConfig({ name: "judged", systemDatabaseUrl: url, applicationVersion: "1", executorID, runAdminServer: false, logLevel: "error" });
DBOS.registerWorkflow(
    async (id) => {
        if (process.argv[2] === "slow") await new Promise((wake) => setTimeout(wake, 200 + ((id * 397) % 2600)));
        attempts.set(id, (attempts.get(id) || 0) + 1);
        await handle(id, attempts.get(id));
    },
    { name: "t" },
);

async function main() {
    await DBOS.launch();
    await DBOS.registerQueue("q");
    if (process.argv[2] === "schema") return DBOS.shutdown();
    process.on("SIGTERM", () => DBOS.shutdown().finally(() => process.exit(0)));
}

main().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
});
