// A worker of the version that argv names, with a pool and no other object of ours. With the
// argument "schema" it only makes its tables.
"use strict";
const { writeSync } = require("fs");
// It logs to the console, but standard output is for the lines about jobs.
console.log = console.info = console.warn = console.debug = () => {};
const { Pool } = require("pg");
const { run, runMigrations } = require(`worker-${process.argv[2]}`);

async function main() {
    const pgPool = new Pool({ max: 30 });
    if (process.argv[3] === "schema") {
        await runMigrations({ pgPool });
        return pgPool.end();
    }
    const runner = await run({
        pgPool,
        concurrency: 20,
        taskList: { t: async (payload, helpers) => void writeSync(1, `got ${payload.id} ${helpers.job.attempts}\n`) },
    });
    runner.events.on("job:success", ({ job }) => writeSync(1, `done ${job.payload.id}\n`));
    await runner.promise;
}

main().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
});
