// sidequest of the version that is installed in the folder where this runs. With the argument
// "schema" it only makes its tables.
"use strict";
const { join } = require("path");
const { Sidequest } = require(`${process.cwd()}/node_modules/sidequest`);

// Its logger writes to standard output, which is for the lines about jobs.
process.stdout.write = process.stderr.write.bind(process.stderr);
const env = process.env;
const who = `${env.PGUSER}${env.PGPASSWORD ? ":" + encodeURIComponent(env.PGPASSWORD) : ""}`;
const url = `postgresql://${who}@localhost:${env.PGPORT || 5432}/${env.PGDATABASE}?host=${encodeURIComponent(env.PGHOST)}`;
const options = {
    backend: { driver: "@sidequest/postgres-backend", config: url },
    queues: [{ name: "default", concurrency: 10 }],
    fork: false,
    runner: "inline",
    dashboard: { enabled: false },
    logger: { level: "error", json: false },
    manualJobResolution: true,
    jobsFilePath: join(__dirname, "sidequest.jobs.js"),
    releaseStaleJobsIntervalMin: 1,
    jobPollingInterval: 100,
};

async function main() {
    if (process.argv[2] === "schema") {
        await Sidequest.configure(options);
        process.exit(0);
    }
    await Sidequest.start(options);
}

main().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
});
