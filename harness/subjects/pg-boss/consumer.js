// A worker, after the first example of pg-boss's documentation. With the argument "schema" it only
// makes its tables and its queue.
"use strict";
const { writeSync } = require("fs");
const PgBoss = require("pg-boss");

// pg-boss needs a URL or the parts of one, and does not read libpq's variables.
const env = process.env;
const boss = new PgBoss({
    host: env.PGHOST,
    port: Number(env.PGPORT || 5432),
    user: env.PGUSER,
    password: env.PGPASSWORD,
    database: env.PGDATABASE,
    maintenanceIntervalSeconds: 2,
});
boss.on("error", (error) => process.stderr.write(`${error.message}\n`));

async function start() {
    for (;;) {
        try {
            return await boss.start();
        } catch (error) {
            process.stderr.write(`start: ${error.message}\n`);
            await new Promise((wake) => setTimeout(wake, 200));
        }
    }
}

async function main() {
    await start();
    if (process.argv[2] === "schema") {
        await boss.createQueue("q", { retryLimit: 10, retryDelay: 1, expireInSeconds: 5 });
        return boss.stop({ graceful: false });
    }
    process.on("SIGTERM", () => boss.stop({ timeout: 1000 }).then(() => process.exit(0)));
    await boss.work("q", { batchSize: 200, pollingIntervalSeconds: 0.5, includeMetadata: true }, async (jobs) => {
        for (const job of jobs) writeSync(1, `got ${job.data.id} ${job.retryCount + 1}\n`);
    });
}

main().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
});
