// A worker of the version that argv names. With the further argument "schema" it only makes its
// tables.
"use strict";
const { writeSync } = require("fs");
const PgBoss = require(`boss-${process.argv[2]}`);

const env = process.env;
const boss = new PgBoss({
    host: env.PGHOST,
    port: Number(env.PGPORT || 5432),
    user: env.PGUSER,
    password: env.PGPASSWORD,
    database: env.PGDATABASE,
    maintenanceIntervalSeconds: 1,
    monitorStateIntervalSeconds: 1,
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
    if (process.argv[3] === "schema") process.exit(0);
    await boss.work("q", { batchSize: 200, newJobCheckInterval: 500, includeMetadata: true }, async (jobs) => {
        for (const job of jobs) writeSync(1, `got ${job.data.id} ${job.retrycount + 1}\n`);
    });
}

main().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
});
