// A workflow and its queue, in the version that argv names. With the further argument "schema" it
// only makes its tables.
"use strict";
const { writeSync } = require("fs");
// Its logs, and those of its libraries, are no lines for the harness.
process.stdout.write = process.stderr.write.bind(process.stderr);
console.log = console.error;
const version = process.argv[2];
const { DBOS, WorkflowQueue } = require(`dbos-${version}`);

const env = process.env;
const who = `${env.PGUSER}${env.PGPASSWORD ? ":" + encodeURIComponent(env.PGPASSWORD) : ""}`;
const configs = {
    "2.6.19": {
        poolConfig: { host: env.PGHOST, port: Number(env.PGPORT || 5432), user: env.PGUSER, password: env.PGPASSWORD, database: env.PGDATABASE },
        system_database: env.PGDATABASE,
        telemetry: { logs: { logLevel: "error" } },
    },
    "2.10.24": {
        name: "judged",
        databaseUrl: `postgresql://${who}@localhost:${env.PGPORT || 5432}/${env.PGDATABASE}?host=${encodeURIComponent(env.PGHOST)}`,
        sysDbName: env.PGDATABASE,
        runAdminServer: false,
        logLevel: "error",
    },
};
DBOS.setConfig(configs[version]);

class Judged {
    // It takes 0.2 to 2.8 s, so some end while a session is lost.
    static async work(id) {
        await new Promise((wake) => setTimeout(wake, 200 + ((id * 397) % 2600)));
        writeSync(1, `got ${id} 1\n`);
    }
}
DBOS.workflow()(Judged, "work", Object.getOwnPropertyDescriptor(Judged, "work"));
new WorkflowQueue("q");

async function main() {
    await DBOS.launch();
    if (process.argv[3] === "schema") process.exit(0);
    process.on("SIGTERM", () => process.exit(0)); // shutdown() waits for workflows
}

main().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
});
