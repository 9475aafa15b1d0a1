<?php
// A worker of Laravel's database queue, as `php artisan queue:work database --sleep=1 --tries=3` runs
// it, outside of an application: consumer.php. With the argument "schema" it only makes its table.
// Like that command it ends when its session is lost; its documentation asks for a supervisor.
foreach (['Container', 'Events', 'Database', 'Queue'] as $part) {
    require_once "/usr/share/php/Illuminate/$part/autoload.php";
}

use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Database\Capsule\Manager as Database;
use Illuminate\Events\Dispatcher;
use Illuminate\Queue\Capsule\Manager as Queue;
use Illuminate\Queue\Connectors\DatabaseConnector;
use Illuminate\Queue\Events\JobFailed;
use Illuminate\Queue\Failed\DatabaseUuidFailedJobProvider;
use Illuminate\Queue\Worker;
use Illuminate\Queue\WorkerOptions;

// Ends the handler as the harness answers, where it does. A signal must not have to wait for the
// answer, and a handler that was cut short leaves its answer behind.
function end_as_asked(int $id)
{
    $word = 'ok';
    for ($number = null; getenv('MAILPROOF_ANSWERS') && $number !== $id && !feof(STDIN);) {
        do {
            [$read, $none] = [[STDIN], null];
        } while (!@stream_select($read, $none, $none, 0, 100000));
        [$word, $number] = sscanf((string) fgets(STDIN), '%s %d');
    }
    if ($word === 'fail') throw new RuntimeException('as asked');
    while ($word === 'hang') sleep(1);
}

class Got
{
    public function fire($job, array $data)
    {
        fwrite(STDOUT, "got {$data['id']} {$job->attempts()}\n");
        end_as_asked($data['id']);
        $job->delete();
    }
}

class Logs implements ExceptionHandler
{
    public function report(Throwable $e) { fwrite(STDERR, get_class($e) . ": {$e->getMessage()}\n"); }
    public function shouldReport(Throwable $e) { return true; }
    public function render($request, Throwable $e) { throw $e; }
    public function renderForConsole($output, Throwable $e) { $this->report($e); }
}

$database = new Database();
$database->addConnection([
    'driver' => 'pgsql',
    'host' => getenv('PGHOST'),
    'port' => getenv('PGPORT') ?: 5432,
    'database' => getenv('PGDATABASE'),
    'username' => getenv('PGUSER'),
    'password' => getenv('PGPASSWORD') ?: null,
    'charset' => 'utf8',
]);

// The tables that `php artisan queue:table` and queue:failed-table make.
if (($argv[1] ?? '') === 'schema') {
    $database->getConnection()->getSchemaBuilder()->create('jobs', function ($table) {
        $table->bigIncrements('id');
        $table->string('queue')->index();
        $table->longText('payload');
        $table->unsignedTinyInteger('attempts');
        $table->unsignedInteger('reserved_at')->nullable();
        $table->unsignedInteger('available_at');
        $table->unsignedInteger('created_at');
    });
    $database->getConnection()->getSchemaBuilder()->create('failed_jobs', function ($table) {
        $table->id();
        $table->string('uuid')->unique();
        $table->text('connection');
        $table->text('queue');
        $table->longText('payload');
        $table->longText('exception');
        $table->timestamp('failed_at')->useCurrent();
    });
    exit(0);
}

$events = new Dispatcher($database->getContainer());
$queue = new Queue($database->getContainer());
$queue->getQueueManager()->addConnector('database', function () use ($database) {
    return new DatabaseConnector($database->getDatabaseManager());
});
$queue->addConnection(['driver' => 'database', 'table' => 'jobs', 'queue' => 'default', 'retry_after' => 5]);
$database->getContainer()->instance(\Illuminate\Contracts\Events\Dispatcher::class, $events);
// As queue:work does.
$failed = new DatabaseUuidFailedJobProvider($database->getDatabaseManager(), 'default', 'failed_jobs');
$events->listen(JobFailed::class, function ($event) use ($failed) {
    $failed->log($event->connectionName, $event->job->getQueue(), $event->job->getRawBody(), $event->exception);
});
$worker = new Worker($queue->getQueueManager(), $events, new Logs(), function () { return false; });
exit($worker->daemon('default', 'default', new WorkerOptions('default', 0, 128, 3, 1, 3)));
