// A worker of the version that argv names, on a queue of the policy "stately". With the further
// argument "schema" it only makes its tables and its queue.
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

async function main() {
    await boss.start();
    if (process.argv[3] === "schema") {
        await boss.createQueue("q", { name: "q", policy: "stately" });
        process.exit(0);
    }
    // The jobs of a batch are active for as long as this waits.
    await boss.work("q", { batchSize: 20, pollingIntervalSeconds: 0.5, includeMetadata: true }, async (jobs) => {
        for (const job of jobs) writeSync(1, `got ${job.data.id} ${job.retryCount + 1}\n`);
        await new Promise((wake) => setTimeout(wake, 700));
    });
}

main().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
});
